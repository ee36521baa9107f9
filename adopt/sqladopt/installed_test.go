package sqladopt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// movingSite is an application with a guarded collection, whose description is
// changed to other tables.
type movingSite struct {
	*Collection
	exec   func(text string) error
	count  func(query string) int
	lapse  func(content string) error
	reopen func(adopt.Collection) *Collection
	// left counts Lethe's triggers and functions.
	left string
}

func movingSites() map[string]func(t *testing.T) movingSite {
	lapse := func(c *Collection, put func(context.Context, adopttest.Row) error) func(string) error {
		return func(content string) error {
			ctx := context.Background()
			if err := put(ctx, adopttest.Row{Key: content, Content: content, In: -time.Second}); err != nil {
				return err
			}
			claim, err := c.Claim(ctx, 9)
			if err == nil {
				_, err = c.Settle(ctx, claim, 0)
			}
			return err
		}
	}
	return map[string]func(t *testing.T) movingSite{
		"PostgreSQL": func(t *testing.T) movingSite {
			s := newSite(t, servers.Postgres(t), kind{})
			return movingSite{s.Collection, func(text string) error {
				_, err := s.pool.Exec(t.Context(), text)
				return err
			}, func(query string) (n int) {
				if err := s.pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}, lapse(s.Collection, s.Put), s.reopened, strings.ReplaceAll(`SELECT (SELECT count(*) FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE p.pronamespace = to_regnamespace('SCHEMA'))
				+ (SELECT count(*) FROM pg_proc p WHERE p.pronamespace = to_regnamespace('SCHEMA'))`, "SCHEMA", s.schema)}
		},
		"MariaDB": func(t *testing.T) movingSite {
			s := newMySQLSite(t, servers.MariaDB(t), mysqlKind{})
			return movingSite{s.Collection, func(text string) error {
				_, err := s.pool.ExecContext(t.Context(), text)
				return err
			}, func(query string) (n int) {
				if err := s.pool.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}, lapse(s.Collection, s.Put), s.collection, `SELECT (SELECT count(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE())
				+ (SELECT count(*) FROM information_schema.routines WHERE routine_schema = DATABASE())`}
		},
		"SQLite": func(t *testing.T) movingSite {
			s := newLiteSite(t, liteKind{})
			return movingSite{s.Collection, func(text string) error {
				_, err := s.app.ExecContext(t.Context(), text)
				return err
			}, func(query string) (n int) {
				if err := s.app.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}, lapse(s.Collection, s.Put), s.opened, `SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'`}
		},
	}
}

// A collection whose description changes to another table moves its guard,
// whatever it was installed on, and leaves nothing on the old table.
func TestGuardMoves(t *testing.T) {
	for name, open := range movingSites() {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), t.Context()
			if err := s.exec(ownerTable); err != nil {
				t.Fatal(err)
			}
			first := s.count(s.left)
			to := s.reopen(ownerDescription(true))
			found, err := to.Check(ctx)
			if text := findings(found); err != nil || !strings.Contains(text, "its guard is on ") || !strings.Contains(text, "which this description does not name") {
				t.Errorf("before the guard has moved: %s, %v", text, err)
			}
			if err := to.InstallGuard(ctx); err != nil {
				t.Fatal(err)
			}
			if yes, err := to.Guarded(ctx); err != nil || !yes {
				t.Errorf("guarded where it has moved to: %v, %v", yes, err)
			}
			moved := s.count(s.left)
			if err := errors.Join(to.RemoveGuard(ctx), to.InstallGuard(ctx)); err != nil {
				t.Fatal(err)
			}
			if n := s.count(s.left); n != moved {
				t.Errorf("%d triggers and functions after the move, want %d as where there were none before", moved, n)
			}
			if err := s.exec("DROP TABLE pins"); err != nil {
				t.Fatal(err)
			}
			if err := s.exec("INSERT INTO content VALUES ('plain', 0)"); err != nil { // calls no trigger that is half removed
				t.Error(err)
			}
			if yes, err := s.Guarded(ctx); err != nil || yes {
				t.Errorf("guarded where it was: %v, %v", yes, err)
			}

			// And back, by a removal that knows only the other tables.
			if err := s.RemoveGuard(ctx); err != nil {
				t.Fatal(err)
			}
			if n := s.count(s.left); n != 0 {
				t.Errorf("%d triggers and functions are left", n)
			}
			if err := s.InstallGuard(ctx); err != nil {
				t.Fatal(err)
			}
			if n := s.count(s.left); n != first {
				t.Errorf("%d triggers and functions, want %d", n, first)
			}
		})
	}
}

