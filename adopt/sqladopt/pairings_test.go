package sqladopt

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// pairedPlace is one with a name that is not ASCII.
const pairedPlace = "app/ü/"

// wantPaired checks the record, and returns it.
func wantPaired(t *testing.T, db *DB, want adopt.Paired) adopt.Paired {
	t.Helper()
	p, err := db.Paired(t.Context(), pairedPlace)
	if err != nil || p.Epoch != want.Epoch || p.Next != want.Next || p.Elsewhere != want.Elsewhere || p.Now == 0 {
		t.Fatalf("%+v, %v, want %+v", p, err, want)
	}
	return p
}

// An epoch is begun and confirmed once, by whoever has seen the one before it.
func TestPairings(t *testing.T) {
	onEngines(t, "CREATE TABLE things (id integer PRIMARY KEY)", func(t *testing.T, db *DB) {
		ctx := t.Context()
		fenced := func(err error) {
			t.Helper()
			if !errors.Is(err, lethe.ErrFenced) {
				t.Errorf("not refused: %v", err)
			}
		}
		none, first, ninth := adopt.Epoch{}, adopt.Epoch{Number: 1, Nonce: "a"}, adopt.Epoch{Number: 9, Nonce: "x"}
		fenced(db.BeginEpoch(ctx, pairedPlace, first, "b"))
		if err := db.BeginEpoch(ctx, pairedPlace, none, "a"); err != nil {
			t.Fatal(err)
		}
		fenced(db.BeginEpoch(ctx, pairedPlace, none, "b"))
		seen := wantPaired(t, db, adopt.Paired{Next: "a"})
		fenced(db.ConfirmEpoch(ctx, pairedPlace, adopt.Paired{Next: "b"}))
		if err := db.ConfirmEpoch(ctx, pairedPlace, seen); err != nil {
			t.Fatal(err)
		}
		fenced(db.ConfirmEpoch(ctx, pairedPlace, seen))
		fenced(db.ConfirmEpoch(ctx, pairedPlace, wantPaired(t, db, adopt.Paired{Epoch: first})))
		if err := errors.Join(db.AcceptEpoch(ctx, pairedPlace, ninth), db.AcceptEpoch(ctx, "other/", none)); err != nil {
			t.Fatal(err)
		}
		wantPaired(t, db, adopt.Paired{Epoch: ninth})
		if err := db.Remove(ctx); err != nil {
			t.Fatal(err)
		}
		wantPaired(t, db, adopt.Paired{})
	})
}

// A database is in another place once none of its marks is as it was, until that is accepted.
func TestPairingsElsewhere(t *testing.T) {
	onEngines(t, "CREATE TABLE things (id integer PRIMARY KEY)", func(t *testing.T, db *DB) {
		ctx, last := t.Context(), adopt.Epoch{Number: 1, Nonce: "a"}
		accept := func() {
			t.Helper()
			if err := db.AcceptEpoch(ctx, pairedPlace, last); err != nil {
				t.Fatal(err)
			}
		}
		accept()
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
