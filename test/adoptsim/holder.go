package adoptsim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// keeper is somebody who sets holds on what is about to go, and releases them.
type keeper struct {
	w      *world
	db     adopt.Holder
	clock  lethe.Clock // the database's
	going  func() bool // something is about to go
	choose func(a *actor) adopt.Hold

	kept adopt.Holds // holds that somebody was told of
	// until is when the last delete takes effect that was allowed before each, as it was
	// told.
	until map[adopt.Hold]lethe.Time
}

func newKeeper(w *world, db adopt.Holder, c lethe.Clock, going func() bool, choose func(*actor) adopt.Hold) *keeper {
	return &keeper{w: w, db: db, clock: c, going: going, choose: choose, until: map[adopt.Hold]lethe.Time{}}
}

func (k *keeper) keep(a *actor) {
	for {
		a.sleepUntil(k.going, a.between(time.Minute, time.Hour))
		h := k.choose(a)
		if a.one(3) {
			h.For = a.between(time.Second, 2*time.Hour)
		}
		h, err := k.add(h)
		if err != nil {
			continue
		}
		k.kept = append(k.kept, h)
		a.sleep(a.between(time.Second, 30*time.Minute))
		if a.one(4) {
			a.sleep(a.between(time.Hour, 6*time.Hour))
		}
		// From its end on nothing is promised any more.
		k.kept = slices.DeleteFunc(k.kept, func(have adopt.Hold) bool { return have == h })
		if h.Until != 0 && a.one(2) {
			continue // it ends by itself, or has ended
		}
		_, _ = write(k.w, "release-hold", h.String(), func() (struct{}, error) {
			return struct{}{}, k.db.ReleaseHold(context.Background(), h)
		})
	}
}

// add sets a hold, and notes what it was told of deletes under way.
func (k *keeper) add(h adopt.Hold) (adopt.Hold, error) {
	return write(k.w, "add-hold", h.String(), func() (adopt.Hold, error) {
		k.w.landNow("release-hold")
		h, under, err := k.db.AddHold(context.Background(), h)
		k.w.counts["deletes under way of what is held"] += under.Objects + under.Folders
		k.until[h] = k.w.now
		if under.Until != 0 {
			k.until[h] = k.w.now.Add(under.Until.Sub(k.clock.Now()))
		}
		return h, err
	})
}

// over reports whether a hold has ended by itself.
func (k *keeper) over(h adopt.Hold) bool { return h.Until != 0 && h.Until <= k.clock.Now() }

// holds are those that somebody was told of, and that are not over.
func (k *keeper) holds() (out adopt.Holds) {
	for _, h := range k.kept {
		if !k.over(h) {
			out = append(out, h)
		}
	}
	return out
}

// lost: what is held goes by deletes alone that were allowed before, and by when it was
// told that they take effect.
func (k *keeper) lost(key string) error {
	for _, h := range k.holds() {
		if (adopt.Holds{h}).Object(key) != nil && k.w.now > k.until[h] {
			return fmt.Errorf("%s went %s after deletes were to have taken effect, and %s", key, k.w.now.Sub(k.until[h]), h.Why())
		}
	}
	return nil
}

// release releases what is held still. Those that are over keep nothing.
func (k *keeper) release() {
	k.kept = nil
	list, err := k.db.Holds(context.Background())
	for _, h := range list {
		if err == nil && !k.over(h) {
			err = k.db.ReleaseHold(context.Background(), h)
		}
	}
	if err != nil {
		k.w.fail(fmt.Errorf("release a hold: %w", err))
	}
}

// chosen draws which rows and contents are to be held.
func chosen(a *actor) adopt.Hold {
	h := adopt.Hold{Scope: adopt.HoldRow, Key: a.paste()}
	if key := a.w.claimed(); key != "" && !a.one(4) {
		h.Key = key
	}
	switch a.rng.IntN(6) {
	case 0:
		return adopt.Hold{Scope: adopt.HoldCollection}
	case 1, 2:
		return adopt.Hold{Scope: adopt.HoldObject, Key: a.content().Object}
	case 3:
		return adopt.Hold{Scope: adopt.HoldPrefix, Key: prefix}
	}
	return h
}
