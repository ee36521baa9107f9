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

// lookTime bounds a look at a backend: one that does not answer must not delay the
// others.
const lookTime = 5 * time.Second

// placesEvery is how often the places of backends are checked.
const placesEvery = 2 * time.Second

// notLookedAt begins the reason of a mount guard that was shut before the backend
// answered.
const notLookedAt = "it could not be read yet"

// place shuts or opens the mount guard of a backend.
func (s *Store) place(id, why string) {
	switch g := s.mountGuards[id]; {
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

// lookAtPlaces shuts the mount guards of the known backends that do not lie in
// their place, before they are used. A backend that does not answer is not used
// until it does.
func (s *Store) lookAtPlaces(ctx context.Context) error {
	list, err := s.Ledger.Backends(ctx)
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.Epoch == 0 || s.mountGuards[b.ID] == nil {
			continue
		}
		if err := s.look(ctx, b.ID); err != nil && !errors.Is(err, lethe.ErrBackendMismatch) {
			s.place(b.ID, notLookedAt+": "+err.Error())
		}
	}
	return nil
}

// look checks one backend, bounded by lookTime.
func (s *Store) look(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return s.Pairing.Check(ctx, id)
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
			for _, id := range slices.Sorted(maps.Keys(s.mountGuards)) {
				s.lookAtPlace(ctx, id)
			}
		}
	}
}

// lookAtPlace reopens what lies in a backend's place now, behind a shut mount
// guard, and opens that if it is the backend.
func (s *Store) lookAtPlace(ctx context.Context, id string) {
	if p, ok := s.raw[id].(blob.Placed); ok {
		if err := p.InPlace(); err != nil {
			s.place(id, strings.TrimPrefix(err.Error(), blob.ErrDown.Error()+": "+blob.ErrMisplaced.Error()+": "))
			if p.Reopen() != nil {
				return // nothing lies there; the mount guard has the reason
			}
		}
	}
	if s.mountGuards[id].Misplaced() != "" {
		// The pairing holds and reports a mismatch; other errors are retried.
		_ = s.look(ctx, id)
	}
}
