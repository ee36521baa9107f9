package sqlledger

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/test/servers"
)

// held opens a ledger, and returns its identity and why its only backend is held.
func held(t *testing.T, db *DB, err error) (ledger.Store, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.Backends(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return s, list[0].Held
}

// moved reports whether a ledger was found relocated.
func moved(t *testing.T, before, after ledger.Store, why string) bool {
	t.Helper()
	is := strings.HasPrefix(why, ledger.RelocatedReason)
	if before.ID != after.ID || is == (before.DB == after.DB) {
		t.Errorf("held for %q, it was %+v and is %+v", why, before, after)
	}
	return is
}

func duplicate(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestACopiedFileIsRecognised: a copy of a ledger's file is recognised at once and only
// once. The file itself, under any name, is not taken for one.
func TestACopiedFileIsRecognised(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a file is not told from its copies here")
	}
	ctx, path := context.Background(), filePath(t)
	open := func(path string) (ledger.Store, string) {
		t.Helper()
		db, err := Open(ctx, path, ledger.Options{})
		return held(t, db, err)
	}
	db, err := Open(ctx, path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	setUp(t, db)
	first, _ := held(t, db, nil)
	if again, why := open(path); moved(t, first, again, why) {
		t.Error("opened again:", why)
	}
	other := filepath.Join(t.TempDir(), "x.db")
	duplicate(t, path, other)
	second, why := open(other)
	if !moved(t, first, second, why) {
		t.Error("a copy is not recognised")
	}
	if again, why := open(other); again != second || !strings.HasPrefix(why, ledger.RelocatedReason) {
		t.Errorf("the copy opened again: %+v, %q", again, why)
	}
	if again, why := open(path); moved(t, first, again, why) {
		t.Error("the original beside its copy:", why)
	}
	renamed := filepath.Join(filepath.Dir(path), "y.db")
	if err := os.Rename(path, renamed); err != nil {
		t.Fatal(err)
	}
	if again, why := open(renamed); moved(t, first, again, why) {
		t.Error("under another name:", why)
	}
}

// TestAPlaceIsLearnt: a ledger without a recorded place records its own, and holds nothing.
func TestAPlaceIsLearnt(t *testing.T) {
	ctx, path := context.Background(), filePath(t)
	db, err := Open(ctx, path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	setUp(t, db)
	first, _ := held(t, db, db.write(ctx, "forget", func(t *tx) error {
		_, err := t.Exec(`UPDATE store SET place = ''`)
		return err
	}))
	db, err = Open(ctx, path, ledger.Options{})
	if again, why := held(t, db, err); moved(t, first, again, why) {
		t.Error(why)
	}
}

// placed opens a ledger with a recorded place, and reports whether it is found relocated,
// and the place recorded then.
func placed(t *testing.T, path, place string) (bool, engine.Site) {
	t.Helper()
	db, err := Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := held(t, db, db.write(t.Context(), "note", func(t *tx) error {
		_, err := t.Exec(`UPDATE store SET place = '` + place + `'`)
		_, released := t.Exec(holdAllBackends, "", "", t.Now)
		return errors.Join(err, released)
	}))
	if db, err = Open(t.Context(), path, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	var noted string
	err = db.read(t.Context(), "place", func(t *tx) error { return t.Row(selectPlace).Scan(&noted) })
	if err != nil {
		t.Fatal(err)
	}
	now, err := engine.ParseSite(noted)
	if err != nil {
		t.Fatal(err)
	}
	again, why := held(t, db, nil)
	return moved(t, first, again, why), now
}

// TestACopyOnAnotherFileSystem: between file systems of which one lacks creation times, the
// file's number reveals a copy. Marks that one lacks are not forgotten.
func TestACopyOnAnotherFileSystem(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a file is not told from its copies here")
	}
	path := filePath(t)
	db, err := Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	setUp(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	here, err := engine.FileSite(path)
	if err != nil {
		t.Fatal(err)
	}
	if is, _ := placed(t, path, `{"inode":"1"}`); !is {
		t.Error("a copy from where nobody knows when a file was made is not recognised")
	}
	if is, now := placed(t, path, sqldb.JSON(engine.Site{engine.Inode: here[engine.Inode], "server": "7"})); is || now["server"] != "7" || now[engine.Born] != here[engine.Born] {
		t.Errorf("the same file is taken for a copy (%v), or what was known is forgotten: %v", is, now)
	}
	if is, now := placed(t, path, sqldb.JSON(engine.Site{engine.Inode: "1", engine.Born: here[engine.Born]})); here[engine.Born] != "" && (is || now[engine.Inode] != here[engine.Inode]) {
		t.Errorf("a file that got another number is taken for a copy (%v), or that is not noted: %v", is, now)
	}
	there, lay := engine.Site{engine.Inode: "8"}, engine.Site{engine.Inode: "7", engine.Born: "1.2"}
	if there.Other(lay) == "" {
		t.Error("a copy to where nobody knows when a file was made is not recognised")
	}
}

// onServer makes a ledger in a database of a cluster, and returns its identity.
func onServer(t *testing.T, url string) ledger.Store {
	t.Helper()
	db, err := OpenPostgres(t.Context(), url, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	setUp(t, db)
	s, _ := held(t, db, nil)
	return s
}

// openedAt reports whether the ledger at a URL is found relocated.
func openedAt(t *testing.T, url string, first ledger.Store) bool {
	t.Helper()
	db, err := OpenPostgres(t.Context(), url, ledger.Options{})
	again, why := held(t, db, err)
	return moved(t, first, again, why)
}

// runAt runs them at a URL.
func runAt(t *testing.T, url string, list ...string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range list {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatal(s, err)
		}
	}
}

// TestACopiedDatabaseIsRecognised: a copy of the database on the same server is recognised;
// a restart of the server is no copy.
func TestACopiedDatabaseIsRecognised(t *testing.T) {
	pg := servers.NewPostgres(t)
	url, other := pg.Database(), pg.Database()
	first := onServer(t, url)
	pg.Stop()
	pg.Restart()
	if openedAt(t, url, first) {
		t.Error("after a restart")
	}
	from, to := databaseOf(t, url), databaseOf(t, other)
	runAt(t, pg.URL("postgres"), "DROP DATABASE "+to, "CREATE DATABASE "+to+" TEMPLATE "+from)
	if !openedAt(t, other, first) {
		t.Error("a copy is not recognised")
	}
	if openedAt(t, url, first) {
		t.Error("the original beside its copy")
	}
}

func databaseOf(t *testing.T, url string) string {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return c.Database
}

// TestAServerThatDoesNotTell: a server that does not give a role its identity leaves that
// mark out. Neither that nor its return counts as a copy.
func TestAServerThatDoesNotTell(t *testing.T) {
	pg := servers.NewPostgres(t)
	url := pg.Database()
	first := onServer(t, url)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Replace(url, config.User, "plain", 1)
	runAt(t, url, "CREATE ROLE plain LOGIN", "GRANT ALL ON SCHEMA lethe TO plain", "GRANT ALL ON ALL TABLES IN SCHEMA lethe TO plain",
		"REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
	if openedAt(t, plain, first) {
		t.Error("a role that may not ask")
	}
	runAt(t, url, "GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
	if openedAt(t, plain, first) {
		t.Error("once it may")
	}
}

// TestARestoredTableIsRecognised: a table restored from a dump into the same database is
// another one.
func TestARestoredTableIsRecognised(t *testing.T) {
	url := servers.Postgres(t)
	first := onServer(t, url)
	runAt(t, url, "ALTER TABLE lethe.store RENAME TO old", "CREATE TABLE lethe.store (LIKE lethe.old INCLUDING ALL)",
		"INSERT INTO lethe.store SELECT * FROM lethe.old", "DROP TABLE lethe.old CASCADE")
	if !openedAt(t, url, first) {
		t.Error("a restored table is not recognised")
	}
}
