package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// RuntimeInfo describes the process, its backends and its peers. Any of the
// functions may be nil.
type RuntimeInfo struct {
	// Roles are the roles of the process: serve, reclaim.
	Roles []string
	// Ledger is the ledger's kind ("sqlite", "postgres").
	Ledger string
	// Redis asks Redis whether it responds; nil if there is none.
	Redis func(context.Context) *api.RedisStatus
	// WrongValues counts wrong values of the cache; nil if there were none.
	WrongValues func() *api.WrongValues
	// Contradictions counts what the last checks of this process found wrong within the
	// ledger, by kind.
	Contradictions func() map[string]int64
	// SlowedBy returns why this process reclaims more slowly than it could,
	// empty if it does not. Rates describes those of all backends together.
	SlowedBy, Rates func() string
	// BackoffLevel returns this process's backoff level: 0 to 4.
	BackoffLevel func() int
	// Backend describes one backend.
	Backend func(id string) api.BackendFacts
}

const (
	// instancesShown is how long after its last heartbeat an instance is shown.
	instancesShown = 15 * time.Minute
	// silentAfter is how long heartbeats may be missing, of which there are six
	// a minute.
	silentAfter = time.Minute
)

// process returns what the process knows by itself. It asks backends and Redis, and not the
// ledger.
func (s *Service) process(ctx context.Context) api.Status {
	a := s.o.Runtime
	answers := s.probeBackends(ctx)
	out := api.Status{
		Version: s.o.Version, Now: toTime(s.o.Clock.Now()), Serving: s.o.Serving, StartedAt: toTime(s.started),
		Roles: a.Roles, LedgerKind: a.Ledger, Cache: s.cacheStats(),
		Ledger: api.LedgerStats(s.o.Ledger.Stats()), ClockBehind: s.o.Ledger.ClockBehind().Seconds(), ClockAhead: s.o.Ledger.ClockAhead().Seconds(),
	}
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		out.Backends = append(out.Backends, s.backend(id, answers[id]))
	}
	out.Routines = s.routines()
	if a.Redis != nil {
		out.Redis = a.Redis(ctx)
	}
	if r := out.Redis; r != nil {
		r.Since = toTime(s.outages.note("redis", !r.Up, s.o.Clock.Now()))
	}
	if a.WrongValues != nil {
		out.WrongValues, out.Contradictions = a.WrongValues(), a.Contradictions()
	}
	if a.SlowedBy != nil {
		out.SlowedBy, out.Rates, out.BackoffLevel = a.SlowedBy(), a.Rates(), a.BackoffLevel()
	}
	return out
}

// backend returns what the process knows of a backend after a probe.
func (s *Service) backend(id string, answer probe) api.BackendStatus {
	b := api.BackendStatus{ID: id, Free: answer.free}
	if s.o.Runtime.Backend != nil {
		b.BackendFacts = s.o.Runtime.Backend(id)
	}
	b.Missing = answer.err != nil
	switch {
	case answer.err == nil, b.Misplaced != "", b.Unreachable != "":
	case errors.Is(answer.err, blob.ErrMisplaced):
		b.Misplaced = answer.err.Error()
	default:
		b.Unreachable = answer.err.Error()
	}
	b.DownSince = toTime(s.outages.note("backend "+id, b.Misplaced != "" || b.Unreachable != "", s.o.Clock.Now()))
	return b
}

// routines returns what the process's loop knows of them.
func (s *Service) routines() (out []api.RoutineStatus) {
	states, now := s.o.Loop.States(), s.o.Clock.Now()
	for _, r := range s.o.Loop.Routines {
		st := states[r.Routine.Name()]
		rs := api.RoutineStatus{
			Name: r.Routine.Name(), Running: st.Running, LookedAt: toTime(st.LastRun), SucceededAt: toTime(st.LastGood),
			Error: st.LastErr, FailingSince: toTime(st.FailingSince), Counts: st.Counts, Interval: r.Interval(now).Seconds(),
		}
		if s.o.Serving {
			rs.NextRun = toTime(st.NextRun)
		}
		out = append(out, rs)
	}
	return out
}

func (s *Service) instance(i ledger.Instance, asked question) api.Instance {
	out := api.Instance{
		ID: i.ID, Host: i.Info.Host, PID: i.Info.PID, Version: i.Info.Version, Roles: i.Info.Roles, S3: i.Info.S3,
		Started: toTime(i.StartedAt), Seen: toTime(i.BeatAt), Silent: s.o.Clock.Now().Sub(i.BeatAt) > silentAfter,
		Settings: i.Info.Digests, Unanswered: !asked.answered(i),
	}
	if i.ID == s.o.Loop.Worker {
		return out // it is asked now
	}
	for _, f := range i.Info.Findings {
		out.Findings = append(out.Findings, api.StatusFinding{Severity: f.Severity, Kind: f.Kind, Subject: f.Subject, What: f.What, Since: toTime(f.Since), Next: f.Next})
	}
	return out
}
