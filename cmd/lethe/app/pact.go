package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// pactEvery is how often the epoch on each backend advances (design rule 13).
const pactEvery = time.Hour

// keepPact checks and advances the epoch of every backend, now and every hour,
// until ctx ends, and sweeps it. A backend that does not fit is held: the store
// goes on serving, and deletes nothing there.
func (s *Store) keepPact(ctx context.Context) {
	tick := time.NewTicker(pactEvery)
	defer tick.Stop()
	for {
		s.advancePact(ctx)
		s.sweepUnfinished(ctx, s.opt.Clock.Now().Add(-s.safety.MultipartStale))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// advance bounds how long one silent backend keeps the others waiting.
func (s *Store) advance(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*lookTime)
	defer cancel()
	return s.Guard.Advance(ctx, id)
}

// fits says whether deletes may go on on a backend.
func (s *Store) fits(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*lookTime)
	defer cancel()
	return s.Guard.Check(ctx, id)
}

func (s *Store) advancePact(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(s.Backends)) {
		err := s.advance(ctx, id)
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, lethe.ErrBackendMismatch):
			s.opt.Log.Warn("DELETES ARE STOPPED on this backend; the store goes on serving. "+
				"Look into it, then let them go on with: "+s.opt.Command("backend", "accept", id), "backend", id, "error", err)
		default:
			s.opt.Log.Error("the epoch of this backend could not be checked", "backend", id, "error", err)
		}
	}
}
