package sqladopt

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

// Marks are found by their keys also before the table is analysed: else each batch of the
// first minutes reads all marks of its collection.
func TestMarksAreFoundByTheirKeys(t *testing.T) {
	url := servers.Postgres(t)
	db := openDB(t, url)
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, url, `ALTER TABLE lethe.condemned SET (autovacuum_enabled = off);
		INSERT INTO lethe.condemned (collection, content, object, state, due_at)
			SELECT 'pastes', encode(sha256(CAST(i AS text)::bytea), 'hex'), 'content/' || i, 2, i FROM generate_series(1, 20000) AS i`)
	var keys []string
	if err := conn.QueryRow(t.Context(), "SELECT array_agg(content) FROM (SELECT content FROM lethe.condemned LIMIT 100) AS c").Scan(&keys); err != nil {
		t.Fatal(err)
	}
	list := sqldb.JSON(keys)
	for name, s := range map[string]struct {
		text string
		args []any
	}{
		"markRows":   {markRows, []any{1, 2, 3}},
		"dropMarks":  {dropMarks, nil},
		"letGo":      {letGo, []any{1, 2, 3}},
		"postpone":   {postpone, []any{1}},
		"markedRows": {markedRows, []any{1}},
		"endMarks":   {endMarks, []any{1, 2, 3}},
		"stayMarks":  {stayMarks, []any{1}},
	} {
		err := db.write(t.Context(), "explain", func(tx *tx) error {
			plan, err := all(tx, text, "EXPLAIN "+s.text, append([]any{"pastes", list}, s.args...)...)
			if !strings.Contains(strings.Join(plan, "\n"), "condemned_pkey") {
				t.Errorf("%s does not use the index of the keys:\n%s", name, strings.Join(plan, "\n"))
			}
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
