package bench

import (
	"context"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// stopwatch adds up how long the steps of reclaiming take, waiting for their turn
// included.
type stopwatch struct {
	mu     sync.Mutex
	d      map[string]time.Duration
	gone   int64
	points []Point // blobs settled by time
}

// began is to be called with the step's name; what it returns, at its end.
func (s *stopwatch) began(step string) (ended func()) {
	at := lethe.Monotonic{}.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.d == nil {
			s.d = map[string]time.Duration{}
		}
		s.d[step] += lethe.Monotonic{}.Now().Sub(at)
	}
}

// timedLedger is a ledger with a stopwatch on what reclaiming calls.
type timedLedger struct {
	*sqlledger.DB
	watch *stopwatch
}

func (l timedLedger) Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	defer l.watch.began("expire")()
	return l.DB.Expire(ctx, b)
}

func (l timedLedger) ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error) {
	defer l.watch.began("claim")()
	return l.DB.ClaimCondemned(ctx, r)
}

func (l timedLedger) Settle(ctx context.Context, s ledger.Settlement) (ledger.Settled, error) {
	defer l.watch.began("settle")()
	out, err := l.DB.Settle(ctx, s)
	l.watch.settled(int64(out.Gone))
	return out, err
}

// timedStore is a store with a stopwatch on its deletes.
type timedStore struct {
	blob.Store
	watch *stopwatch
}

func (s timedStore) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	defer s.watch.began("delete")()
	return s.Store.Delete(ctx, keys)
}
