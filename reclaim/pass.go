package reclaim

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// Pass makes one pass of a routine as a run does, with one worker and in the
// caller's goroutine. Each step is checked by Confirmed, bounded by the limit, and
// throttled. It is not a run: nothing is recorded, and another may run
// concurrently. It returns what it did, even if it failed.
func (l *Loop) Pass(ctx context.Context, s Scheduled, worker string) (map[string]int64, error) {
	run := l.newRun(s.Routine.Name())
	run.started = true // so that no row is written
	err := l.pass(ctx, s, run, worker)
	if err == nil {
		err = l.leaves(ctx, s, run)
	}
	return run.counts.Map(), err
}

// Limited is the count of a run that ended at its limit per run (Scheduled.Most).
const Limited = "limited"

// spent reports whether a run has taken as much as it may. It records that the run
// ends at its limit, if its worker would have continued: before the first step
// that is not known.
func (s Scheduled) spent(run *recorder, knows bool) bool {
	if s.Most <= 0 {
		return false
	}
	// Before what was taken is read: a step in progress counts in full.
	begun := run.steps.Add(s.Step)
	if run.counts.Get(cmp.Or(s.Takes, Items))+max(1, begun) <= s.Most {
		return false
	}
	run.steps.Add(-s.Step)
	if knows {
		run.atLimit.Store(true)
	}
	return true
}

func (l *Loop) pass(ctx context.Context, s Scheduled, run *recorder, worker string) error {
	step := l.Spans.batches(s.Routine.Name(), l.unlessUnconfirmed(s.Routine, s.Routine.Pass(worker)))
	own := &Counts{to: run.counts.Add}
	for more, begun := true, false; more && ctx.Err() == nil; begun = true {
		if s.spent(run, begun) {
			return nil
		}
		before := own.Get(Items)
		var err error
		more, err = s.Controller.Run(ctx, func() (did, more bool, err error) {
			more, err = step(ctx, own.Add)
			return own.Get(Items) > before, more, err
		})
		if s.Most > 0 {
			run.steps.Add(-s.Step)
		}
		if err != nil && ctx.Err() != nil {
			return nil // the window closed, or the process stops: interrupted, not failed
		}
		if err != nil {
			return err
		}
		run.note(ctx)
		if s.Rate != nil {
			if err := s.Rate(ctx, int(own.Get(Items)-before)); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

// leaves reports whether a run that ended at its limit left something. A full last
// batch only shows that there may be more. Held rows do not count: a pass
// defers them when it comes to them.
func (l *Loop) leaves(ctx context.Context, s Scheduled, run *recorder) error {
	if !run.atLimit.Load() || ctx.Err() != nil {
		return nil
	}
	if r, ok := s.Routine.(Backlogged); ok {
		if left, err := r.HasBacklog(ctx); err != nil || !left {
			return err
		}
	}
	run.counts.Add(Limited, 1)
	return nil
}

// unlessUnconfirmed makes a destructive step do nothing while the ledger is in
// doubt. Plans still list what is due.
func (l *Loop) unlessUnconfirmed(r Routine, step Step) Step {
	return func(ctx context.Context, add Add) (bool, error) {
		switch err := l.confirmed(ctx, r); {
		case errors.Is(err, lethe.ErrBackendMismatch):
			add("held", 1)
			return false, nil
		case err != nil:
			return false, fmt.Errorf("reclaim: whether the ledger is the one that the backends belong to: %w", err)
		}
		return step(ctx, add)
	}
}

func (l *Loop) confirmed(ctx context.Context, r Routine) error {
	if _, spared := r.(SafeUnpaired); spared || l.Confirmed == nil {
		return nil
	}
	return l.Confirmed(ctx)
}
