package service

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// RuntimeInfo describes the process, its backends and its peers. Any of the
// functions may be nil.
type RuntimeInfo struct {
	// Roles are the roles of the process: serve, reclaim.
	Roles []string
	// Ledger is the ledger's kind ("sqlite", "postgres").
	Ledger string
	// Latency returns how long the ledger took to respond.
	Latency func() time.Duration
	// Redis reports whether it is configured, and whether it responds.
	Redis func() (configured, up bool)
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

// addRuntimeInfo adds it to a status.
func (s *Service) addRuntimeInfo(ctx context.Context, out *api.Status) error {
	a := s.o.Runtime
	out.Roles, out.LedgerKind = a.Roles, a.Ledger
	if a.Latency != nil {
		out.LedgerLatency = a.Latency().Seconds()
	}
	if a.SlowedBy != nil {
		out.SlowedBy, out.Rates = a.SlowedBy(), a.Rates()
	}
	if a.BackoffLevel != nil {
		out.BackoffLevel = a.BackoffLevel()
	}
	if a.Redis != nil {
		if on, up := a.Redis(); on {
			out.Redis = &api.RedisStatus{Up: up}
		}
	}
	list, err := s.o.Ledger.Instances(ctx, instancesShown)
	for _, i := range list {
		out.Instances = append(out.Instances, s.instance(i))
	}
	return err
}

func (s *Service) instance(i ledger.Instance) api.Instance {
	return api.Instance{
		ID: i.ID, Host: i.Info.Host, PID: i.Info.PID, Version: i.Info.Version, Roles: i.Info.Roles, S3: i.Info.S3,
		Started: toTime(i.StartedAt), Seen: toTime(i.BeatAt), Silent: s.o.Clock.Now().Sub(i.BeatAt) > silentAfter,
	}
}
