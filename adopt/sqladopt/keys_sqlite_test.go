package sqladopt

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// A key that is not UTF-8 stops a comparison: a row that has it in Latin-1 would not keep the
// object that a client put under the same name in UTF-8. One of another prefix names none of these.
func TestNoComparisonWithKeysThatAreNotUTF8(t *testing.T) {
	db, app := liteDB(t, "CREATE TABLE files (object_key text); INSERT INTO files VALUES ('files/a')")
	rows, err := db.Keys(t.Context(), "files", adopt.Collection{Prefix: "files/", Keys: &adopt.KeySpec{Query: "SELECT object_key FROM files"}})
	if err != nil {
		t.Fatal(err)
	}
	read := func() error {
		_, _, err := rows.Stream(t.Context(), func(string) error { return nil })
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	liteExec(t, app, "INSERT INTO files VALUES (CAST(x'6d6f72652f636166e9' AS text))")
	if err := read(); err != nil {
		t.Errorf("a key in Latin-1 elsewhere: %v", err)
	}
	liteExec(t, app, "INSERT INTO files VALUES (CAST(x'66696c65732f636166e9' AS text))")
	if err := read(); err == nil || !strings.Contains(err.Error(), `key "files/caf\xe9" is not UTF-8: correct it`) {
		t.Errorf("a key in Latin-1: %v", err)
	}
}
