package sqladopt

import (
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// Names are compared as the bucket has them, in UTF-8, whatever the database sends to others.
func TestNamesOfAnotherEncoding(t *testing.T) {
	url := servers.Postgres(t)
	connect(t, url, `CREATE TABLE files (name text); INSERT INTO files VALUES ('files/é');
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_encoding = ''LATIN1''', current_database()); END $$`)
	for through, url := range map[string]string{"the server": url, "a pooler": servers.PgBouncer(t, url)} {
		db := openDB(t, url)
		rows, err := db.Keys(t.Context(), "files", adopt.Collection{Prefix: "files/", Keys: &adopt.KeySpec{Query: "SELECT name FROM files"}})
		if err != nil {
			t.Fatal(err)
		}
		var named []string
		_, _, err = rows.Stream(t.Context(), func(key string) error { named = append(named, key); return nil })
		if err != nil || !slices.Equal(named, []string{"files/é"}) {
			t.Errorf("of %s, rows name %q, %v", through, named, err)
		}
		objects := []adopt.OrphanObject{{Key: "files/é"}}
		if seen, err := rows.See(t.Context(), adopt.Seeing{Orphans: objects, Most: 1}); err != nil || seen.Orphans != 0 {
			t.Errorf("of %s, an object with a row is taken for an orphan: %+v, %v", through, seen, err)
		}
	}
}

// What is committed survives a crash also where the server does not wait for its log: an object
// whose mark was lost would be gone, and could be named again.
func TestACrashUndoesNoCommit(t *testing.T) {
	server := servers.NewPostgres(t, "synchronous_commit=off", "wal_writer_delay=10s")
	db := openDB(t, server.Database())
	if err := db.StartRun(t.Context(), ledger.Run{ID: "1", Routine: "clean", Worker: "w"}); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Restart()
	if last, _, err := db.LastRuns(t.Context()); err != nil || last["clean"].Worker != "w" {
		t.Errorf("after the crash the runs are %v, %v", last, err)
	}
}

// A database that cannot hold every name is worth a remark.
func TestDatabaseThatIsNotInUTF8(t *testing.T) {
	server := servers.NewPostgres(t, "fsync=off")
	connect(t, server.Database(), "CREATE DATABASE old ENCODING 'LATIN1' TEMPLATE template0")
	db := openDB(t, server.URL("old"))
	if found, err := db.Remarks(t.Context()); err != nil || len(found) != 1 || !strings.Contains(found[0].What, "encoded in LATIN1") {
		t.Errorf("remarks are %v, %v", found, err)
	}
	rows, err := db.Keys(t.Context(), "files", adopt.Collection{Prefix: "files/", Keys: &adopt.KeySpec{Query: "SELECT 'files/é'"}})
	if err != nil {
		t.Fatal(err)
	}
	if named, err := rows.Named(t.Context(), []string{"files/a", "files/é"}); err != nil || !slices.Equal(named, []string{"files/é"}) {
		t.Errorf("rows name %q, %v", named, err)
	}
	if _, err := rows.Named(t.Context(), []string{"files/😀"}); err == nil || !strings.Contains(err.Error(), "the encoding of the database lacks") {
		t.Errorf("a name that it cannot hold: %v", err)
	}
}
