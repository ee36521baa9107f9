package app

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// lookTime is how long a look at a backend may take: one that is silent must not
// keep the others waiting.
const lookTime = 5 * time.Second

// placesEvery is how often it is looked whether backends are in their places.
const placesEvery = 2 * time.Second

// notLookedAt begins the reason of a gate that was shut before the backend answered.
const notLookedAt = "it could not be read yet"

// place shuts or opens the gate of a backend.
func (s *Store) place(id, why string) {
	switch g := s.gates[id]; {
	case why == "" && g.Open():
		s.opt.Log.Info("the backend is in its place again and is used", "backend", id)
	case why != "" && g.Shut(why):
		text := "THE BACKEND IS NOT IN ITS PLACE: nothing is read or written there. " +
			"Mount its disk to continue; if its bytes are lost for good: " + s.opt.Command("backend", "accept", id)
		if strings.HasPrefix(why, notLookedAt) {
			text = "the backend does not answer yet: nothing is read or written there until it does"
		}
		s.opt.Log.Error(text, "backend", id, "error", why)
	}
}

// lookAtPlaces shuts the gates of the backends that the ledger knows and that do
// not lie where they should, before anything is asked of them. One that does not
// answer is not used before it did.
func (s *Store) lookAtPlaces(ctx context.Context) error {
	list, err := s.Ledger.Backends(ctx)
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.Epoch == 0 || s.gates[b.ID] == nil {
			continue
		}
		if err := s.look(ctx, b.ID); err != nil && !errors.Is(err, lethe.ErrBackendMismatch) {
			s.place(b.ID, notLookedAt+": "+err.Error())
		}
	}
	return nil
}

// look asks the guard about one backend, for no longer than a start may wait.
func (s *Store) look(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return s.Guard.Check(ctx, id)
}

// watchPlaces follows disks that are mounted and unmounted until ctx ends.
func (s *Store) watchPlaces(ctx context.Context) {
	tick := time.NewTicker(placesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, id := range slices.Sorted(maps.Keys(s.gates)) {
				s.lookAtPlace(ctx, id)
			}
		}
	}
}

// lookAtPlace turns to what lies in a backend's place now, behind a shut gate,
// and lets the guard open it if that is the backend.
func (s *Store) lookAtPlace(ctx context.Context, id string) {
	if p, ok := s.raw[id].(blob.Placed); ok {
		if err := p.InPlace(); err != nil {
			s.place(id, err.Error())
			if p.Reopen() != nil {
				return // nothing lies there; the gate says why
			}
		}
	}
	if s.gates[id].Misplaced() != "" {
		// What does not fit is held and told by the guard; the rest is asked again.
		_ = s.look(ctx, id)
	}
}
