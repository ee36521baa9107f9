package adoptsim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// routine is what those of package adopt have in common.
type routine interface {
	Name() string
	Pass(worker string) func(ctx context.Context, add func(name string, n int64)) (more bool, err error)
}

// batch is how many rows or contents one transaction takes.
const batch = 3

// routines are those of a worker that has just started.
func (w *world) routines() []routine {
	t := tables{w, w.db}
	events := &adopt.Events{
		Drifted: func(_ string, contents []string) { w.oracle.drifts(contents) },
		Broken:  func(_ string, contents []string) { w.fail(fmt.Errorf("%v were referenced past the guard", contents)) },
		Lost: func(_ string, keys []string) {
			w.fail(fmt.Errorf("%v are referred to, and their copies are gone", keys))
		},
	}
	clean := &adopt.Clean{
		Collection: "pastes", Contents: t, Bucket: adopt.Within{Prefix: prefix, Store: w.objects()},
		Grace: w.grace, Batch: batch, Boot: w, Events: events,
	}
	if w.kind.direct {
		clean.Bucket = w.objects()
	}
	expire := &adopt.Expire{Collection: "pastes", Records: t, Holds: t, Copies: copies{w}, Grace: w.grace, Batch: batch, Events: events}
	if w.grace.Unreferenced == 0 {
		expire.Clean, expire.Ender = clean, t
	}
	all := []routine{
		expire, expire, clean, clean, clean,
		&adopt.Watchdog{Collection: "pastes", Records: t, Grace: w.grace, Batch: batch},
		&adopt.Recache{Collection: "pastes", Cached: t, Copies: copies{w}},
	}
	if w.cfg.Site == Taken {
		take := &adopt.Take{Collection: "pastes", Records: t, Holds: t, Grace: w.grace, Batch: batch, Events: events}
		recache := all[len(all)-1]
		all = []routine{take, take, clean, clean, clean, recache, recache}
	}
	if w.cfg.Site == Quarantined {
		q := w.quarantine(events)
		clean.Bucket, events.Broken = q, func(_ string, contents []string) { w.counts["broken"] += len(contents) }
		all = append(all, q, q)
	}
	return all
}

// work runs passes for ever.
func work(a *actor, routines []routine) {
	for {
		a.pass(routines[a.rng.IntN(len(routines))])
		if a.one(4) {
			a.sleep(a.between(time.Minute, 10*time.Minute))
		} else {
			a.sleep(a.between(0, 20*time.Second))
		}
	}
}

// tend runs one routine all the time.
func tend(a *actor, name string) {
	often := time.Minute
	if name != "quarantine pastes" {
		often = 5 * time.Second
	}
	routines := a.w.routines()
	only := routines[slices.IndexFunc(routines, func(r routine) bool { return r.Name() == name })]
	for {
		a.pass(only)
		a.sleep(a.between(0, often))
	}
}

// pass runs a routine until nothing is left to do, or it fails.
func (a *actor) pass(r routine) {
	if err := a.w.pass(r, a.name); err != nil {
		a.w.note("%s: a pass of %s failed", a.name, r.Name())
	}
}

func (w *world) pass(r routine, worker string) error {
	step := r.Pass(worker)
	began := w.now
	for {
		more, err := step(context.Background(), func(what string, n int64) {
			w.note("%s: %s of %s: %d", worker, what, r.Name(), n)
			w.counts[r.Name()+": "+what] += int(n)
		})
		if err != nil {
			return err
		}
		if !more {
			if _, ok := r.(*adopt.Recache); ok {
				w.fail(w.oracle.recached(began))
			}
			return nil
		}
	}
}
