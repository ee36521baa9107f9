package app

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// makeRouter makes the router, which chooses backends for writes by room, strategy
// and health.
func (s *Store) makeRouter(ctx context.Context) error {
	o := placement.RouterOptions{
		Strategy: placement.Strategy(s.Config.Placement.Strategy), Ledger: s.Ledger, Health: s.health,
		Spacers: map[string]blob.Spacer{},
		Failed:  func(err error) { s.opt.Log.Debug("the fill of the backends could not be read", "error", err) },
	}
	o.Order = s.order()
	for _, b := range s.Config.Backends {
		if sp, ok := s.Backends[b.Name].(blob.Spacer); ok {
			o.Spacers[b.Name] = sp
		}
	}
	s.copyRate = throttle.PerSecond[int64](int(s.Config.Placement.Rate), int(s.Config.Placement.Rate))
	s.router = placement.NewRouter(o)
	return s.router.Refresh(ctx)
}

// order returns the backends in the order of the configuration.
func (s *Store) order() (names []string) {
	for _, b := range s.Config.Backends {
		names = append(names, b.Name)
	}
	return names
}

// placing returns the options of a routine of package placement.
func (s *Store) placing(c config.NamedRoutine) placement.Options {
	p := s.Config.Placement
	return placement.Options{
		Ledger: placement.Ledger{Queue: s.Ledger, Copies: s.Ledger, Backends: s.Ledger, Walk: s.Ledger, Inline: s.Ledger},
		Stores: s.Backends, Store: s.Identity.ID, Order: s.order(),
		Strategy: placement.Strategy(p.Strategy), Replicas: p.Replicas, Inline: s.Config.InlineUpTo(), Health: s.health,
		Threshold: p.Threshold, MaxMove: int64(p.MaxMove), Claim: c.Batch, Page: c.Batch, Lease: s.safety.ClaimGrace, Beat: s.safety.MinAge / 10, MinAge: s.safety.MinAge,
		Throttle: s.copyRate, Clock: lethe.Monotonic{}, NewID: func() lethe.ID { return lethe.RandomID(s.opt.Clock.Now()) },
		Events: s.watch.placing(),
	}
}
