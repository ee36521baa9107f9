package sqladopt

import (
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// Only a foreign key that refuses at once to remove what is referred to takes
// the place of a look.
func TestForeignKeysThatRefuse(t *testing.T) {
	url := servers.Postgres(t)
	conn := connect(t, url, `CREATE TABLE content (hash text PRIMARY KEY, other text UNIQUE, n bigint NOT NULL);
		CREATE TABLE pastes (code text PRIMARY KEY, hash text, ends timestamptz, state text NOT NULL DEFAULT 'LIVE', since timestamptz)`)
	rows, err := openDB(t, url).Collection(t.Context(), "pastes", adopt.Collection{
		Rows: adopt.Rows{Table: "pastes", Key: "code", End: "ends", Initiated: "since", Content: "hash",
			Status: &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY"}},
		Contents: &adopt.Table{Table: "content", Key: "hash", Count: "n", Object: "content/{hash}"}, Prefix: "content/",
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{
		"content":                                          true,
		"content ON DELETE RESTRICT":                       true,
		"content DEFERRABLE":                               true,
		"content NOT VALID":                                true,
		"content DEFERRABLE INITIALLY DEFERRED":            false,
		"content ON DELETE CASCADE":                        false,
		"content ON DELETE SET NULL":                       false,
		"content (other)":                                  false,
		"content; ALTER TABLE content DISABLE TRIGGER ALL": false,
		"content; CREATE TABLE older () INHERITS (pastes)": false,
	} {
		if _, err := conn.Exec(t.Context(), "ALTER TABLE pastes ADD CONSTRAINT refers FOREIGN KEY (hash) REFERENCES "+key); err != nil {
			t.Fatal(err)
		}
		err := rows.read(t.Context(), "look for a foreign key", func(tx *tx) error {
			got, err := rows.db.engine.refusing(tx, rows)
			if got != want {
				t.Errorf("REFERENCES %s: %v, want %v", key, got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "ALTER TABLE pastes DROP CONSTRAINT refers; DROP TABLE IF EXISTS older; ALTER TABLE content ENABLE TRIGGER ALL"); err != nil {
			t.Fatal(err)
		}
	}
}
