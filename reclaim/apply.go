package reclaim

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// ErrNoPlan is returned for a routine that cannot list its items one by one.
var ErrNoPlan = errors.New("the routine makes no plan")

// planner returns a routine that makes plans, or ErrNoPlan.
func (l *Loop) planner(name string) (Scheduled, Planner, error) {
	chosen, err := l.choose([]string{name})
	if err != nil {
		return Scheduled{}, nil, err
	}
	p, ok := chosen[0].Routine.(Planner)
	if !ok {
		return Scheduled{}, nil, fmt.Errorf("%s: %w", name, ErrNoPlan)
	}
	return chosen[0], p, nil
}

// Plans reports whether the routine can list item by item what it would take.
func (l *Loop) Plans(name string) bool {
	_, _, err := l.planner(name)
	return err == nil
}

// Items passes every item that a routine would take now to yield, with those that stay. It
// returns ErrNoPlan if the routine makes no plans.
func (l *Loop) Items(ctx context.Context, name string, yield func(plan.Item) error) error {
	_, p, err := l.planner(name)
	if err != nil {
		return err
	}
	if err := p.Items(ctx, yield); err != nil {
		return fmt.Errorf("plan of %s: %w", name, err)
	}
	return nil
}

// OfOneRun passes the items of a routine on, as many as one run takes at least: the others stay
// (plan.PerRun). Each worker of a run ends its batch, and other instances make runs of their own,
// so it takes some more. Plans are not limited so.
func (l *Loop) OfOneRun(name string, yield func(plan.Item) error) func(plan.Item) error {
	for _, s := range l.Routines {
		if s.Routine.Name() != name || s.Most <= 0 {
			continue
		}
		left := s.Most
		return func(i plan.Item) error {
			if i.Stays == "" {
				if left--; left < 0 {
					i.Stays = plan.PerRun(s.Most)
				}
			}
			return yield(i)
		}
	}
	return yield
}

// Application is items of one routine to be taken.
type Application struct {
	Routine string
	// Next returns the next items, as many as are taken at a time, and io.EOF after
	// the last.
	Next func() ([]plan.Item, error)
	// Each receives their results.
	Each func([]plan.Result)
}

// Apply has a routine act on the items of a plan that are still due. It is a run of
// its own, recorded, and at the routine's rate. No other pass of the routine runs in
// this process meanwhile.
func (l *Loop) Apply(ctx context.Context, a Application) (map[string]int64, error) {
	s, p, err := l.planner(a.Routine)
	if err != nil {
		return nil, err
	}
	leave, err := l.enter(ctx, a.Routine)
	if err != nil {
		return nil, err
	}
	defer leave()
	run := l.newRun(a.Routine)
	l.note(a.Routine, func(st *State) { st.Running, st.Counts = true, nil })
	err = run.alive(ctx, func(ctx context.Context) error { return l.applyAll(ctx, s, p, run, a) })
	counts := run.finish(ctx, err)
	l.note(a.Routine, func(st *State) {
		st.Running, st.LastRun, st.Counts = false, l.Clock.Now(), counts
		if err != nil {
			st.failed(err)
		} else {
			st.LastErr, st.FailingSince = "", 0
		}
	})
	return counts, err
}

func (l *Loop) applyAll(ctx context.Context, s Scheduled, p Planner, run *recorder, a Application) error {
	for ctx.Err() == nil {
		items, err := a.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.confirmed(ctx, p); err != nil {
			return err
		}
		before := run.counts.Get(Items)
		results, err := p.Apply(ctx, l.Worker+"/plan", items, run.counts.Add)
		a.Each(results)
		if err != nil {
			return err
		}
		run.note(ctx)
		if s.Rate != nil {
			if err := s.Rate(ctx, int(run.counts.Get(Items)-before)); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (l *Loop) newRun(routine string) *recorder {
	return &recorder{loop: l, counts: &Counts{}, run: ledger.Run{
		ID: l.NewID(), Routine: routine, Worker: l.Worker, StartedAt: l.Clock.Now(),
	}}
}
