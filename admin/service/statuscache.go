package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// statusFresh is how long expensive values are cached: the sums over all
// buckets, and the exact length of a queue beyond ledger.MaxDepth.
const statusFresh = time.Minute

// lastDayFresh is how long the sums over the runs of a day are cached.
const lastDayFresh = 10 * time.Second

// statusCache is the cache of CachedStatus.
type statusCache struct {
	mu      sync.Mutex
	asked   lethe.Time
	buckets api.Status // its sums over buckets
	exact   map[string]exactly
	summed  lethe.Time
	lastDay *api.LastDay
}

// counted are the routines without a queue whose plans read counters, and no
// more rows than there are backends, or buckets whose rules have changed.
var counted = []string{"lifecycle", "drain", "rebalance"}

// remembered are those whose plans are computed at most once a minute: of
// uploads all that were not touched for a while are read.
var remembered = []string{"multipart"}

// exactly is a cached length of a long queue.
type exactly struct {
	at      lethe.Time
	backlog ledger.Backlog
}

// CachedStatus is Status for callers every few seconds: what is due is counted up to
// ledger.MaxDepth, by the front ends of indexes, and beyond that at most once a
// minute. Routines without a queue have no backlog here.
func (s *Service) CachedStatus(ctx context.Context) (api.Status, error) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	return s.summary(ctx, question{}, counting{s.cachedBuckets, s.cachedPlan, s.cachedLastDay})
}

// depths reads the lengths of this store's queues.
func (s *Service) depths(ctx context.Context) (ledger.Depths, error) {
	q := ledger.DepthQuery{MinAge: s.o.Safety.MinAge}
	list, err := s.o.Ledger.Backends(ctx)
	if err != nil {
		return ledger.Depths{}, err
	}
	for _, b := range list {
		q.Backends = append(q.Backends, b.ID)
	}
	return s.o.Ledger.Depths(ctx, q)
}

func (s *Service) cachedBuckets(ctx context.Context, out *api.Status) error {
	g := &s.cache
	now := s.o.Stopwatch.Now()
	if g.asked == 0 || now.Sub(g.asked) >= statusFresh {
		var sums api.Status
		if err := s.sumBuckets(ctx, &sums); err != nil {
			return err
		}
		g.buckets, g.asked = sums, now
	}
	out.Buckets, out.Objects, out.Bytes, out.Holds = g.buckets.Buckets, g.buckets.Objects, g.buckets.Bytes, g.buckets.Holds
	return nil
}

func (s *Service) cachedLastDay(ctx context.Context) (*api.LastDay, error) {
	g := &s.cache
	now := s.o.Stopwatch.Now()
	if g.summed == 0 || now.Sub(g.summed) >= lastDayFresh {
		day, err := s.lastDay(ctx)
		if err != nil {
			return nil, err
		}
		g.lastDay, g.summed = day, now
	}
	return g.lastDay, nil
}

// cachedPlan returns the backlogs of the routines, exactly where that was
// counted within the last minute.
func (s *Service) cachedPlan(ctx context.Context, d ledger.Depths) (map[string]ledger.Backlog, error) {
	plan := make(map[string]ledger.Backlog, len(d.Routines))
	for _, r := range s.o.Loop.Routines {
		name := r.Routine.Name()
		b, queued, err := s.cachedQueue(ctx, d, name)
		if err != nil {
			return nil, err
		}
		if !queued {
			continue
		}
		if b.Count >= d.Limit {
			exact, err := s.cachedExact(ctx, name)
			if err != nil {
				return nil, err
			}
			b.Count, b.Bytes = max(exact.Count, d.Limit), exact.Bytes
		}
		plan[name] = b
	}
	return plan, nil
}

// cachedQueue returns the queue of a routine, if it has one.
func (s *Service) cachedQueue(ctx context.Context, d ledger.Depths, routine string) (b ledger.Backlog, queued bool, err error) {
	switch {
	case slices.Contains(counted, routine):
		all, err := s.o.Loop.Plan(ctx, []string{routine})
		return all[routine], true, err
	case slices.Contains(remembered, routine):
		b, err = s.cachedExact(ctx, routine)
		return b, true, err
	}
	b, queued = d.Routines[routine]
	return b, queued, nil
}

// cachedExact returns the length of a long queue, counted within the last
// minute.
func (s *Service) cachedExact(ctx context.Context, routine string) (ledger.Backlog, error) {
	g := &s.cache
	now := s.o.Stopwatch.Now()
	if seen, known := g.exact[routine]; known && now.Sub(seen.at) < statusFresh {
		return seen.backlog, nil
	}
	plan, err := s.o.Loop.Plan(ctx, []string{routine})
	if err != nil {
		return ledger.Backlog{}, err
	}
	if g.exact == nil {
		g.exact = map[string]exactly{}
	}
	g.exact[routine] = exactly{now, plan[routine]}
	return plan[routine], nil
}
