package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// keep is somebody who sets holds on what is about to go, and lifts them.
func keep(a *actor) {
	for {
		a.sleepUntil(func() bool { return a.w.claimed() != "" }, a.between(time.Minute, time.Hour))
		h := a.chosen()
		_, err := write(a.w, "add-hold", h.String(), func() (struct{}, error) {
			_, under, err := a.w.db.AddHold(context.Background(), h)
			a.w.counts["deletes under way of what is held"] += under.Objects
			return struct{}{}, err
		})
		if err != nil {
			continue
		}
		a.w.oracle.kept = append(a.w.oracle.kept, h)
		a.sleep(a.between(time.Second, 30*time.Minute))
		// From its end on nothing is promised any more.
		a.w.oracle.kept = slices.DeleteFunc(a.w.oracle.kept, func(have adopt.Hold) bool { return have == h })
		_, _ = write(a.w, "lift-hold", h.String(), func() (struct{}, error) {
			return struct{}{}, a.w.db.LiftHold(context.Background(), h)
		})
	}
}

// chosen draws what is to be held.
func (a *actor) chosen() adopt.Hold {
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

// release lifts what is held still.
func (w *world) release() {
	w.oracle.kept = nil
	for _, h := range w.db.Snapshot().Holds {
		if err := w.db.LiftHold(context.Background(), h); err != nil {
			w.fail(fmt.Errorf("lift a hold: %w", err))
		}
	}
}
