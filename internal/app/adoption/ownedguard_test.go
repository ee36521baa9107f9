package adoption

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe/adopt"
)

// refused checks that the guard refuses a statement.
func (f *files) refused(statement string) {
	f.t.Helper()
	_, err := f.db.Exec(f.t.Context(), statement)
	if refused := (&pgconn.PgError{}); !errors.As(err, &refused) || refused.Code != "40001" {
		f.t.Errorf("%s: %v, want 40001", statement, err)
	}
}

// The guard sees keys as the row is stored: those of generated columns, and
// those that triggers of the application write, whatever columns the statement
// names.
func TestOwnedObjectsWrittenByTheDatabase(t *testing.T) {
	f := ownedBy(t, `ALTER TABLE files ADD COLUMN name text, ADD COLUMN stored text GENERATED ALWAYS AS ('files/' || name) STORED;
		CREATE FUNCTION zzz() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.object_key := ''files/'' || (NEW.album + 0); RETURN NEW; END';
		CREATE TRIGGER zzz BEFORE INSERT OR UPDATE ON files FOR EACH ROW EXECUTE FUNCTION zzz();
		INSERT INTO albums SELECT generate_series(1, 9)`, "{object_key}", "{stored}")
	f.put("1", "2", "3", "n")
	f.exec(`INSERT INTO files (id, album, name) VALUES (1, 1, 'n'), (2, 2, NULL)`)
	f.exec(`UPDATE files SET album = 3 WHERE id = 2`)
	f.once()
	f.left("1", "3", "n")
	f.refused(`INSERT INTO files (id, album) VALUES (3, 2)`)
	f.refused(`UPDATE files SET album = 2 WHERE id = 1`)
	f.exec(`DELETE FROM files WHERE id = 1`)
	f.once()
	f.left("3")
	f.refused(`INSERT INTO files (id, name) VALUES (4, 'n')`)
	f.refused(`UPDATE files SET name = 'n' WHERE id = 2`)
}

// A transaction of the application may write any number of rows: the guard's
// locks do not fill the server's lock table.
func TestOwnedObjectsManyInOneTransaction(t *testing.T) {
	f := owned(t)
	f.exec(`INSERT INTO files (id, object_key, preview_key) SELECT n, 'files/' || n, 'files/p' || n FROM generate_series(1, 30000) AS n`)
	f.exec(`DELETE FROM files`)
}

// An object that is not below the prefix is left alone, and may be named again.
func TestOwnedObjectsOutside(t *testing.T) {
	f := owned(t)
	f.exec(`INSERT INTO files (id, object_key, preview_key, expires_at) VALUES (1, 'files/a', 'shared/default.png', now() - interval '1 minute')`)
	f.put("a")
	f.once()
	f.left()
	f.exec(`INSERT INTO files (id, object_key, preview_key) VALUES (2, 'files/b', 'shared/default.png')`)
}

// A row without an object does not show an invalid description, and each
// template is compared.
func TestOwnedObjectsSampled(t *testing.T) {
	f := owned(t)
	f.object("a", "NULL")
	f.exec(`INSERT INTO files (id, object_key) VALUES (50, NULL), (51, '')`)
	found, err := f.Check(t.Context())
	if err != nil || adopt.Problems(found["files"]) {
		t.Errorf("a row without an object: %+v, %v", found, err)
	}
	f.exec(`UPDATE files SET preview_key = 'elsewhere/' || id WHERE id < 50`)
	if found, err = f.Check(t.Context()); err != nil || !adopt.Problems(found["files"]) {
		t.Errorf("the second object lies elsewhere: %+v, %v", found, err)
	}
}

// A key that is left behind while lethe checks it again is not forgotten.
func TestOwnedObjectsLeftBehindMeanwhile(t *testing.T) {
	f := owned(t)
	f.object("a", "NULL")
	f.exec(`INSERT INTO files (id, object_key) VALUES (50, 'files/a')`)
	f.exec(`DELETE FROM files WHERE id < 50`)
	last, err := f.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := last.Exec(t.Context(), `DELETE FROM files WHERE id = 50`); err != nil {
		t.Fatal(err)
	}
	f.once() // it sees the row, since its end is not committed
	if err := last.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.once()
	f.left()
}

// Keys with odd characters are deleted as others. One that services interpret
// differently stays, with the reason.
func TestOwnedObjectWithAnOddKey(t *testing.T) {
	f := owned(t)
	for i, key := range []string{"files/a b", "files/50%", "files/a+b", "files/%2B", "files/ünï✓", `files/q'u"o`, "files/<&>"} {
		f.put(key[len("files/"):])
		f.exec(`INSERT INTO files (id, object_key, expires_at) VALUES ($1, $2, now())`, i, key)
	}
	f.exec(`INSERT INTO files (id, object_key, expires_at) VALUES (50, E'files/new\nline', now()), (51, 'files//slash', now())`)
	f.once()
	f.left()
	explains(t, f.Adoption, "files", "files/new\nline", "the last delete failed", "has the character U+000A")
	explains(t, f.Adoption, "files", "files//slash", `has the segment ""`)
}

// A removal does not forget keys that only Lethe knows, unless forced.
func TestRemoveForgetsNoKeys(t *testing.T) {
	f := owned(t)
	f.put("a")
	f.exec(`INSERT INTO files (id, object_key) VALUES (1, 'files/a')`)
	f.exec(`DELETE FROM files`)
	if err := f.Remove(t.Context(), false); err == nil || !strings.Contains(err.Error(), "of files 1 object is to be deleted") {
		t.Fatalf("removed with an object that nobody else knows: %v", err)
	}
	f.once()
	f.left()
	f.put("b")
	f.exec(`INSERT INTO files (id, object_key) VALUES (1, 'files/b'); DELETE FROM files`)
	if _, err := f.db.Exec(t.Context(), `UPDATE lethe.condemned SET due_at = 1 WHERE state = 3`); err != nil { // its mark is over
		t.Fatal(err)
	}
	if err := f.Remove(t.Context(), true); err != nil {
		t.Errorf("asked to forget: %v", err)
	}
	f.left("b")
}
