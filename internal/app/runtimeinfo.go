package app

import (
	"cmp"

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
		Roles: s.Config.Roles, Ledger: kind, Latency: s.ledgerHealth.latency, Backend: s.facts,
		SlowedBy: s.slowedBy, Rates: func() string { return s.ratesOn("") },
		BackoffLevel: func() int { return int(s.watch.throttle.Slowed().Level) },
		Redis:        func() (configured, up bool) { return s.redis != nil, s.redis != nil && s.redis.Up() },
	}
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
	}
	if b := s.breakers[id]; b != nil {
		st := b.State()
		f.Breaker = &api.BreakerFacts{Open: st.Open, Outages: st.Outages, Openings: st.Openings, Error: st.LastErr}
		if err := s.health(id); err != nil {
			f.Unwritable = err.Error()
		}
	}
	return f
}
