package adoption

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/reclaim"
)

// suspensions are the collections that this process does not work on.
type suspensions struct {
	mu       sync.Mutex
	routines map[string][]reclaim.Scheduled // removed from the loop, by collection
	resumed  []*reclaim.Loop                // of collections whose problem is fixed
}

// has reports whether a collection is suspended.
func (s *suspensions) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, suspended := s.routines[name]
	return suspended
}

// names returns the suspended collections.
func (s *suspensions) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.routines))
}

// succeeded passes the time of the last success of each routine, from the
// process's start on.
func (a *Adoption) succeeded(tell func(routine string, at lethe.Time)) {
	a.suspended.mu.Lock()
	defer a.suspended.mu.Unlock()
	for _, loop := range append([]*reclaim.Loop{a.Loop}, a.suspended.resumed...) {
		states := loop.States()
		for _, r := range loop.Routines {
			tell(r.Routine.Name(), max(states[r.Routine.Name()].LastGood, a.since))
		}
	}
}

// suspend removes the routines of a collection from the loop. Objects
// in quarantine are still restored: their absence may be the problem.
func (a *Adoption) suspend(name string) {
	keep := ""
	if q := a.quarantines[name]; q != nil {
		q.RestoresOnly.Store(true)
		keep = q.Name()
	}
	out := func(s reclaim.Scheduled) bool {
		return s.Routine.(collected).collection == name && s.Routine.Name() != keep
	}
	a.suspended.mu.Lock()
	defer a.suspended.mu.Unlock()
	if a.suspended.routines == nil {
		a.suspended.routines = map[string][]reclaim.Scheduled{}
	}
	for _, s := range a.Loop.Routines {
		if out(s) {
			a.suspended.routines[name] = append(a.suspended.routines[name], s)
		}
	}
	a.Loop.Routines = slices.DeleteFunc(a.Loop.Routines, out)
}

// ErrReopen reports that the tables of a collection changed since the database was opened,
// that one can be used that could not then, or that its bucket is not paired any more.
var ErrReopen = errors.New("the database or a bucket has changed: open them again")

// RunOn calls run, which opens a description and runs it, and calls it again after ErrReopen. From
// then on an error of it is logged, and it is called again after the interval of rechecks,
// until ctx ends: a migration may not be over, or the database restart.
func RunOn(ctx context.Context, o Options, run func() error) error {
	o = o.filled()
	err := run()
	if !errors.Is(err, ErrReopen) {
		return err
	}
	for err != nil {
		if !errors.Is(err, ErrReopen) {
			o.Log.Error("the description cannot be run now: trying again", "after", o.Recheck.String(), "error", err)
			if lethe.Sleep(ctx, o.Recheck) != nil {
				return nil
			}
		}
		err = run()
	}
	return nil
}

// awaitChange reports whether a run found that tables changed, before ctx ends. It lets the
// interval of rechecks pass first: other collections work on, and tables may change each minute.
func (a *Adoption) awaitChange(ctx context.Context) bool {
	select {
	case <-a.changed:
		a.o.Log.Info("the tables of a collection have changed, or its bucket is not paired any more: starting anew soon", "after", a.o.Recheck.String())
		return lethe.Sleep(ctx, a.o.Recheck) == nil
	case <-ctx.Done():
		return false
	}
}

// awaitFit checks unusable collections periodically, and reports whether one
// fits the database before ctx ends.
func (a *Adoption) awaitFit(ctx context.Context) bool {
	for len(a.Unusable) > 0 && lethe.Sleep(ctx, a.o.Recheck) == nil {
		for name := range a.Unusable {
			if a.fits(ctx, name) {
				a.o.Log.Info("a collection can be used now: starting anew", "collection", name)
				return true
			}
		}
	}
	return false
}

// fits reports whether a collection can be used.
func (a *Adoption) fits(ctx context.Context, name string) bool {
	probe := Adoption{DB: a.DB, collections: map[string]*sqladopt.Collection{}, folders: map[string]*sqladopt.Folders{}, keys: map[string]*sqladopt.Keys{}}
	return probe.open(ctx, name, a.whole.Collections[name]) == nil
}

// Idle returns the collections that are to reclaim and that this process does
// not work on.
func (a *Adoption) Idle() []string {
	idle := a.suspended.names()
	for name := range a.Unusable {
		if a.whole.Collections[name].Mode == adopt.Reclaim {
			idle = append(idle, name)
		}
	}
	slices.Sort(idle)
	return idle
}

// resume checks suspended collections periodically until ctx ends, and runs the
// routines of those without a problem.
func (a *Adoption) resume(ctx context.Context, running *sync.WaitGroup) {
	for len(a.suspended.names()) > 0 && lethe.Sleep(ctx, a.o.Recheck) == nil {
		mended, err := a.mended(ctx)
		if err != nil {
			a.o.Log.Warn("collections that have a problem could not be checked again", "error", err)
			continue
		}
		for _, name := range mended {
			if err := a.DB.Suspend(ctx, name, ""); err != nil {
				a.o.Log.Warn("a collection could not be taken up again", "collection", name, "error", err)
				continue
			}
			loop := a.takeUp(name)
			a.o.Log.Info("the check finds no problem any more: reclaiming", "collection", name)
			running.Go(func() { loop.Run(ctx) })
		}
	}
}

// mended returns the suspended collections whose check finds no problem. Others count as
// worked on only while they are checked, and not at all beside another description: two would
// suspend each other for ever.
func (a *Adoption) mended(ctx context.Context) (names []string, err error) {
	for _, name := range a.suspended.names() {
		others, err := a.checkOthers(ctx, name)
		if err != nil {
			return nil, err
		}
		if !adopt.Problems(others) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	alone := func(name string) bool { return slices.Contains(names, name) }
	if err := a.beginWork(ctx, alone); err != nil {
		return nil, err
	}
	found, err := a.check(ctx, alone)
	if err != nil {
		a.endWork(ctx, names)
		return nil, err
	}
	wrong := func(name string) bool { return adopt.Problems(found[name]) }
	a.endWork(ctx, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !wrong(name) }))
	return slices.DeleteFunc(names, wrong), nil
}

// takeUp returns a loop of the routines of a suspended collection.
func (a *Adoption) takeUp(name string) *reclaim.Loop {
	if q := a.quarantines[name]; q != nil {
		q.RestoresOnly.Store(false)
	}
	a.suspended.mu.Lock()
	defer a.suspended.mu.Unlock()
	loop := a.Loop.With(a.suspended.routines[name]...)
	delete(a.suspended.routines, name)
	a.suspended.resumed = append(a.suspended.resumed, loop)
	return loop
}