// While objects of a table may yet be deleted its guard stays.
func TestGuardMovesLater(t *testing.T) {
	for name, open := range movingSites() {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), t.Context()
			if err := errors.Join(s.exec(ownerTable), s.lapse("x")); err != nil {
				t.Fatal(err)
			}
			if err := s.exec("UPDATE " + s.db.runner.Dialect.Expand("{lethe}condemned") + " SET due_at = 0"); err != nil {
				t.Fatal(err)
			}
			if m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); err != nil || len(m.Contents) != 1 {
				t.Fatalf("marked %+v, %v", m, err)
			}
			want := "1 content of pastes is being deleted"
			if err := s.reopen(ownerDescription(true)).InstallGuard(ctx); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "with the description by which the guard is on") {
				t.Errorf("moved: %v", err)
			}
			if err := s.db.Remove(ctx); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Lethe's tables were removed: %v", err)
			}
			if err := s.exec("INSERT INTO content VALUES ('x', 0)"); err == nil {
				t.Error("the content that is being deleted was stored again")
			}
		})
	}
}

// A key that rows have left behind is no key of a content: it would be forgotten, and its object
// stay for ever.
func TestGuardOfAnotherKindComesLater(t *testing.T) {
	for name, open := range movingSites() {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), t.Context()
			if err := s.exec(ownerTable); err != nil {
				t.Fatal(err)
			}
			contents, owner := s.c, s.reopen(ownerDescription(false))
			if err := owner.InstallGuard(ctx); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.exec("INSERT INTO files (id, name) VALUES ('a', 'a')"), s.exec("DELETE FROM files")); err != nil {
				t.Fatal(err)
			}
			const waits = "1 object waits for a description of pastes as rows with objects, and this one is of contents"
			err := s.reopen(contents).InstallGuard(ctx)
			if err == nil || !strings.HasPrefix(Reason(err).Error(), waits) {
				t.Errorf("installed: %v", err)
			}
			if yes, err := owner.Guarded(ctx); err != nil || !yes {
				t.Errorf("guarded as before: %v, %v", yes, err)
			}
			if err := owner.RemoveGuard(ctx); err != nil {
				t.Fatal(err)
			}
			err = s.reopen(contents).InstallGuard(ctx)
			if err == nil || !strings.HasPrefix(Reason(err).Error(), waits) {
				t.Errorf("installed after the other was removed: %v", err)
			}
			if n, err := s.reopen(contents).Left(ctx); err != nil || n != 1 {
				t.Errorf("%d objects that Lethe alone knows, %v", n, err)
			}
			if err := errors.Join(s.exec("DELETE FROM "+s.db.runner.Dialect.Expand("{lethe}condemned")), s.reopen(contents).InstallGuard(ctx)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The guard of a collection without a description is removed with Lethe's
// tables: its triggers would read them.
func TestRemoveTakesEveryGuard(t *testing.T) {
	for name, open := range movingSites() {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			if err := s.db.Remove(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := s.count(s.left); n != 0 {
				t.Errorf("%d triggers and functions are left", n)
			}
			if err := s.exec("INSERT INTO content VALUES ('plain', 0)"); err != nil {
				t.Error(err)
			}
		})
	}
}

// Problems of a guard are reported.
func TestGuardOfAnotherDescription(t *testing.T) {
	for name, open := range movingSites() {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), t.Context()
			if err := s.exec(ownerTable); err != nil {
				t.Fatal(err)
			}
			d := ownerDescription(false)
			if err := s.reopen(d).InstallGuard(ctx); err != nil {
				t.Fatal(err)
			}
			d.Grace.Unreferenced = new(adopt.Duration)
			other := s.reopen(d)
			if found, err := other.Check(ctx); err != nil || !strings.Contains(findings(found), "is that of another description") {
				t.Errorf("of other times: %s, %v", findings(found), err)
			}
			second, err := other.db.Collection(ctx, "second", d)
			if err != nil {
				t.Fatal(err)
			}
			if found, err := second.Check(ctx); err != nil || !strings.Contains(findings(found), "have the guard of another collection as well") {
				t.Errorf("of another collection: %s, %v", findings(found), err)
			}
			if err := other.RemoveGuard(ctx); err != nil {
				t.Fatal(err)
			}
			if found, err := other.Check(ctx); err != nil || !strings.Contains(findings(found), "its guard is not installed") {
				t.Errorf("of none: %s, %v", findings(found), err)
			}
		})
	}
}
