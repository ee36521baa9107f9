package main

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The name of a table of the application moves no cursor of the operator's terminal.
func TestGuardIsEscapedOnATerminal(t *testing.T) {
	folder := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE \"up\x1b[2Jx\" (id INTEGER PRIMARY KEY, object TEXT, ended TEXT)"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "adopt.yaml")
	const description = `
database: sqlite:FOLDER/app.db
buckets: {main: {path: FOLDER}}
collections:
  uploads:
    rows: {table: "up\e[2Jx", key: id, end: ended, zone: UTC, objects: ["{object}"]}
    bucket: main
    prefix: up/
    guard: trigger
`
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(description, "FOLDER", folder)), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := newScreen(t)
	var log bytes.Buffer
	code := run(t.Context(), []string{"adopt", "guard", "show", file}, streams{strings.NewReader(""), shown.file, &log})
	text := shown.read()
	if code != 0 || !strings.Contains(text, "CREATE TRIGGER") {
		t.Fatalf("exit code %d\n%s%s", code, text, &log)
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("it prints an escape sequence: %q", text)
	}
}
