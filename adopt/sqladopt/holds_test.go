package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// holds sets a hold in a separate transaction, which commit ends.
func (s *site) holds(scope adopt.HoldScope, key string) (commit func()) {
	s.t.Helper()
	tx, err := s.pool.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(s.t.Context())) })
	for _, text := range []string{
		`SELECT holds FROM ` + s.schema + `.collections FOR NO KEY UPDATE`,
		fmt.Sprintf(`INSERT INTO %s.holds VALUES ('pastes', %d, '%s', '', '', 0, 0)`, s.schema, scope, key),
		`UPDATE ` + s.schema + `.collections SET holds = holds + 1`,
	} {
		if _, err := tx.Exec(s.t.Context(), text); err != nil {
			s.t.Fatal(err)
		}
	}
	return func() {
		s.t.Helper()
		if err := tx.Commit(context.WithoutCancel(s.t.Context())); err != nil {
			s.t.Error(err)
		}
	}
}

// awaits waits until a statement waits for a lock.
func (s *site) awaits(statement string) {
	s.t.Helper()
	for range 400 {
		var waiting bool
		err := s.pool.QueryRow(s.t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1)`,
			"%"+statement+"%").Scan(&waiting)
		if err != nil {
			s.t.Fatal(err)
		}
		if waiting {
			return
		}
		if err := lethe.Sleep(s.t.Context(), 5*time.Millisecond); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Fatalf("nobody waits: %s", statement)
}

// taking is an operation that removes something while a hold on it is being
// set: row "a", or object content/x. begin prepares it, and returns the
// operation, which returns how much was removed.
type taking struct {
	scope adopt.HoldScope
	key   string
	begin func(ctx context.Context, s *site) func() (int, error)
}

func (s *site) claimed(ctx context.Context) adopt.Claim {
	s.t.Helper()
	c, err := s.Claim(ctx, 9)
	if err != nil || len(c.Rows) != 1 {
		s.t.Fatalf("claimed %+v, %v", c, err)
	}
	return c
}

var takings = map[string]taking{
	"claim": {adopt.HoldRow, "a", func(ctx context.Context, s *site) func() (int, error) {
		return func() (int, error) {
			c, err := s.Claim(ctx, 9)
			return len(c.Rows), err
		}
	}},
	"take": {adopt.HoldRow, "a", func(ctx context.Context, s *site) func() (int, error) {
		return func() (int, error) {
			out, err := s.Take(ctx, 9, 0)
			return out.Gone, err
		}
	}},
	"settle": {adopt.HoldRow, "a", func(ctx context.Context, s *site) func() (int, error) {
		c := s.claimed(ctx)
		return func() (int, error) {
			out, err := s.Settle(ctx, c, 0)
			return out.Gone + 1 - out.Held, err
		}
	}},
	"mark": {adopt.HoldObject, "content/x", func(ctx context.Context, s *site) func() (int, error) {
		if _, err := s.Settle(ctx, s.claimed(ctx), 0); err != nil {
			s.t.Fatal(err)
		}
		s.Pass(adopt.DefaultGrace.Unreferenced)
		return func() (int, error) {
			out, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour})
			return len(out.Contents) + 1 - out.Held, err
		}
	}},
}

// A removal waits for a hold that is being set, and then respects it.
func TestHoldsAreWaitedFor(t *testing.T) {
	database := servers.Postgres(t)
	for what, c := range takings {
		t.Run(what, func(t *testing.T) {
			s := newSite(t, database, kind{})
			if _, err := s.Claim(t.Context(), 9); err != nil { // the collection has a row from here on
				t.Fatal(err)
			}
			if err := s.Put(t.Context(), adopttest.Row{Key: "a", Content: "x", In: -time.Second}); err != nil {
				t.Fatal(err)
			}
			do := c.begin(t.Context(), s)
			commit := s.holds(c.scope, c.key)
			type result struct {
				taken int
				err   error
			}
			ended := make(chan result, 1)
			go func() {
				taken, err := do()
				ended <- result{taken, err}
			}()
			s.awaits(`"` + s.schema + `".collections`)
			commit()
			if r := <-ended; r.err != nil || r.taken != 0 {
				t.Errorf("%d were taken, %v", r.taken, r.err)
			}
		})
	}
}

// A hold is not set before a running removal has ended.
func TestHoldWaitsForTransactions(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	if _, err := s.Claim(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT holds FROM `+s.schema+`.collections FOR SHARE`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := s.AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldCollection})
		ended <- err
	}()
	s.awaits(`"` + s.schema + `".collections`)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Keys of rows are compared as the database writes them, and an invalid one is
// refused: its hold would cover nothing.
func TestHoldsOnNumbers(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	if err := s.do(t.Context(), func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `CREATE TABLE tokens (id int PRIMARY KEY, ends timestamptz); INSERT INTO tokens VALUES (7, now() - INTERVAL '1 hour')`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c, err := s.db.Collection(t.Context(), "tokens", adopt.Collection{Rows: adopt.Rows{Table: "tokens", Key: "id", End: "ends"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: "seven"}); err == nil || !strings.Contains(err.Error(), `"seven" can be no key of a row`) {
		t.Errorf("a hold on what is no number: %v", err)
	}
	if h, _, err := c.AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: " 007"}); err != nil || h.Key != "7" {
		t.Errorf("held is %q, %v", h.Key, err)
	}
	if out, err := c.Take(t.Context(), 9, 0); err != nil || out.Gone != 0 {
		t.Errorf("taken were %+v, %v", out, err)
	}
	if err := s.db.Remove(t.Context()); !errors.Is(err, lethe.ErrHeld) {
		t.Errorf("Lethe's tables went with a hold: %v", err)
	}
	if err := c.ReleaseHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: "07"}); err != nil {
		t.Error(err)
	}
	if out, err := c.Take(t.Context(), 9, 0); err != nil || out.Gone != 1 {
		t.Errorf("taken were %+v, %v", out, err)
	}
}

// Prefixes are compared with each key, so their number is bounded.
func TestHoldsOnPrefixesAreBounded(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	if _, err := s.pool.Exec(t.Context(), fmt.Sprintf(`INSERT INTO %s.holds SELECT 'pastes', 4, 'p' || n, '', '', 0, 0 FROM generate_series(1, %d) AS n`,
		s.schema, adopt.MaxPrefixHolds)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldPrefix, Key: "more"}); err == nil {
		t.Error("there may be any number")
	}
	if _, _, err := s.AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldObject, Key: "more"}); err != nil {
		t.Error(err)
	}
}

// A hold names the row that the database finds by its key, however that is written: SQLite takes
// " 7" for 7.
func TestSQLiteHoldsFindTheirRow(t *testing.T) {
	db, app := liteDB(t, `CREATE TABLE t (k integer PRIMARY KEY, ends integer); INSERT INTO t VALUES (7, 1500000000)`)
	c, err := db.Collection(t.Context(), "t", adopt.Collection{Rows: adopt.Rows{Table: "t", Key: "k", End: "ends", Unit: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{" 7", "7 ", "+7", "07", "7"} {
		held, _, err := c.AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: key, By: "test"})
		if err != nil || held.Key != "7" {
			t.Errorf("%q holds %q, %v", key, held.Key, err)
		}
		if took, err := c.Take(t.Context(), 10, 0); err != nil || took.Gone != 0 {
			t.Errorf("%q was held: %+v, %v", key, took, err)
		}
		if err := c.ReleaseHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: key}); err != nil {
			t.Errorf("%q: %v", key, err)
		}
		liteExec(t, app, `INSERT OR REPLACE INTO t VALUES (7, 1500000000)`)
	}
}
