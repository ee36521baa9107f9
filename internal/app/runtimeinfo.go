package app

import (
	"cmp"
	"context"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
)

// runtimeInfo provides runtime info for operators: what the store works with.
func (s *Store) runtimeInfo() service.RuntimeInfo {
	kind := "sqlite"
	if s.shared() {
		kind = "postgres"
	}
	return service.RuntimeInfo{
		Roles: s.Config.Roles, Ledger: kind, Backend: s.facts,
		SlowedBy: s.slowedBy, Rates: func() string { return s.ratesOn("") },
		BackoffLevel: func() int { return int(s.watch.throttle.Slowed().Level) },
		Redis:        s.askRedis,
		WrongValues:  s.watch.wrong.seen, Contradictions: s.watch.checks.list,
	}
}

// askRedis asks Redis whether it responds; nil if there is none.
func (s *Store) askRedis(ctx context.Context) *api.RedisStatus {
	if s.redis == nil {
		return nil
	}
	if err := s.redis.Ping(ctx); err != nil {
		return &api.RedisStatus{Error: err.Error()}
	}
	return &api.RedisStatus{Up: true}
}

// facts returns what this process knows of a backend.
func (s *Store) facts(id string) api.BackendFacts {
	var f api.BackendFacts
	for _, b := range s.Config.Backends {
		switch {
		case b.Name != id:
		case b.Kind == "s3":
			f.Kind, f.Place = b.Kind, cmp.Or(b.S3.Endpoint, "AWS")+"/"+b.S3.Bucket+"/"+b.S3.Prefix
		default:
			f.Kind, f.Place = b.Kind, s.Config.InDataDir(b.Path)
		}
	}
	f.SlowedBy, f.Rates = s.slowOn(id), s.ratesOn(id)
	f.DeletesPerSecond = s.watch.throttle.Rate(id).Deletes
	f.BackoffLevel, f.Limited = int(s.watch.throttle.LoadLevel(id)), s.watch.throttle.Limited(id)
	if st := s.buckets[id]; st != nil {
		c := st.Capabilities()
		f.S3 = &api.S3Facts{
			Probed: c.ProbedAt != 0, BatchDelete: c.BatchDelete, ConditionalWrites: c.ConditionalPut, Multipart: c.Multipart,
			Versions: string(c.Versions), ObjectLock: string(c.ObjectLock), Lifecycle: string(c.Lifecycle),
			NoWrites: c.NoPut, NoDeletes: c.NoDelete, Batch: c.Batch, Concurrency: c.Concurrency, Error: c.LastError,
		}
	}
	if g := s.mountGuards[id]; g != nil {
		f.Misplaced = g.Misplaced()
		if why, unread := strings.CutPrefix(f.Misplaced, notLookedAt+": "); unread {
			f.Misplaced, f.Unreachable = "", why // that is an outage: there is nothing to accept
		}
	}
	if b := s.breakers[id]; b != nil {
		st := b.State()
		f.Breaker = &api.BreakerFacts{Open: st.Open, Outages: st.Outages, Openings: st.Openings, Error: st.LastErr}
		if st.Open {
			f.Breaker.Since = s.opt.Clock.Now().Add(st.Since.Sub(lethe.Monotonic{}.Now())).Time()
		}
		f.NoWrites = b.Unfit()
		if err := s.health(id); err != nil {
			f.Unwritable = err.Error()
		}
	}
	return f
}
