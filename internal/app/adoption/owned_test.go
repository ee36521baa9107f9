package adoption

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe/adopt"
)

// owned describes rows that own two objects each, and expire.
func owned(t *testing.T) *files {
	t.Helper()
	return ownedBy(t, "", "{object_key}", "{preview_key}")
}

// ownedBy describes rows that own the objects of templates, after the application has
// changed its tables.
func ownedBy(t *testing.T, change string, objects ...string) *files {
	t.Helper()
	f := newFiles(t, nil)
	f.exec(`ALTER TABLE files ADD COLUMN preview_key text, ADD COLUMN expires_at timestamptz`)
	f.exec(`CREATE INDEX ON files (expires_at); CREATE INDEX ON files (object_key); CREATE INDEX ON files (preview_key)`)
	f.exec(`CREATE TABLE albums (id int PRIMARY KEY)`)
	f.exec(`ALTER TABLE files ADD COLUMN album int REFERENCES albums ON DELETE CASCADE`)
	f.exec(change)
	none, second := adopt.Duration(0), adopt.Duration(time.Second)
	d := *f.Description
	d.Collections = map[string]adopt.Collection{"files": {
		Mode: adopt.Reclaim, Bucket: "main", Prefix: "files/", Guard: adopt.TriggerGuard,
		Rows:  adopt.Rows{Table: "files", Key: "id", End: "expires_at", Objects: objects},
		Grace: adopt.GraceSpec{Unreferenced: &none, LongestWrite: &second},
	}}
	a, err := Open(t.Context(), &d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	f.Adoption = a
	if err := a.Collection("files").InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := a.Check(t.Context())
	if err != nil || adopt.Problems(found["files"]) || change == "" && len(found["files"]) != 1 {
		t.Fatalf("check: %+v, %v, want a note that no row names an object yet", found, err)
	}
	return f
}

// object inserts a row that names two objects and ends at the instant of an expression.
func (f *files) object(name, end string) {
	f.t.Helper()
	f.put(name, name+".preview")
	f.exec(`INSERT INTO files (id, object_key, preview_key, expires_at) SELECT coalesce(max(id), 0) + 1, $1, $2, `+end+` FROM files`, "files/"+name, "files/"+name+".preview")
}

func (f *files) once() {
	f.t.Helper()
	if _, err := f.Loop.Once(f.t.Context(), nil); err != nil {
		f.t.Fatal(err)
	}
}

// Objects are deleted with the row that owns them, however it is removed:
// expired, deleted by the application, or by a cascade; so is one that a row no
// longer names. An object that another row names stays.
func TestOwnedObjects(t *testing.T) {
	f := owned(t)
	f.object("expired", "now() - interval '1 minute'")
	f.object("lives", "now() + interval '1 day'")
	f.object("never", "NULL")
	f.object("deleted", "NULL")
	f.object("cascaded", "NULL")
	f.object("replaced", "NULL")
	f.object("twice", "NULL")
	f.exec(`INSERT INTO files (id, object_key) VALUES (100, 'files/twice')`)
	f.once()
	f.left("cascaded", "cascaded.preview", "deleted", "deleted.preview", "lives", "lives.preview", "never", "never.preview",
		"replaced", "replaced.preview", "twice", "twice.preview")
	f.exec(`DELETE FROM files WHERE object_key = 'files/deleted'`)
	f.exec(`INSERT INTO albums VALUES (1)`)
	f.exec(`UPDATE files SET album = 1 WHERE object_key = 'files/cascaded'`)
	f.exec(`DELETE FROM albums`)
	f.put("second")
	f.exec(`UPDATE files SET object_key = 'files/second' WHERE object_key = 'files/replaced'`)
	f.exec(`DELETE FROM files WHERE object_key = 'files/twice' AND id < 100`)
	f.once()
	f.left("lives", "lives.preview", "never", "never.preview", "replaced.preview", "second", "twice")
	explains(t, f.Adoption, "files", "files/lives.preview", "a row owns object files/lives.preview")
	explains(t, f.Adoption, "files", "files/deleted", " object files/deleted was deleted")
	var marks int
	if err := f.db.QueryRow(t.Context(), `SELECT count(*) FROM lethe.condemned WHERE state <> 3`).Scan(&marks); err != nil || marks != 0 {
		t.Errorf("%d marks are left that are not over, %v", marks, err)
	}
}

// A check tells of rows that spell keys as in URLs: their objects would stay.
func TestOwnedKeysSpelledAsInURLs(t *testing.T) {
	f := owned(t)
	f.put("a", "b", "my cat")
	f.exec(`INSERT INTO files (id, object_key) VALUES (1, 'files/a'), (2, 'files/b'), (3, 'files/my%20cat')`)
	found, err := f.Check(t.Context())
	if text := fmt.Sprint(found["files"]); err != nil || !strings.Contains(text, `"files/my cat" instead of a key that is spelled otherwise`) {
		t.Errorf("a check finds %s, %v", text, err)
	}
}

// A row cannot name an object that is being deleted; an uncommitted transaction
// that names one prevents its mark.
func TestOwnedObjectsThatComeBack(t *testing.T) {
	f := owned(t)
	f.object("a", "now() - interval '1 minute'")
	f.object("b", "now() - interval '1 minute'")
	writer, err := pgx.Connect(t.Context(), f.Description.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close(t.Context())
	again, err := writer.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Exec(t.Context(), `INSERT INTO files (id, object_key) VALUES (50, 'files/b')`); err != nil {
		t.Fatal(err)
	}
	f.once() // "b" is not visible yet, and is locked
	f.left("b")
	if err := again.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Locked ones are checked again later.
	f.exec(`UPDATE lethe.condemned SET due_at = 0 WHERE state = 1`)
	f.once()
	f.left("b")
	_, err = writer.Exec(t.Context(), `INSERT INTO files (id, object_key) VALUES (51, 'files/a')`)
	if refused := (&pgconn.PgError{}); !errors.As(err, &refused) || refused.Code != "40001" {
		t.Errorf("a row names an object that was deleted just now: %v", err)
	}
	f.exec(`UPDATE lethe.condemned SET due_at = 0 WHERE state = 3`)
	f.once()
	if _, err := writer.Exec(t.Context(), `INSERT INTO files (id, object_key) VALUES (51, 'files/a')`); err != nil {
		t.Errorf("the mark is over: %v", err)
	}
}

// With grace.object_age a recently written object waits, and is reported.
func TestYoungObjectsWait(t *testing.T) {
	f := owned(t)
	aged := func(age time.Duration) {
		d := *f.Adoption.Description
		c, wait := d.Collections["files"], adopt.Duration(age)
		c.Grace.ObjectAge = &wait
		d.Collections = map[string]adopt.Collection{"files": c}
		a, err := Open(t.Context(), &d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		f.Adoption = a
	}
	f.object("expired", "now() - interval '1 minute'")
	aged(time.Hour)
	f.once()
	f.left("expired", "expired.preview")
	var waiting int
	err := f.db.QueryRow(t.Context(), `SELECT count(*) FROM lethe.condemned WHERE state = 1 AND error LIKE 'the object was written % ago, less than grace.object_age, which is 1h0m0s%'`).Scan(&waiting)
	if err != nil || waiting != 2 {
		t.Errorf("%d objects wait for their age, %v", waiting, err)
	}
	f.exec(`UPDATE lethe.condemned SET due_at = 0`)
	aged(0)
	f.once()
	f.left()
}
