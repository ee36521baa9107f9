package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service/verdict"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
)

// ledgerTime is how long the ledger may take to say who it is before it counts as down.
const ledgerTime = 5 * time.Second

// counting is how a summary counts what may be long.
type counting struct {
	buckets func(context.Context, *api.Status) error
	plan    func(context.Context, ledger.Depths) (map[string]ledger.Backlog, error)
	lastDay func(context.Context) (*api.LastDay, error)
}

// Status returns a summary of the store with exact counts, and the verdict on it.
func (s *Service) Status(ctx context.Context, _ api.None) (api.Status, error) {
	return s.summary(ctx, s.askInstances(ctx), counting{s.sumBuckets, func(ctx context.Context, _ ledger.Depths) (map[string]ledger.Backlog, error) {
		return s.o.Loop.Plan(ctx, nil)
	}, s.lastDay})
}

// summary asks the backends, Redis and the ledger now. If the ledger does not answer, the
// summary says so, and has what the process knows.
func (s *Service) summary(ctx context.Context, asked question, how counting) (api.Status, error) {
	out, err := s.own(ctx)
	if err == nil && out.LedgerError == "" {
		if err = s.fromLedger(ctx, &out, asked, how); errors.Is(err, lethe.ErrUnavailable) {
			out.LedgerError, err = api.Plain(err.Error()), nil
		}
	}
	out.Health = verdict.Of(out)
	return out, err
}

// own returns what the process knows by itself, and whether the ledger answers it.
func (s *Service) own(ctx context.Context) (api.Status, error) {
	out := s.process(ctx)
	asked, cancel := context.WithTimeout(ctx, ledgerTime)
	defer cancel()
	start := s.o.Stopwatch.Now()
	id, err := s.o.Ledger.Identity(asked)
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case err != nil:
		out.LedgerError = api.Plain(err.Error())
		return out, nil
	}
	out.LedgerLatency = s.o.Stopwatch.Now().Sub(start).Seconds()
	out.Store, out.Database, out.CreatedAt = string(id.ID), string(id.DB), toTime(id.CreatedAt)
	return out, nil
}

// fromLedger adds what the ledger has.
func (s *Service) fromLedger(ctx context.Context, out *api.Status, asked question, how counting) error {
	if err := how.buckets(ctx, out); err != nil {
		return err
	}
	list, err := s.heard(ctx, asked)
	if err != nil {
		return err
	}
	for _, i := range list {
		out.Instances = append(out.Instances, s.instance(i, asked))
	}
	if out.Trips, err = s.trips(ctx); err != nil {
		return err
	}
	if out.EventTargets, err = s.EventTargets(ctx, api.None{}); err != nil {
		return err
	}
	depths, err := s.depths(ctx)
	if err != nil {
		return err
	}
	out.Deferred = depths.Deferred
	if f := depths.Uncopied; f.Count > 0 {
		out.FailingCopies = &api.FailingCopies{Count: f.Count, Error: f.Error, Next: toTime(f.NextTry)}
	}
	totals, err := s.o.Ledger.Totals(ctx)
	if err != nil {
		return err
	}
	for _, t := range totals {
		if t.Backend == ledger.InLedger {
			out.Inline = api.InlineTotal{Contents: t.Blobs, Bytes: t.Bytes}
		}
	}
	if out.Backends, err = s.backendRows(ctx, depths, totals, out.Backends); err != nil {
		return err
	}
	plan, err := how.plan(ctx, depths)
	if err != nil {
		return err
	}
	if out.LastDay, err = how.lastDay(ctx); err != nil {
		return err
	}
	return s.runs(ctx, plan, out.Routines)
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

// backendStatus returns the state of each backend, asked now.
func (s *Service) backendStatus(ctx context.Context, d ledger.Depths) ([]api.BackendStatus, error) {
	var known []api.BackendStatus
	for id, answer := range s.probeBackends(ctx) {
		known = append(known, s.backend(id, answer))
	}
	totals, err := s.o.Ledger.Totals(ctx)
	if err != nil {
		return nil, err
	}
	return s.backendRows(ctx, d, totals, known)
}

// backendRows adds the ledger's rows to what the process knows of each backend. One that it
// does not know is missing from its configuration.
func (s *Service) backendRows(ctx context.Context, d ledger.Depths, totals []ledger.Total, known []api.BackendStatus) ([]api.BackendStatus, error) {
	list, err := s.o.Ledger.Backends(ctx)
	if err != nil {
		return nil, err
	}
	var out []api.BackendStatus
	for _, b := range list {
		bs := api.BackendStatus{ID: b.ID, Missing: true}
		if at := slices.IndexFunc(known, func(k api.BackendStatus) bool { return k.ID == b.ID }); at >= 0 {
			bs = known[at]
		}
		bs.Quota, bs.Epoch, bs.Draining, bs.States = b.Quota, b.Epoch, b.Draining, statesOf(b.ID, totals)
		bs.Held, bs.HeldFor, bs.HeldSince = b.Held, string(b.HeldFor), toTime(b.HeldSince)
		bs.Suspect, bs.Lost = d.Suspects[b.ID].Count, d.Suspects[b.ID].Lost
		if f, failing := d.Failing[b.ID]; failing {
			bs.Failing = &api.FailingDeletes{Count: f.Count, Attempts: f.Attempts, Error: f.Error, Next: toTime(f.NextTry)}
		}
		if err := s.ages(ctx, b.ID, d.Clean[b.ID], bs.States); err != nil {
			return nil, err
		}
		if bs.Walk, bs.Compared, err = s.lastWalks(ctx, b.ID); err != nil {
			return nil, err
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

// runs adds to each routine what is due for it, and its recorded runs.
func (s *Service) runs(ctx context.Context, plan map[string]ledger.Backlog, routines []api.RoutineStatus) error {
	last, good, err := s.o.Ledger.LastRuns(ctx)
	now := s.o.Clock.Now()
	for i := range routines {
		r := &routines[i]
		r.Backlog, r.LastRun, r.LastGood = backlogOf(plan[r.Name], now), runOf(last, r.Name), runOf(good, r.Name)
	}
	return err
}

// runsRead bounds the runs of a routine that are added up.
const runsRead = 1000

// lastDay adds up the runs of the last 24 hours. If there are more than are kept, they are those
// since a later instant.
func (s *Service) lastDay(ctx context.Context) (*api.LastDay, error) {
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return nil, err
	}
	since := now.Add(-24 * time.Hour)
	sums := map[string]map[string]int64{}
	for _, routine := range []string{"expire", "purge", "clean"} {
		list, err := s.o.Ledger.RunsSince(ctx, routine, now.Add(-24*time.Hour), runsRead)
		if err != nil {
			return nil, err
		}
		if len(list) == runsRead {
			since = max(since, list[runsRead-1].StartedAt)
		}
		sum := map[string]int64{}
		for _, r := range list {
			for name, n := range r.Counts {
				sum[name] += n
			}
		}
		sums[routine] = sum
	}
	return &api.LastDay{
		Since: toTime(since), Objects: sums["expire"]["objects"], Trash: sums["purge"]["objects"],
		Blobs: sums["clean"]["gone"], Bytes: sums["clean"]["gone_bytes"],
	}, nil
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
		Outcome: api.Plain(r.Outcome), Counts: r.Counts,
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
