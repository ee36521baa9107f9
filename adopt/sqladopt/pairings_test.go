package sqladopt

import (
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

const pairedPlace = "app/"

// wantPaired checks the record.
func wantPaired(t *testing.T, db *DB, want adopt.Paired) {
	t.Helper()
	p, err := db.Paired(t.Context(), pairedPlace)
	if err != nil || p.Epoch != want.Epoch || p.Next != want.Next || p.Elsewhere != want.Elsewhere {
		t.Fatalf("%+v, %v, want %+v", p, err, want)
	}
}

func TestPairings(t *testing.T) {
	onEngines(t, "CREATE TABLE things (id integer PRIMARY KEY)", func(t *testing.T, db *DB) {
		adopttest.RunPairings(t, db)
		if err := db.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantPaired(t, db, adopt.Paired{})
	})
}

// A database is in another place once none of the marks is as it was when its epoch was begun, until
// that is accepted: a copy that was made before the first epoch was confirmed is, too.
func TestPairingsElsewhere(t *testing.T) {
	onEngines(t, "CREATE TABLE things (id integer PRIMARY KEY)", func(t *testing.T, db *DB) {
		ctx, last := t.Context(), adopt.Epoch{Number: 1, Nonce: "a"}
		accept := func() {
			t.Helper()
			if err := db.AcceptEpoch(ctx, pairedPlace, last); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.BeginEpoch(ctx, pairedPlace, adopt.Epoch{}, last.Nonce); err != nil {
			t.Fatal(err)
		}
		var marks string
		if err := db.read(ctx, "marks", func(t *tx) error { return t.row("SELECT marks FROM {lethe}pairings").Scan(&marks) }); err != nil {
			t.Fatal(err)
		}
		known, want := strings.Split(marks, "\n"), 1
		if db.runner.Dialect.Name == sqldb.MySQLName {
			want = 2
		}
		if len(known) != want || slices.Contains(known, "") {
			t.Errorf("marks %q", known)
		}
		was := func(marks ...string) {
			t.Helper()
			if err := db.write(ctx, "marks", func(t *tx) error {
				return t.one("UPDATE {lethe}pairings SET marks = ?1", strings.Join(marks, "\n"))
			}); err != nil {
				t.Fatal(err)
			}
		}
		was("other")
		wantPaired(t, db, adopt.Paired{Next: last.Nonce, Elsewhere: true})
		accept()
		for _, mark := range known {
			was("other", mark)
			wantPaired(t, db, adopt.Paired{Epoch: last})
		}
		was("other")
		wantPaired(t, db, adopt.Paired{Epoch: last, Elsewhere: true})
		accept()
		wantPaired(t, db, adopt.Paired{Epoch: last})
	})
}
