package main

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A bad value is refused before anything is asked.
func TestBadValuesAreRefusedBeforeAQuestion(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	file, backup := photos(t), filepath.Join(t.TempDir(), "backup")
	w.ok("backup", backup)
	for _, c := range []exit{
		{"ttl set s3://first/a soon", exitUsage, `"soon" has no number`},
		{"ttl set s3://first/a --idle 5s", exitUsage, "for --idle: want a time such as 12h or 30d"},
		{"ttl set s3://first/a --at 2001-01-01T00:00:00Z", exitUsage, "lies in the past"},
		{"ttl set s3://first/none 1h", exitNothing, "no such key"},
		{"buckets set first --undo soon", exitUsage, "for --undo"},
		{"buckets set first --when-full drop", exitUsage, "for --when-full: want refuse or evict"},
		{"buckets set first --evict-order size", exitUsage, "for --evict-order: want read or written"},
		{"buckets set first --evict-high 101", exitUsage, "for --evict-high: want a whole number, 1 to 100"},
		{"buckets set nowhere --undo 1h", exitNothing, "no such bucket"},
		{"import --backend main --bucket first --ttl soon", exitUsage, "for --ttl"},
		{"limits allow rule first", exitUsage, `no kind of limit "rule"`},
		{"limits allow ttl nowhere", exitUsage, "has counted nothing"},
		{"limits allow ttl first --for soon", exitUsage, "for --for"},
		{"keys rm nobody", exitNothing, "no key nobody"},
		{"token rm nobody", exitNothing, "no token nobody"},
		{"trash restore 00000000000000000000000000 --overwrite", exitNothing, "no entry"},
		{"hold rm s3://first/a", exitNothing, "no such hold"},
		{"dead requeue 00000000000000000000000000", exitNothing, "none of what is named is a dead letter"},
		{"reclaim --once --only zz", exitUsage, `there is no routine "zz"`},
		{"backend accept tape", exitNothing, "no backend tape"},
		{"backend drain tape", exitNothing, "no backend tape"},
		{"reconcile --backend tape", exitNothing, "no backend tape"},
		{"lifecycle rm first old", exitNothing, "no such rule"},
		{"restore " + backup, exitFailure, "has a ledger already"},
		{"adopt guard install none.yaml", exitFailure, "none.yaml"},
		{"adopt remove none.yaml", exitFailure, "none.yaml"},
		{"adopt guard install " + file + " none", exitFailure, `describes no collection "none"`},
		{"adopt quarantine purge " + file + " none", exitFailure, `collection "none" has no quarantine`},
		{"adopt recount --repair " + file + " none", exitFailure, `no collection of records "none"`},
		{"adopt hold rm " + file + " photos", exitNothing, "no such hold"},
	} {
		var out bytes.Buffer
		shown := newScreen(t)
		code := run(t.Context(), w.args(strings.Fields(c.line)...), streams{terminal(t, "y\n"), &out, shown.file})
		if text := shown.read(); code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, "[y/N]") {
			t.Errorf("lethe %s: exit code %d, want %d with %q\n%s%s", c.line, code, c.code, c.says, &out, text)
		}
	}
}

// The key of a held row may be spelled as it was when the row was held.
func TestReleaseOfAKeyThatTheDatabaseWritesOtherwise(t *testing.T) {
	file := photos(t)
	for _, line := range []string{"adopt hold add " + file + " photos --row 007", "adopt hold rm " + file + " photos --row 007"} {
		var out bytes.Buffer
		shown := newScreen(t)
		if code := run(t.Context(), strings.Fields(line), streams{terminal(t, "y\n"), &out, shown.file}); code != 0 {
			t.Errorf("lethe %s: exit code %d\n%s%s", line, code, &out, shown.read())
		}
	}
}

// photos writes a description of a table that owns files, and returns its path.
func photos(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db"))
	if err == nil {
		_, err = db.ExecContext(t.Context(), "CREATE TABLE photos (id integer PRIMARY KEY, object_key text, deleted_at text)")
		err = errors.Join(err, db.Close(), os.MkdirAll(filepath.Join(dir, "media", "photos"), 0o700), os.WriteFile(filepath.Join(dir, "media", "photos", "1.jpg"), nil, 0o600))
	}
	file := filepath.Join(dir, "adopt.yaml")
	text := `database: sqlite:` + dir + `/app.db
buckets: {main: {path: ` + dir + `/media}}
collections:
  photos:
    rows: {table: photos, key: id, end: deleted_at, zone: UTC, objects: ["{object_key}"]}
    bucket: main
    prefix: photos/
    guard: trigger
`
	if err = errors.Join(err, os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}
