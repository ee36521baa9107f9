package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestGuardsAreTakenAfterBuckets: a transaction that waits for a bucket has locked no guard
// and no release (docs/protocol.md, rule 16): the one that has the bucket may need them.
func TestGuardsAreTakenAfterBuckets(t *testing.T) {
	for name, end := range map[string]func(*fixture, ledger.Guard) error{
		"Unpark": func(l *fixture, _ ledger.Guard) error { _, err := l.Unpark(l.ctx, 10); return err },
		"AllowGuard": func(l *fixture, g ledger.Guard) error {
			return l.AllowGuard(l.ctx, ledger.Allowance{Kind: g.Kind, Subject: g.Subject, Until: lethe.Forever, N: -1})
		},
		"EndStops": func(l *fixture, _ ledger.Guard) error { _, err := l.EndStops(l.ctx, ledger.Limits{}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			clock := newTestClock()
			url := servers.Postgres(t)
			l := &fixture{DB: openServerAt(t, url, ledger.Options{Clock: clock}), t: t, ctx: context.Background(), clock: clock}
			setUp(t, l.DB)
			for i := range 2 {
				l.putTTL(fmt.Sprint("k", i), fmt.Sprint("digest ", i), time.Minute)
			}
			clock.Advance(time.Minute)
			r, err := l.Expire(l.ctx, ledger.Batch{Limits: ledger.Limits{TTL: ledger.Limit{PerHour: 1}}})
			l.ok(err)
			clock.Advance(time.Hour) // the limit resets by itself
			l.waitsEmptyHanded(r.Stopped[0], func() error { return end(l, r.Stopped[0]) })
		})
	}
}

// waitsEmptyHanded locks the bucket of a guard until fn waits for it, and then tries to lock
// what fn might have locked.
func (l *fixture) waitsEmptyHanded(g ledger.Guard, fn func() error) {
	l.t.Helper()
	tx, err := l.engine.Server.Runners[engine.Request].Pool.BeginTx(l.ctx, nil)
	l.ok(err)
	defer tx.Rollback()
	var me int
	l.ok(tx.QueryRow(`SELECT pg_backend_pid() FROM buckets WHERE id = $1 FOR UPDATE`, g.Subject).Scan(&me))
	ended := make(chan error, 1)
	go func() { ended <- fn() }()
	for waits := false; !waits; { // on another connection: a transaction keeps seeing the activity that it saw first
		select {
		case err := <-ended:
			l.t.Fatalf("it did not wait for the bucket: %v", err)
		default:
		}
		l.ok(l.engine.Server.Runners[engine.Request].Pool.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))`, me).Scan(&waits))
	}
	var got bool
	l.ok(tx.QueryRow(`SELECT pg_try_advisory_xact_lock($1)`, gateOf("guard", string(g.Kind)+"\x00"+g.Subject)).Scan(&got))
	if !got {
		l.t.Error("who waits for the bucket holds its guard")
	}
	_, err = tx.Exec(`SET LOCAL lock_timeout = '10s'`)
	l.ok(err)
	_, err = tx.Exec(`INSERT INTO lifts (bucket_id, prefix, after_key, after_entry) VALUES ($1, '', '', '') ON CONFLICT DO NOTHING`, g.Subject)
	if err != nil {
		l.t.Errorf("who waits for the bucket holds what is let go there: %v", err)
	}
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		l.t.Error(err)
	}
	l.ok(<-ended)
}
