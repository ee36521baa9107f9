package sqladopt

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
)

// liteFiles is an application whose rows own their objects, and its collection.
type liteFiles struct {
	*Collection
	t   *testing.T
	app *sql.DB
}

func newLiteFiles(t *testing.T) *liteFiles {
	t.Helper()
	db, app := liteDB(t, `CREATE TABLE users (id integer PRIMARY KEY);
		CREATE TABLE files (id integer PRIMARY KEY, owner integer REFERENCES users ON DELETE CASCADE, key text, preview text, ends integer);
		INSERT INTO users VALUES (1), (2)`)
	c, err := db.Collection(t.Context(), "files", adopt.Collection{
		Mode: adopt.Reclaim, Guard: adopt.TriggerGuard, Prefix: "files/", Grace: adopt.GraceSpec{Unreferenced: new(adopt.Duration)},
		Rows: adopt.Rows{Table: "files", Key: "id", End: "ends", Unit: "s", Objects: []string{"files/{key}", "files/{preview}/{id}"}},
	})
	if err == nil {
		err = c.InstallGuard(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &liteFiles{c, t, app}
}

func (f *liteFiles) exec(text string) { f.t.Helper(); liteExec(f.t, f.app, text) }

// marked marks what is due, which has to be these objects.
func (f *liteFiles) marked(want ...string) adopt.Marked {
	f.t.Helper()
	m, err := f.Mark(f.t.Context(), adopt.MarkRequest{Limit: 99, Late: adopt.DefaultGrace.Late})
	if err != nil {
		f.t.Fatal(err)
	}
	var have []string
	for _, x := range m.Contents {
		have = append(have, x.Object)
	}
	if slices.Sort(have); !slices.Equal(have, want) {
		f.t.Errorf("marked %q, want %q", have, want)
	}
	return m
}

// What rows leave behind is recorded however they are removed, and what a row
// names is never marked.
func TestSQLiteOwnedObjects(t *testing.T) {
	f := newLiteFiles(t)
	f.exec("INSERT INTO files VALUES (1, 1, 'a', 'p', NULL), (2, 2, 'b', NULL, NULL), (3, 1, 'shared', NULL, NULL), (4, 1, 'shared', NULL, NULL), (6, 1, 'd', NULL, NULL)")
	f.marked()
	f.exec("DELETE FROM files WHERE id IN (1, 3)")
	f.marked("files/a", "files/p/1") // 4 rows name shared
	f.exec("DELETE FROM users WHERE id = 2")
	f.marked("files/b")
	f.exec("UPDATE files SET key = 'e' WHERE id = 6")
	f.marked("files/d")
	f.exec("REPLACE INTO files VALUES (6, 1, 'f', NULL, NULL)")
	f.marked("files/e")
	f.exec("INSERT INTO files VALUES (6, 1, 'x', NULL, NULL) ON CONFLICT DO UPDATE SET owner = 1")
	f.marked() // f is named as before
	f.exec("INSERT INTO files VALUES (7, 1, 'g', NULL, NULL)")
	f.exec("UPDATE OR REPLACE files SET id = 7 WHERE id = 6")
	f.marked("files/g")
	if sample, err := f.Sample(t.Context(), 9); err != nil || strings.Join(sample, " ") != "files/f files/shared" {
		t.Errorf("sampled %q, %v", sample, err)
	}
}

// No statement makes a row name what is marked.
func TestSQLiteOwnedGuard(t *testing.T) {
	f := newLiteFiles(t)
	ctx := t.Context()
	f.exec("INSERT INTO files VALUES (1, 1, 'c', 'p', 800000000), (6, 1, 'f', NULL, NULL)")
	if settled, err := f.Take(ctx, 9, 0); err != nil || settled.Gone != 1 {
		t.Fatalf("took %+v, %v", settled, err)
	}
	m := f.marked("files/c", "files/p/1")
	for what, text := range map[string]string{
		"insert":  "INSERT INTO files VALUES (7, 1, 'c', NULL, NULL)",
		"ignore":  "INSERT OR IGNORE INTO files VALUES (7, 1, 'c', NULL, NULL)",
		"replace": "REPLACE INTO files VALUES (6, 1, 'c', NULL, NULL)",
		"update":  "UPDATE OR IGNORE files SET key = 'c' WHERE id = 6",
		"upsert":  "INSERT INTO files VALUES (6, 1, 'x', NULL, NULL) ON CONFLICT DO UPDATE SET key = 'c'",
		"preview": "INSERT INTO files VALUES (1, 1, NULL, 'p', NULL)",
	} {
		if _, err := f.app.ExecContext(ctx, text); !errors.Is(liteRefusal(err), adopttest.ErrRefused) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	f.exec("UPDATE files SET owner = 1, key = 'f' WHERE id = 6") // unchanged
	confirmed, err := f.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: "files/c"}}, adopt.Grace{LongestWrite: time.Nanosecond})
	if err != nil || confirmed.Gone != 1 {
		t.Errorf("confirmed %+v, %v", confirmed, err)
	}
}

// Advised indexes are used once they exist.
func TestSQLiteOwnedCheck(t *testing.T) {
	f := newLiteFiles(t)
	found, err := f.Check(t.Context())
	if err != nil || adopt.Problems(found) || len(found) != 3 { // the end, and each object
		t.Errorf("found %+v, %v", found, err)
	}
	for _, x := range found {
		f.exec(x.Do)
	}
	if found, err := f.Check(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("with indexes: %+v, %v", found, err)
	}
}
