package adoption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

// Backlog is what waits in one collection.
type Backlog struct {
	Collection string
	Kind       adopt.Kind
	Mode       adopt.Mode
	Rows       adopt.Backlog // that have expired
	Contents   adopt.Backlog // whose objects are to be deleted
	InGrace    adopt.Backlog // whose objects are not due yet; Oldest is when the first is
	Folders    adopt.Backlog // that are marked, and whose retention is over
	Orphans    adopt.Backlog // recorded objects that no row names
	// Quarantined are moved objects that are not purged yet.
	Quarantined adopt.Backlog
	Holds       adopt.Holds // in force
	Wrong       adopt.Troubles
	Paired      adopt.Paired // the record of the epochs beside its objects
	// Nearing is what waits to be deleted for good. Soon is within a day
	// (within half the retention, if that is shorter).
	Nearing sqladopt.Nearing
	// Suspended is why the instance that checked it last does not work on it.
	Suspended sqladopt.Suspension
	// Problem is why a collection cannot be used, and its backlog is unknown.
	Problem string
}

// standing is the database's record of all collections.
type standing struct {
	installed bool // Lethe's tables exist
	holds     adopt.Holds
	suspended map[string]sqladopt.Suspension
	compared  map[string]ledger.Run // the last successful runs, by routine; only of keys
}

func (a *Adoption) standing(ctx context.Context) (s standing, err error) {
	if s.installed, err = a.DB.Installed(ctx); err != nil {
		return s, err
	}
	if s.holds, err = a.DB.Holds(ctx); err != nil || !s.installed {
		return s, err
	}
	if s.suspended, err = a.DB.Suspensions(ctx); err != nil || len(a.keys) == 0 {
		return s, err
	}
	_, s.compared, err = a.DB.LastRuns(ctx)
	return s, err
}

