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

// TestLimitsAreLockedAfterBuckets: a transaction that waits for a bucket has locked no limit
// and no release (docs/protocol.md, rule 16): the one that has the bucket may need them.
func TestLimitsAreLockedAfterBuckets(t *testing.T) {
	for name, end := range map[string]func(*fixture, ledger.LimitState) error{
		"ReturnDeferred": func(l *fixture, _ ledger.LimitState) error { _, err := l.ReturnDeferred(l.ctx, 10); return err },
		"AllowBeyondLimit": func(l *fixture, g ledger.LimitState) error {
			return l.AllowBeyondLimit(l.ctx, ledger.Allowance{Kind: g.Kind, Subject: g.Subject, Until: lethe.Forever, N: -1})
		},
		"EndTrips": func(l *fixture, _ ledger.LimitState) error { _, err := l.EndTrips(l.ctx, ledger.Limits{}); return err },
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
			l.waitsEmptyHanded(r.Tripped[0], func() error { return end(l, r.Tripped[0]) })
		})
	}
}

// waitsEmptyHanded locks the bucket of a limit until fn waits for it, and then tries to lock
// what fn might have locked.
func (l *fixture) waitsEmptyHanded(g ledger.LimitState, fn func() error) {
	l.t.Helper()
	tx, err := l.engine.Server.Runners[engine.Request].Pool.BeginTx(l.ctx, nil)
	l.ok(err)
	defer tx.Rollback()
	var me int
	l.ok(tx.QueryRow(`SELECT pg_backend_pid() FROM buckets WHERE id = $1 FOR UPDATE`, g.Subject).Scan(&me))
	ended := make(chan error, 1)
	go func() { ended <- fn() }()
	l.waitFor(me, ended)
	var got bool
	l.ok(tx.QueryRow(`SELECT pg_try_advisory_xact_lock($1)`, gateOf("limit", string(g.Kind)+"\x00"+g.Subject)).Scan(&got))
	if !got {
		l.t.Error("who waits for the bucket holds its limit")
	}
	_, err = tx.Exec(`SET LOCAL lock_timeout = '10s'`)
	l.ok(err)
	_, err = tx.Exec(`INSERT INTO releases (bucket_id, prefix, after_key, after_entry) VALUES ($1, '', '', '') ON CONFLICT DO NOTHING`, g.Subject)
	if err != nil {
		l.t.Errorf("who waits for the bucket holds what is let go there: %v", err)
	}
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		l.t.Error(err)
	}
	l.ok(<-ended)
}
