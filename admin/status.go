package admin

import (
	"context"
	"errors"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
)

// None is the request of calls without arguments.
type None struct{}

// Status is a summary of the store. Sizes are in bytes, ages in seconds.
type Status struct {
	Version   string          `json:"version"`
	Store     string          `json:"store"`
	Database  string          `json:"database"`
	CreatedAt time.Time       `json:"created_at"`
	Now       time.Time       `json:"now"`
	Serving   bool            `json:"serving"`
	StartedAt time.Time       `json:"started_at"`
	Buckets   int             `json:"buckets"`
	Objects   int64           `json:"objects"`
	Bytes     int64           `json:"bytes"` // logical: what clients stored
	Backends  []BackendStatus `json:"backends"`
	Routines  []RoutineStatus `json:"routines"`
	Cache     *cache.Stats    `json:"cache,omitempty"`
	Ledger    LedgerStats     `json:"ledger"`
	// Roles are those of the responding process.
	Roles []string `json:"roles,omitempty"`
	// LedgerKind is the ledger's kind, LedgerLatency how long it took to
	// respond.
	LedgerKind    string       `json:"ledger_kind,omitempty"`
	LedgerLatency float64      `json:"ledger_latency_seconds,omitempty"`
	Redis         *RedisStatus `json:"redis,omitempty"`     // nil: none
	Instances     []Instance   `json:"instances,omitempty"` // of a shared ledger
	// SlowedBy is why the responding process reclaims more slowly than it
	// could, and Limits describes what all instances together may delete.
	SlowedBy string `json:"slowed_by,omitempty"`
	Limits   string `json:"limits,omitempty"`
	// BackoffLevel is 0 at full speed and 4 at the slowest.
	BackoffLevel int `json:"backoff_level,omitempty"`
	// ClockBehind is how far the machine's clock is behind the ledger's.
	ClockBehind float64 `json:"clock_behind_seconds,omitempty"`
	// ClockAhead is by how much the ledger's clock was set forward while the process ran.
	ClockAhead float64 `json:"clock_ahead_seconds,omitempty"`
	// Holds is how many holds are set. Stops are the deletion limits that
	// tripped and the clocks in doubt.
	Holds int64       `json:"holds,omitempty"`
	Stops []GuardInfo `json:"stops,omitempty"`
}

// LedgerStats counts what the ledger has written since it was opened.
type LedgerStats struct {
	Members int64 // writes
	Groups  int64 // transactions, each of one or more writes
	Commits int64 // COMMITs, each with a flush of the disk if it changed anything
	// Full is set while the ledger's disk lacks space: writes that need space are refused,
	// others are not.
	Full bool
}

// BackendStatus is the state of a backend.
type BackendStatus struct {
	ID      string `json:"id"`
	Quota   int64  `json:"quota,omitempty"`
	Free    *int64 `json:"free,omitempty"` // of the disk
	Held    string `json:"held,omitempty"` // why deletes are stopped
	Missing bool   `json:"missing,omitempty"`
	// Draining reports that it is being emptied, and takes no writes.
	Draining bool `json:"draining,omitempty"`
	BackendFacts
	// Misplaced is why what is found in the backend's place is not used.
	Misplaced string       `json:"misplaced,omitempty"`
	Epoch     int64        `json:"epoch"`
	States    []StateTotal `json:"states"`
	// Walk is the last comparison with the ledger, running and interrupted ones
	// included. Compared is the last one that compared everything. Either is
	// nil if there was none.
	Walk     *Walk `json:"last_reconcile,omitempty"`
	Compared *Walk `json:"last_compared,omitempty"`
}

// StateTotal is the exact number and bytes of blobs in a state.
type StateTotal struct {
	State string `json:"state"`
	Blobs int64  `json:"blobs"`
	Bytes int64  `json:"bytes"`
	// Age is how long the oldest condemned blob has been due, or the oldest
	// dead letter dead, in seconds.
	Age float64 `json:"oldest_age_seconds,omitempty"`
}

// RoutineStatus is a routine's backlog, last run and next run.
type RoutineStatus struct {
	Name     string  `json:"name"`
	Backlog  Backlog `json:"backlog"`
	Running  bool    `json:"running"`
	LastRun  *Run    `json:"last_run,omitempty"`
	LastGood *Run    `json:"last_good_run,omitempty"`
	// LookedAt is when it last looked for work, NextRun when it will next. Both
	// are known only of a serving process.
	LookedAt time.Time `json:"looked_at,omitzero"`
	NextRun  time.Time `json:"next_run,omitzero"`
	// SucceededAt is when a look last ended without an error, or was skipped
	// because another instance had done it.
	SucceededAt time.Time        `json:"succeeded_at,omitzero"`
	Error       string           `json:"error,omitempty"` // of the last look
	Counts      map[string]int64 `json:"counts,omitempty"`
}

