package sqlledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestRunThatEndedMeanwhile: a run that ends between another's look and its insert is
// noticed. If it succeeded the other does not begin, else it does.
func TestRunThatEndedMeanwhile(t *testing.T) {
	for outcome, begins := range map[string]bool{"ok": false, "failed": true} {
		t.Run(outcome, func(t *testing.T) {
			clock := newTestClock()
			db, ctx := openServerAt(t, servers.Postgres(t), ledger.Options{Clock: clock}), t.Context()
			tx, err := db.pg.runners[request].Pool.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }() // after Commit it does nothing
			// A read does not wait for this lock; an insert does.
			if _, err := tx.ExecContext(ctx, `LOCK TABLE runs IN SHARE MODE`); err != nil {
				t.Fatal(err)
			}
			asked := make(chan error, 1)
			go func() {
				run := ledger.Run{ID: lethe.RandomID(1), Routine: "verify", Worker: "slow"}
				b, err := db.BeginRun(context.WithoutCancel(ctx), ledger.Solo{Run: run, Stale: time.Hour})
				if err == nil && (b.OK != begins || !begins && (b.Other == nil || b.Other.Worker != "quick")) {
					err = fmt.Errorf("got %+v", b)
				}
				asked <- err
			}()
			awaitLock(t, db)
			clock.Advance(time.Second)
			ended := clock.Now()
			if _, err := tx.ExecContext(ctx, `INSERT INTO runs (id, routine, worker, started_at, beat_at, finished_at, outcome, counts, solo)
				VALUES ('quick', 'verify', 'quick', $1, $1, $1, $2, '{}', 1)`, ended, outcome); err != nil {
				t.Fatal(err)
			}
			clock.Advance(time.Second)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
			last, _, err := db.LastRuns(ctx)
			if r := last["verify"]; err != nil || begins && (r.Worker != "slow" || r.StartedAt < ended) {
				t.Errorf("the last run is %+v, %v", r, err)
			}
		})
	}
}
