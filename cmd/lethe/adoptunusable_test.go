package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const unusableDescription = `
database: sqlite:FOLDER/app.db
buckets: {main: {path: FOLDER/media}}
collections:
  docs:
    mode: reclaim
    rows: {table: docs, key: id, end: ended, zone: UTC, objects: ["{object}"]}
    bucket: main
    prefix: docs/
    guard: trigger
    grace: {unreferenced: 0s, longest_write: 1us}
  photos:
    mode: reclaim
    rows: {table: photos, key: id, end: ended, zone: UTC, objects: ["{object}"]}
    bucket: main
    prefix: photos/
    guard: trigger
`

// Commands explain why a collection whose table has changed cannot be used, do
// not take it for one that is not described, and can remove it.
func TestAdoptWhatDoesNotFit(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "adopt.yaml")
	for name, text := range map[string]string{
		"adopt.yaml": strings.ReplaceAll(unusableDescription, "FOLDER", folder), "media/docs/gone": "x", "media/docs/kept": "x", "media/photos/kept": "x",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", "file:"+folder+"/app.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	do := func(statement string) {
		t.Helper()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	says := func(want string, code int, args ...string) {
		t.Helper()
		var out bytes.Buffer
		got := run(t.Context(), append([]string{"adopt"}, args...), streams{strings.NewReader(""), &out, &out})
		if got != code || !strings.Contains(out.String(), want) {
			t.Errorf("adopt %s: exit code %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, want, out.String())
		}
	}
	do(`CREATE TABLE docs (id integer PRIMARY KEY, object text, ended text);
		CREATE TABLE photos (id integer PRIMARY KEY, object text, ended text);
		INSERT INTO docs VALUES (1, 'docs/gone', '2026-01-01'), (2, 'docs/kept', NULL);
		INSERT INTO photos VALUES (1, 'photos/kept', '2026-01-01')`)
	says("photos is guarded", 0, "guard", "install", file, "--yes")
	do(`ALTER TABLE photos RENAME COLUMN ended TO deleted`)

	why := file + ":12:3: collection photos: table photos has no column ended"
	says("docs is guarded", 1, "guard", "install", file, "--yes")
	says(why, 1, "guard", "install", file, "--yes")
	says(why, 1, "guard", "remove", file, "photos", "--yes")
	says(why, 1, "recount", file, "photos")
	says(why, 1, "orphans", file, "photos")
	says(why, 1, "quarantine", "list", file, "photos")
	says(why, 1, "explain", file, "photos/kept")
	says("nothing of photos is in the plan", 0, "plan", file)
	says("photos: not worked on", 1, "run", file, "--once")
	if _, err := os.Stat(folder + "/media/docs/gone"); err == nil {
		t.Error("what fits was not worked on")
	}

	says("--forget", 1, "remove", file, "--yes")
	says("are removed", 0, "remove", file, "--yes", "--forget")
	do(`INSERT INTO photos VALUES (2, 'photos/new', NULL)`) // no trigger is left that fails it
	do(`DROP TABLE docs`)
	says("there is no table docs", 1, "check", file)
}
