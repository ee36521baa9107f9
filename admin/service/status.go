package service

import (
	"context"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
)

// Status returns a summary of the store.
func (s *Service) Status(ctx context.Context, _ api.None) (api.Status, error) {
	id, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return api.Status{}, err
	}
	out := api.Status{
		Version: s.o.Version, Store: string(id.ID), Database: string(id.DB), CreatedAt: toTime(id.CreatedAt),
		Now: toTime(s.o.Clock.Now()), Serving: s.o.Serving, StartedAt: toTime(s.started),
		Ledger: api.LedgerStats(s.o.Ledger.Stats()), ClockBehind: s.o.Ledger.ClockBehind().Seconds(), ClockAhead: s.o.Ledger.ClockAhead().Seconds(),
	}
	out.Cache = s.cacheStats()
	if err = s.sumBuckets(ctx, &out); err == nil {
		err = s.addRuntimeInfo(ctx, &out)
	}
	if err == nil {
		out.Trips, err = s.trips(ctx)
	}
	if err != nil {
		return out, err
	}
	depths, err := s.depths(ctx)
	if err != nil {
		return out, err
	}
	if out.Backends, err = s.backendStatus(ctx, depths); err != nil {
		return out, err
	}
	plan, err := s.o.Loop.Plan(ctx, nil)
	if err != nil {
		return out, err
	}
	out.Routines, err = s.routineStatus(ctx, plan)
	return out, err
}

// cacheStats returns the cache's statistics, nil if it has none.
func (s *Service) cacheStats() *cache.Stats {
	c, ok := s.o.Cache.(cache.Stater)
	if !ok {
		return nil
	}
	stats := c.Stats()
	return &stats
}

// sumBuckets adds up the contents of all buckets.
func (s *Service) sumBuckets(ctx context.Context, out *api.Status) error {
	return s.eachBucket(ctx, func(b ledger.Bucket) error {
		out.Buckets++
		out.Objects += b.Objects
		out.Bytes += b.Bytes
		out.Holds += b.Holds
		return nil
	})
}

func (s *Service) backendStatus(ctx context.Context, d ledger.Depths) ([]api.BackendStatus, error) {
	list, err := s.o.Ledger.Backends(ctx)
	if err != nil {
		return nil, err
	}
	totals, err := s.o.Ledger.Totals(ctx)
	if err != nil {
		return nil, err
	}
	var out []api.BackendStatus
	for _, b := range list {
		bs := api.BackendStatus{ID: b.ID, Quota: b.Quota, Held: b.Held, Epoch: b.Epoch, Draining: b.Draining, States: statesOf(b.ID, totals)}
		if s.o.Runtime.Backend != nil {
			bs.BackendFacts = s.o.Runtime.Backend(b.ID)
		}
		if err := s.ages(ctx, b.ID, d.Clean[b.ID], bs.States); err != nil {
			return nil, err
		}
		if bs.Walk, bs.Compared, err = s.lastWalks(ctx, b.ID); err != nil {
			return nil, err
		}
		bs.Missing = s.o.Backends[b.ID] == nil
		if sp, ok := s.o.Backends[b.ID].(blob.Spacer); ok {
			free, err := sp.Free(ctx)
			if err == nil {
				bs.Free = &free
			} else if !errors.Is(err, errors.ErrUnsupported) {
				bs.Missing = true
			}
		}
		out = append(out, bs)
	}
	return out, nil
}

// statesOf returns all four states, zeros included.
func statesOf(backend string, totals []ledger.Total) []api.StateTotal {
	var out []api.StateTotal
	for _, state := range lethe.States {
		st := api.StateTotal{State: state.String()}
		for _, t := range totals {
			if t.Backend == backend && t.State == state {
				st.Blobs, st.Bytes = t.Blobs, t.Bytes
			}
		}
		out = append(out, st)
	}
	return out
}

// ages sets how old the oldest entry of each queue is.
func (s *Service) ages(ctx context.Context, backend string, queue ledger.Backlog, states []api.StateTotal) error {
	now := s.o.Clock.Now()
	dead, err := s.o.Ledger.Dead(ctx, ledger.DeadQuery{Backend: backend, Limit: 1})
	if err != nil {
		return err
	}
	for i := range states {
		switch {
		case states[i].State == lethe.Condemned.String() && queue.Oldest != 0:
			states[i].Age = max(now.Sub(queue.Oldest), 0).Seconds()
		case states[i].State == lethe.Dead.String() && len(dead) > 0:
			states[i].Age = max(now.Sub(dead[0].DiedAt), 0).Seconds()
		}
	}
	return nil
}

func (s *Service) routineStatus(ctx context.Context, plan map[string]ledger.Backlog) ([]api.RoutineStatus, error) {
	last, good, err := s.o.Ledger.LastRuns(ctx)
	if err != nil {
		return nil, err
	}
	states := s.o.Loop.States()
	now := s.o.Clock.Now()
	var out []api.RoutineStatus
	for _, r := range s.o.Loop.Routines {
		name := r.Routine.Name()
		st := states[name]
		rs := api.RoutineStatus{
			Name: name, Backlog: backlogOf(plan[name], now), Running: st.Running,
			LookedAt: toTime(st.LastRun), SucceededAt: toTime(st.LastGood), Error: st.LastErr, Counts: st.Counts,
			LastRun: runOf(last, name), LastGood: runOf(good, name),
		}
		if s.o.Serving {
			rs.NextRun = toTime(st.NextRun)
		}
		out = append(out, rs)
	}
	return out, nil
}

func backlogOf(b ledger.Backlog, now lethe.Time) api.Backlog {
	out := api.Backlog{Due: b.Count, Bytes: b.Bytes, Oldest: toTime(b.Oldest), Scheduled: b.Scheduled, NextDue: toTime(b.NextDue), Held: b.Held, HeldBytes: b.HeldBytes}
	if b.Oldest != 0 {
		out.Age = max(now.Sub(b.Oldest), 0).Seconds()
	}
	return out
}

func runOf(runs map[string]ledger.Run, name string) *api.Run {
	r, ok := runs[name]
	if !ok {
		return nil
	}
	return &api.Run{
		ID: string(r.ID), Worker: r.Worker, Started: toTime(r.StartedAt), Beat: toTime(r.BeatAt), Finished: toTime(r.FinishedAt),
		Outcome: r.Outcome, Counts: r.Counts,
	}
}

// page is the number of rows per read.
const page = 1000

// eachBucket calls fn for every bucket by name.
func (s *Service) eachBucket(ctx context.Context, fn func(ledger.Bucket) error) error {
	q := ledger.BucketQuery{Limit: page}
	for {
		list, err := s.o.Ledger.Buckets(ctx, q)
		if err != nil {
			return err
		}
		for _, b := range list {
			if err := fn(b); err != nil {
				return err
			}
		}
		if len(list) < q.Limit {
			return nil
		}
		q.After = list[len(list)-1].Name
	}
}
