package app

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
)

// makeRouter decides by room, strategy and health which backend takes a write.
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
	s.router = placement.NewRouter(o)
	return s.router.Refresh(ctx)
}

// order names the backends in the order of the configuration.
func (s *Store) order() (names []string) {
	for _, b := range s.Config.Backends {
		names = append(names, b.Name)
	}
	return names
}

// placer makes a routine of package placement.
func (s *Store) placer(c config.NamedRoutine) reclaim.Routine {
	p := s.Config.Placement
	o := placement.Options{
		Ledger: s.Ledger, Stores: s.Backends, Store: s.Identity.ID, Order: s.order(),
		Strategy: placement.Strategy(p.Strategy), Replicas: p.Replicas, Health: s.health,
		Threshold: p.Threshold, MaxMove: int64(p.MaxMove), Limit: c.Batch, Lease: s.safety.ClaimGrace, Beat: s.safety.MinAge / 10, MinAge: s.safety.MinAge,
		Throttle: s.throttle(), Clock: lethe.Monotonic{}, NewID: func() lethe.ID { return lethe.RandomID(s.opt.Clock.Now()) },
		Events: s.watch.placing(),
	}
	switch c.Name {
	case "replicate":
		return reclaim.Borrow(placement.NewReplicate(o))
	case "drain":
		return reclaim.Borrow(placement.NewDrain(o))
	case "rebalance":
		return reclaim.Borrow(placement.NewRebalance(o))
	}
	return reclaim.Borrow(placement.NewSurvey(o))
}

// throttle bounds the bytes that are copied per second; nil: it does not.
func (s *Store) throttle() func(context.Context, int64) error {
	perSecond := int(s.Config.Placement.Rate)
	if perSecond == 0 {
		return nil
	}
	if s.copying == nil {
		s.copying = rate.NewLimiter(rate.Limit(perSecond), perSecond)
	}
	limit := s.copying
	return func(ctx context.Context, bytes int64) error {
		for bytes > 0 {
			n := min(bytes, int64(limit.Burst()))
			if err := limit.WaitN(ctx, int(n)); err != nil {
				return err
			}
			bytes -= n
		}
		return nil
	}
}
