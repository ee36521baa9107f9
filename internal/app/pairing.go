package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

// sweepEvery is how often unfinished uploads are looked for.
const sweepEvery = time.Hour

// keepPairing checks and advances the epoch of every backend, each beat until ctx
// ends, and sweeps it at intervals. A backend that does not match is held: the
// store keeps serving, and deletes nothing there.
func (s *Store) keepPairing(ctx context.Context) {
	tick, sweep := time.NewTicker(s.safety.Beat), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			s.sweeps(s.opt.Clock.Now().Add(-s.safety.MultipartStale))
		case <-tick.C:
		}
		s.heartbeat(ctx)
		s.sweepUnfinished(ctx)
	}
}

// heartbeat advances the epochs of all backends in parallel: a backend that does
// not answer does not delay the others.
func (s *Store) heartbeat(ctx context.Context) {
	var all sync.WaitGroup
	for _, id := range slices.Sorted(maps.Keys(s.Backends)) {
		all.Go(func() { s.tellPairing(ctx, id, s.within(ctx, id, s.Pairing.Heartbeat)) })
	}
	all.Wait()
}

// within bounds calls to a backend for its epoch, by half a beat, as Safety.DeleteTime does.
func (s *Store) within(ctx context.Context, id string, ask func(context.Context, string) error) error {
	ctx, cancel := context.WithTimeout(ctx, min(3*lookTime, s.safety.Beat/2))
	defer cancel()
	return ask(ctx, id)
}

// tellPairing logs a problem of a backend's epoch, once.
func (s *Store) tellPairing(ctx context.Context, id string, err error) {
	if ctx.Err() != nil {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if was, _ := s.pairingTold.Swap(id, text); was == text {
		return
	}
	switch {
	case err == nil:
	case errors.Is(err, lethe.ErrBackendMismatch):
		s.opt.Log.Warn("DELETES ARE STOPPED on this backend; the store keeps serving. "+
			"Find the cause, then resume them with: "+s.opt.Command("backend", "accept", id), "backend", id, "error", err)
	default:
		s.opt.Log.Error("the epoch of this backend could not be checked", "backend", id, "error", err)
	}
}

// quietly waits until no other ledger was seen for long enough.
func (s *Store) quietly(ctx context.Context, d time.Duration) error {
	s.opt.Log.Warn("before the first delete, this instance watches whether another ledger uses the backend (reclaim.grace.heartbeat)", "for", d.Round(time.Second))
	return lethe.Sleep(ctx, d)
}