// Backlogs returns what waits in each collection, by its name.
func (a *Adoption) Backlogs(ctx context.Context) (out []Backlog, err error) {
	s, err := a.standing(ctx)
	if err != nil {
		return nil, err
	}
	for name, err := range a.Unusable {
		out = append(out, Backlog{Collection: name, Mode: cmp.Or(a.whole.Collections[name].Mode, adopt.Report), Problem: err.Error()})
	}
	for _, name := range a.Description.Names() {
		c := a.Description.Collections[name]
		b := Backlog{Collection: name, Kind: c.Kind, Mode: cmp.Or(c.Mode, adopt.Report), Holds: s.holds.Of(name), Suspended: s.suspended[name]}
		if err := a.backlog(ctx, &b, s); err != nil {
			if _, down := a.DB.Now(ctx); down != nil {
				return nil, err
			}
			b.Problem = sqladopt.Reason(err).Error()
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(x, y Backlog) int { return strings.Compare(x.Collection, y.Collection) })
	return out, nil
}

// backlog reads the backlog of a collection.
func (a *Adoption) backlog(ctx context.Context, b *Backlog, s standing) error {
	k, err := a.kindOf(b.Collection)
	if err != nil {
		return err
	}
	if s.installed {
		if b.Quarantined, err = a.quarantined(ctx, b.Collection); err != nil {
			return err
		}
		if b.Nearing, err = a.nearing(ctx, b.Collection); err != nil {
			return err
		}
	}
	if a.Description.Collections[b.Collection].Bucket != "" {
		if b.Paired, err = a.DB.Paired(ctx, a.placeOf(b.Collection)); err != nil {
			return err
		}
	}
	if b.Wrong, err = a.troubles(ctx, b.Collection, s.compared["keys "+b.Collection].Counts); err != nil {
		return err
	}
	return k.backlog(ctx, s.installed, b)
}

// Prepare creates Lethe's tables and checks the collections. Those with a
// problem only report; Run resumes them once it is fixed. It fails if no
// collection can be used.
func (a *Adoption) Prepare(ctx context.Context) error {
	if len(a.Description.Collections) == 0 {
		return errors.Join(slices.Collect(maps.Values(a.Unusable))...)
	}
	if err := errors.Join(a.openAudit(), a.DB.Install(ctx)); err != nil {
		return err
	}
	for _, c := range a.collections {
		if err := c.Locate(ctx); err != nil {
			return err
		}
	}
	if err := a.beginWork(ctx, a.reclaims); err != nil {
		return err
	}
	found, err := a.check(ctx, all)
	if err != nil {
		a.endWork(ctx, a.Description.Names())
		return err
	}
	for name, err := range a.Unusable {
		a.o.Log.Error("collection cannot be used; the others work on", "collection", name, "error", err)
	}
	for _, name := range a.Description.Names() {
		var why []string
		for _, f := range found[name] {
			if f.Problem && a.reclaims(name) {
				why = append(why, f.What)
				a.o.Log.Error("collection only reports, as its check found a problem", "collection", name, "problem", f.What, "do", f.Do)
				a.audit("collection_refused", f.What, slog.String("collection", name))
			}
		}
		if len(why) > 0 {
			a.suspend(name)
			a.endWork(ctx, []string{name})
		}
		if err := a.DB.Suspend(ctx, name, strings.Join(why, "; ")); err != nil {
			a.endWork(ctx, a.Description.Names())
			return err
		}
	}
	return nil
}

// Remove removes Lethe's tables and triggers from the database, after it made
// claimed rows live again. Unless forced, it fails if it would forget keys of
// objects that are yet to be deleted, leave rows in progress, or if objects may belong to
// another database: then it leaves their bucket alone.
func (a *Adoption) Remove(ctx context.Context, forget bool) error {
	if !forget {
		for _, err := range a.Unusable {
			return fmt.Errorf("%w: correct that first, or leave behind with --forget what lethe has begun with it: objects stay in the bucket, and rows in progress stay so", err)
		}
	}
	unpaired, err := a.Unpaired(ctx, nil)
	if err == nil && !forget {
		err = theirs(unpaired)
	}
	if err != nil {
		return err
	}
	if err := a.nothingMoved(ctx, unpaired); err != nil {
		return err
	}
	if !forget {
		if err := a.nothingLeft(ctx); err != nil {
			return err
		}
	}
	holds, err := a.DB.Holds(ctx)
	if err != nil {
		return err
	}
	if len(holds) > 0 {
		return fmt.Errorf("%w: %s: release it first: \"lethe adopt hold rm\"", lethe.ErrHeld, holds[0].Why())
	}
	for _, name := range a.Description.Names() {
		k, err := a.kindOf(name)
		if _, folders := k.(ofFolders); folders && unpaired[name] != nil {
			continue
		}
		if err == nil {
			err = k.withdraw(ctx)
		}
		if err != nil {
			return err
		}
	}
	if err := a.leave(ctx, unpaired); err != nil {
		return err
	}
	return a.DB.Remove(ctx)
}

// nothingLeft returns an error while only Lethe knows keys: those of objects
// whose rows are gone.
func (a *Adoption) nothingLeft(ctx context.Context) error {
	installed, err := a.DB.Installed(ctx)
	if err != nil || !installed {
		return err
	}
	for name, rows := range a.collections {
		if !a.Description.Collections[name].HasObjects() {
			continue
		}
		left, err := rows.Left(ctx)
		if err != nil {
			return err
		}
		if left > 0 {
			return fmt.Errorf("of %s %s to be deleted without a row, and would be forgotten: "+
				"let \"lethe adopt run\" end that (the log says why deletes fail), or leave it in the bucket with --forget", name, words.Plural(int64(left), "object is", "objects are"))
		}
	}
	return nil
}

// Run works by the timetables until ctx ends, and serves scrapes on the address
// if there is one.
//
// It returns ErrReopen once a collection fits the database that did not before, or its tables
// changed.
func (a *Adoption) Run(ctx context.Context, metrics string) error {
	if err := a.Prepare(ctx); err != nil {
		return err
	}
	defer a.endWork(ctx, a.Description.Names())
	if !slices.ContainsFunc(a.whole.Names(), func(name string) bool { return a.whole.Collections[name].Mode == adopt.Reclaim }) {
		return fmt.Errorf("no collection reclaims: set mode: reclaim once \"lethe adopt check\" finds no problem")
	}
	a.o.Log.Info("reclaiming", "collections", len(a.Description.Collections), "worker", a.o.Worker)
	a.announce()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		var err error
		if metrics != "" {
			if err = a.Serve(ctx, metrics); err != nil {
				stop()
			}
		}
		served <- err
	}()
	var resumed sync.WaitGroup
	resumed.Go(func() { a.resume(ctx, &resumed) })
	var fits, changed bool
	resumed.Go(func() {
		if fits = a.awaitFit(ctx); fits {
			stop()
		}
	})
	resumed.Go(func() {
		if changed = a.awaitChange(ctx); changed {
			stop()
		}
	})
	a.Loop.Run(ctx)
	resumed.Wait()
	stop()
	err := <-served
	if err == nil && (fits || changed) {
		return ErrReopen
	}
	return err
}

// announce logs which routines begin much later, so that nobody waits for them.
func (a *Adoption) announce() {
	now := a.o.Clock.Now()
	for _, s := range a.Loop.Routines {
		if next := s.Timetable.Next(now); next.Sub(now) > time.Hour {
			a.o.Log.Info("waits for its schedule; lethe adopt run --once does now what is due", "routine", s.Routine.Name(), "next", next.Time().UTC())
		}
	}
}
