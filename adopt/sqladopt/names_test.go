package sqladopt

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// nameSite is a table whose rows name a folder, or a key, each.
type nameSite struct{ *site }

func newNameSite(t *testing.T, database string) nameSite {
	t.Helper()
	n := nameSite{newSite(t, database, kind{})}
	if _, err := n.pool.Exec(t.Context(), "CREATE TABLE named (name text)"); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n nameSite) Insert(ctx context.Context, name string) error {
	_, err := n.pool.Exec(ctx, "INSERT INTO named VALUES ($1)", name)
	return err
}

func (n nameSite) Remove(ctx context.Context, name string) error {
	_, err := n.pool.Exec(ctx, "DELETE FROM named WHERE name = $1", name)
	return err
}

func TestFoldersSuite(t *testing.T) {
	database := servers.Postgres(t)
	adopttest.RunFolders(t, func(t *testing.T) adopttest.FolderSite {
		n := newNameSite(t, database)
		rows, err := n.db.Folders(t.Context(), "folders", adopt.Collection{Folders: &adopt.FolderSpec{Live: adopt.LiveSpec{Table: "named", Name: "{name}"}}})
		if err != nil {
			t.Fatal(err)
		}
		return adopttest.FolderSite{FolderRows: rows, Holder: rows, App: n}
	})
}

func TestKeysSuite(t *testing.T) {
	database := servers.Postgres(t)
	adopttest.RunKeys(t, func(t *testing.T) adopttest.KeySite {
		n := newNameSite(t, database)
		rows, err := n.db.Keys(t.Context(), "keys", adopt.Collection{Keys: &adopt.KeySpec{Query: "SELECT name FROM named"}})
		if err != nil {
			t.Fatal(err)
		}
		return adopttest.KeySite{KeyRows: rows, Holder: rows, App: n}
	})
}

func TestRunsSuite(t *testing.T) {
	database := servers.Postgres(t)
	adopttest.RunRuns(t, func(t *testing.T) adopttest.RunSite {
		s := newSite(t, database, kind{})
		return adopttest.RunSite{Runs: s.db, Pass: s.Pass}
	})
}
