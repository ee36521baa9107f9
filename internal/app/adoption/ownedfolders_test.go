package adoption

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe/adopt"
)

// upload inserts a row that owns everything below its folder.
func (f *files) upload(id int, end string, names ...string) {
	f.t.Helper()
	for _, n := range names {
		f.put(fmt.Sprintf("%d/%s", id, n))
	}
	f.exec(fmt.Sprintf(`INSERT INTO files (id, expires_at) VALUES (%d, %s)`, id, end))
}

// Everything below a folder is deleted with the row that owns it; its
// neighbours stay, and so does a folder with a held object. No row can name it
// meanwhile.
func TestOwnedFolders(t *testing.T) {
	f := ownedBy(t, `CREATE INDEX ON files (('files/' || id || '/'))`, "files/{id}/")
	f.upload(1, "now() - interval '1 minute'", "a", "b/c", "b/d/e")
	f.upload(10, "NULL", "a")
	f.upload(11, "now() + interval '1 day'", "a")
	f.upload(2, "NULL", "a")
	f.upload(3, "now() - interval '1 minute'", "a", "kept")
	if _, _, err := f.Collection("files").AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldObject, Key: "files/3/kept", Reason: "a case", By: "a test"}); err != nil {
		t.Fatal(err)
	}
	f.put("1x")
	f.exec(`DELETE FROM files WHERE id = 2`)
	f.once()
	f.once()
	f.left("10/a", "11/a", "1x", "3/a", "3/kept")
	var receipts string
	if err := f.db.QueryRow(t.Context(), `SELECT string_agg(kind || ' ' || k, ', ' ORDER BY kind, k)
		FROM lethe.receipts, json_array_elements_text("keys"::json) AS k WHERE kind <> 'rows'`).Scan(&receipts); err != nil || receipts != "folders files/1/, folders files/2/" {
		t.Errorf("receipts of folders: %q, %v", receipts, err)
	}
	_, err := f.db.Exec(t.Context(), `INSERT INTO files (id) VALUES (1)`)
	if refused := (&pgconn.PgError{}); !errors.As(err, &refused) || refused.Code != "40001" {
		t.Errorf("a row owns a folder that was emptied just now: %v", err)
	}
	f.exec(`UPDATE lethe.condemned SET due_at = 0 WHERE state = 3`)
	f.once()
	f.upload(1, "NULL", "new")
	f.once()
	f.left("1/new", "10/a", "11/a", "1x", "3/a", "3/kept")
}

// A new hold on an object in a folder that is being emptied returns the running
// deletes.
func TestHoldInAFolderUnderWay(t *testing.T) {
	f := ownedBy(t, `CREATE INDEX ON files (('files/' || id || '/'))`, "files/{id}/")
	f.exec(`INSERT INTO lethe.condemned (collection, content, object, state, due_at, fence)
		SELECT 'files', k, k, 2, CAST(extract(epoch FROM now()) * 1000000 AS bigint) + 3600000000, 5 FROM unnest(ARRAY['files/1/', 'files/10/']) AS k`)
	for key, want := range map[string]int{"files/1/a": 1, "files/10/b/c": 1, "files/2/a": 0, "files/1": 0} {
		_, under, err := f.Collection("files").AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldObject, Key: key, Reason: "a case", By: "a test"})
		if err != nil || under.Objects != want {
			t.Errorf("%s: %+v, %v, want %d", key, under, err, want)
		}
	}
}

// A row whose folder would be inside another row's is refused; so is a guard
// while there is one. An ambiguous name of a folder is left alone.
func TestOwnedFoldersThatNest(t *testing.T) {
	f := ownedBy(t, `ALTER TABLE files ADD COLUMN dir text; CREATE INDEX ON files (('files/' || dir || '/'))`, "files/{dir}/")
	f.put("a/b/x", "a/x", "c/x")
	f.exec(`INSERT INTO files (id, dir) VALUES (1, 'a'), (3, ''), (4, '..'), (5, NULL), (6, 'c')`)
	for _, text := range []string{`INSERT INTO files (id, dir) VALUES (2, 'a/b')`, `UPDATE files SET dir = 'c/d' WHERE id = 6`} {
		_, err := f.db.Exec(t.Context(), text)
		if refused := (&pgconn.PgError{}); !errors.As(err, &refused) || refused.Code != "23514" {
			t.Errorf("%s: %v", text, err)
		}
	}
	f.exec(`DELETE FROM files WHERE id > 1`)
	f.once()
	f.left("a/b/x", "a/x")
	rows := f.Collection("files")
	f.exec(`UPDATE lethe.condemned SET due_at = 0 WHERE state = 3`)
	f.once()
	if err := rows.RemoveGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.exec(`INSERT INTO files (id, dir) VALUES (2, 'a/b')`)
	if err := rows.InstallGuard(t.Context()); err == nil || !strings.Contains(err.Error(), "lies in that of another") {
		t.Errorf("a guard over rows that nest: %v", err)
	}
	if yes, err := rows.Guarded(t.Context()); yes || err != nil {
		t.Errorf("it was installed: %v, %v", yes, err)
	}
}
