package sqladopt

import (
	"cmp"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Statements with rows in a parameter look each up by its key. SQLite has no statistics here: it
// may take it for cheaper to read all of a collection, and the parameter for each row, which for
// a thousand failed deletions among 40,000 marks holds the lock for half a minute.
func TestSQLiteLooksRowsUpByTheirKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db := openDB(t, "sqlite:"+file)
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys := sqldb.JSON([]string{"a"})
	for name, s := range map[string]struct {
		text, key string
		args      []any
	}{
		"markRows":     {markRows, "content", []any{"pastes", keys, 1, 2, 3}},
		"dropMarks":    {dropMarks, "content", []any{"pastes", keys}},
		"letGo":        {letGo, "content", []any{"pastes", keys, 1, 2, 3}},
		"postpone":     {postpone, "content", []any{"pastes", keys, 1}},
		"markedRows":   {markedRows, "content", []any{"pastes", keys, 1}},
		"endMarks":     {endMarks, "content", []any{"pastes", keys, 1, 2, 3}},
		"stayMarks":    {stayMarks, "content", []any{"pastes", keys, 1}},
		"unseenMarks":  {unseenMarks, "content", []any{"pastes", keys, 1}},
		"againMarks":   {againMarks, "content", []any{"pastes", keys}},
		"failMarks":    {failMarks, "content", []any{"pastes", sqldb.JSON([]failure{{ID: "a"}})}},
		"condemnSeen":  {condemnSeen, "name", []any{keys, "recordings"}},
		"recordMarker": {recordMarker, "name", []any{`[{"name":"a","at":1}]`, "recordings", 1}},
	} {
		err := db.write(t.Context(), "explain", func(tx *tx) error {
			plan, err := all(tx, func(r *sql.Rows) (step string, err error) {
				var id, parent, unused int
				err = r.Scan(&id, &parent, &unused, &step)
				return step, err
			}, "EXPLAIN QUERY PLAN "+cmp.Or(sqliteInstead[s.text], s.text), s.args...)
			if all := strings.Join(plan, "\n"); !strings.Contains(all, "(collection=? AND "+s.key+"=?)") {
				t.Errorf("%s reads more than what it is given:\n%s", name, all)
			}
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
