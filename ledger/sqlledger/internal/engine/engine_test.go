package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// withSchema returns options with what a ledger sets.
func withSchema(o Options) Options {
	o.Ledger = o.Ledger.WithDefaults()
	o.Schema = os.DirFS("../..")
	return o
}

// open opens a file whose groups end when nobody waits.
func open(path string, o Options) (*Engine, error) {
	o.GroupTime = time.Hour
	return OpenFile(context.Background(), path, withSchema(o))
}

// openTest opens a file that is closed with the test.
func openTest(t testing.TB, path string, o Options) *Engine {
	t.Helper()
	e, err := open(path, o)
	return closed(t, e, err)
}

// openServer opens a ledger in PostgreSQL that is closed with the test.
func openServer(t testing.TB, url string) *Engine {
	t.Helper()
	e, err := OpenServer(t.Context(), url, withSchema(Options{}), PostgresOptions{})
	return closed(t, e, err)
}

func closed(t testing.TB, e *Engine, err error) *Engine {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// filePath names a file that does not exist yet, in a folder whose name needs
// care.
func filePath(t testing.TB) string { return filepath.Join(t.TempDir(), "ledger ?#%41.db") }

func write(ctx context.Context, e *Engine, fn func(*Tx) error) error {
	return e.Write(ctx, Request, Job{Do: fn})
}

const addNote = `INSERT INTO ops (id, what, object_id, at) VALUES (?1, ?2, '', 0)`

// note is a write that leaves a row.
func note(id string) func(*Tx) error {
	return func(t *Tx) error {
		_, err := t.Exec(addNote, id, "note")
		return err
	}
}

// notes returns which of the notes were committed.
func notes(t *testing.T, e *Engine, ids ...string) (found []string) {
	t.Helper()
	for _, id := range ids {
		var n int
		err := e.View(context.Background(), Request, func(t *Tx) error {
			return t.Row(`SELECT count(*) FROM ops WHERE id = ?1`, id).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			found = append(found, id)
		}
	}
	return found
}

func wantNotes(t *testing.T, e *Engine, want ...string) {
	t.Helper()
	if got := notes(t, e, "a", "b", "c", "d"); !slices.Equal(got, want) {
		t.Errorf("committed %v, want %v", got, want)
	}
}

// TestOlderVersion compares versions of SQLite.
func TestOlderVersion(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"3.51.2", "3.51.3", true}, {"3.51.3", "3.51.3", false}, {"3.100.0", "3.51.3", false}, {"3.9.9", "3.51.3", true}, {"4", "3.51.3", false}} {
		if got := olderVersion(c.a, c.b); got != c.want {
			t.Error(c, got)
		}
	}
}