// Backlog is what is due now, and what will be.
type Backlog struct {
	Due       int64     `json:"due"`
	Bytes     int64     `json:"bytes"`
	Oldest    time.Time `json:"oldest,omitzero"`
	Age       float64   `json:"age_seconds"` // of the oldest that is due
	Scheduled int64     `json:"scheduled"`   // not due yet
	NextDue   time.Time `json:"next_due,omitzero"`
	// Held are incomplete uploads that would be due but for holds.
	Held      int64 `json:"held,omitempty"`
	HeldBytes int64 `json:"held_bytes,omitempty"`
}

// Run is a recorded run that did something or failed.
type Run struct {
	ID       string           `json:"id"`
	Worker   string           `json:"worker"`
	Started  time.Time        `json:"started_at"`
	Beat     time.Time        `json:"beat_at"`
	Finished time.Time        `json:"finished_at,omitzero"`
	Outcome  string           `json:"outcome,omitempty"`
	Counts   map[string]int64 `json:"counts,omitempty"`
}

// Status returns a summary of the store.
func (s *Service) Status(ctx context.Context, _ None) (Status, error) {
	id, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return Status{}, err
	}
	out := Status{
		Version: s.o.Version, Store: string(id.ID), Database: string(id.DB), CreatedAt: toTime(id.CreatedAt),
		Now: toTime(s.o.Clock.Now()), Serving: s.o.Serving, StartedAt: toTime(s.started),
		Ledger: LedgerStats(s.o.Ledger.Stats()), ClockBehind: s.o.Ledger.ClockBehind().Seconds(), ClockAhead: s.o.Ledger.ClockAhead().Seconds(),
	}
	out.Cache = s.cacheStats()
	if err = s.sumBuckets(ctx, &out); err == nil {
		err = s.surround(ctx, &out)
	}
	if err == nil {
		out.Stops, err = s.stops(ctx)
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
func (s *Service) sumBuckets(ctx context.Context, out *Status) error {
	return s.eachBucket(ctx, func(b ledger.Bucket) error {
		out.Buckets++
		out.Objects += b.Objects
		out.Bytes += b.Bytes
		out.Holds += b.Holds
		return nil
	})
}

func (s *Service) backendStatus(ctx context.Context, d ledger.Depths) ([]BackendStatus, error) {
	list, err := s.o.Ledger.Backends(ctx)
	if err != nil {
		return nil, err
	}
	totals, err := s.o.Ledger.Totals(ctx)
	if err != nil {
		return nil, err
	}
	var out []BackendStatus
	for _, b := range list {
		bs := BackendStatus{ID: b.ID, Quota: b.Quota, Held: b.Held, Epoch: b.Epoch, Draining: b.Draining, States: statesOf(b.ID, totals)}
		if s.o.Around.Backend != nil {
			bs.BackendFacts = s.o.Around.Backend(b.ID)
		}
		if err := s.ages(ctx, b.ID, d.Clean[b.ID], bs.States); err != nil {
			return nil, err
		}
		if bs.Walk, bs.Compared, err = s.lastWalks(ctx, b.ID); err != nil {
			return nil, err
		}
		bs.Missing = s.o.Backends[b.ID] == nil
		if g, ok := s.o.Backends[b.ID].(interface{ Misplaced() string }); ok {
			bs.Misplaced = g.Misplaced()
		}
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
func statesOf(backend string, totals []ledger.Total) []StateTotal {
	var out []StateTotal
	for _, state := range lethe.States {
		st := StateTotal{State: state.String()}
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
func (s *Service) ages(ctx context.Context, backend string, queue ledger.Backlog, states []StateTotal) error {
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

func (s *Service) routineStatus(ctx context.Context, plan map[string]ledger.Backlog) ([]RoutineStatus, error) {
	last, good, err := s.o.Ledger.LastRuns(ctx)
	if err != nil {
		return nil, err
	}
	states := s.o.Loop.States()
	now := s.o.Clock.Now()
	var out []RoutineStatus
	for _, r := range s.o.Loop.Routines {
		name := r.Routine.Name()
		st := states[name]
		rs := RoutineStatus{
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

func backlogOf(b ledger.Backlog, now lethe.Time) Backlog {
	out := Backlog{Due: b.Count, Bytes: b.Bytes, Oldest: toTime(b.Oldest), Scheduled: b.Scheduled, NextDue: toTime(b.NextDue), Held: b.Held, HeldBytes: b.HeldBytes}
	if b.Oldest != 0 {
		out.Age = max(now.Sub(b.Oldest), 0).Seconds()
	}
	return out
}

func runOf(runs map[string]ledger.Run, name string) *Run {
	r, ok := runs[name]
	if !ok {
		return nil
	}
	return &Run{
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
