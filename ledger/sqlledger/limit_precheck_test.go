package sqlledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// TestPrecheckDecidesWhereItTrips: a limit that is no longer exceeded when PrecheckLimits would trip
// it, or that got an allowance since, does not trip.
func TestPrecheckDecidesWhereItTrips(t *testing.T) {
	for name, meanwhile := range map[string]func(*fixture) error{
		"nothing":          func(*fixture) error { return nil },
		"others remove it": func(l *fixture) error { _, err := l.Expire(l.ctx, ledger.Batch{Limit: 2}); return err },
		"it is allowed": func(l *fixture) error {
			b, err := l.Bucket(l.ctx, "b")
			l.ok(err)
			return l.AllowBeyondLimit(l.ctx, ledger.Allowance{Kind: ledger.LimitTTL, Subject: string(b.ID), Until: l.now().Add(time.Hour), N: 2})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(t)
			for i := range 3 {
				l.putTTL(fmt.Sprint("k", i), fmt.Sprint("digest ", i), time.Minute)
			}
			l.clock.Advance(time.Minute)
			done := false
			l.OnTransactions(func(ctx context.Context, method string) (context.Context, func(Transaction)) {
				return ctx, func(x Transaction) {
					if method == "PrecheckLimits" && !x.Write && !done {
						done = true
						l.ok(meanwhile(l))
					}
				}
			})
			tripped, err := l.PrecheckLimits(l.ctx, ledger.Limits{TTL: ledger.Limit{Ask: 2}})
			l.ok(err)
			if want := name == "nothing"; (len(tripped) > 0) != want || !done {
				t.Errorf("tripped %+v, want any: %v", tripped, want)
			}
		})
	}
}
