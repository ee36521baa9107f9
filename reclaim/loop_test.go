package reclaim_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// routine is one whose steps a test makes.
type routine struct {
	name string
	step reclaim.Step
}

func (r routine) Name() string                                 { return r.name }
func (r routine) Pass(string) reclaim.Step                     { return r.step }
func (r routine) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{Count: 7}, nil }

// always is a timetable of which every instant is one; never has none.
type always struct{}

func (always) Next(after lethe.Time) lethe.Time     { return after }
func (always) Window(lethe.Time) (bool, lethe.Time) { return true, lethe.Forever }

type never struct{}

func (never) Next(lethe.Time) lethe.Time           { return lethe.Forever }
func (never) Window(lethe.Time) (bool, lethe.Time) { return false, 0 }

// steps makes a routine of n steps of one item each.
func steps(name string, n int32) routine {
	var left atomic.Int32
	left.Store(n)
	return routine{name, func(_ context.Context, add reclaim.Add) (bool, error) {
		if left.Add(-1) >= 0 {
			add(reclaim.Items, 1)
		}
		return left.Load() > 0, nil
	}}
}

// A run goes on until nothing is due, with all its workers, and is recorded.
func TestOnceRunsUntilNothingIsDue(t *testing.T) {
	w := newWorld(t)
	l := w.Loop(reclaim.Scheduled{Routine: steps("busy", 100), Timetable: never{}, Workers: 4},
		reclaim.Scheduled{Routine: steps("idle", 0), Timetable: never{}})
	got, err := l.Once(w.Ctx, nil)
	w.Must(err)
	reclaimtest.Want(w, "items", got["busy"][reclaim.Items], 100)
	last, good, err := w.Ledger.LastRuns(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "runs", len(last), 1) // one that does nothing leaves none
	reclaimtest.Want(w, "outcome", good["busy"].Outcome, "ok")
	reclaimtest.Want(w, "recorded items", good["busy"].Counts[reclaim.Items], 100)
	reclaimtest.Want(w, "running", l.States()["busy"].Running, false)
}

// A run that has reached its limit ends, reports it, and leaves the rest to the
// next. One that is complete at exactly the limit does not.
func TestARunTakesNoMoreThanOneMay(t *testing.T) {
	w := newWorld(t)
	two := routine{"two", func(_ context.Context, add reclaim.Add) (bool, error) {
		add(reclaim.Items, 2)
		add("gone", 1)
		return true, nil
	}}
	l := w.Loop(reclaim.Scheduled{Routine: steps("busy", 100), Timetable: never{}, Most: 30},
		reclaim.Scheduled{Routine: steps("even", 30), Timetable: never{}, Most: 30},
		reclaim.Scheduled{Routine: two, Timetable: never{}, Most: 10, Takes: "gone", Workers: 3})
	got, err := l.Once(w.Ctx, nil)
	w.Must(err)
	reclaimtest.Want(w, "busy", fmt.Sprint(got["busy"]), "map[items:30 limited:1]")
	reclaimtest.Want(w, "even", fmt.Sprint(got["even"]), "map[items:30]")
	if n := got["two"]["gone"]; n < 10 || n > 12 || got["two"][reclaim.Limited] != 1 {
		t.Errorf("three workers took %v", got["two"])
	}
	_, good, err := w.Ledger.LastRuns(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "outcome", good["busy"].Outcome, "ok")
	reclaimtest.Want(w, "recorded", good["busy"].Counts[reclaim.Limited], 1)
	for _, n := range []int64{30, 30, 10, 0} {
		got, err = l.Once(w.Ctx, []string{"busy"})
		w.Must(err)
		reclaimtest.Want(w, "the next run", got["busy"][reclaim.Items], n)
	}
}

// Where it is known what a step takes, no run takes more than it may, with any number of workers.
func TestARunOfKnownStepsTakesNoMoreThanItMay(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		most, step int64
		workers    int
		least      int64
	}{{30, 10, 1, 30}, {35, 10, 1, 30}, {10, 10, 4, 10}, {100, 10, 4, 70}} {
		endless := routine{"endless", func(_ context.Context, add reclaim.Add) (bool, error) {
			add(reclaim.Items, c.step)
			return true, nil
		}}
		got, err := w.Loop(reclaim.Scheduled{Routine: endless, Timetable: never{}, Most: c.most, Step: c.step, Workers: c.workers}).Once(w.Ctx, nil)
		w.Must(err)
		if n := got["endless"]; n[reclaim.Items] < c.least || n[reclaim.Items] > c.most || n[reclaim.Limited] != 1 {
			t.Errorf("%+v: it took %v", c, n)
		}
	}
}

// inOrder is a routine whose second worker begins when its first has come to an end.
type inOrder struct {
	routine
	ended chan struct{}
}

func (r inOrder) Pass(worker string) reclaim.Step {
	if worker != "me/0" {
		<-r.ended
		return r.step
	}
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		more, err := r.step(ctx, add)
		if !more {
			close(r.ended)
		}
		return more, err
	}
}

// A worker that begins when the others have taken all that was due does not report
// that more is due.
func TestARunThatTookAllIsNotLimited(t *testing.T) {
	w := newWorld(t)
	l := w.Loop(reclaim.Scheduled{Routine: inOrder{steps("all", 10), make(chan struct{})}, Timetable: never{}, Most: 10, Workers: 2})
	got, err := l.Once(w.Ctx, nil)
	w.Must(err)
	reclaimtest.Want(w, "all", fmt.Sprint(got["all"]), "map[items:10]")
}

func TestOnceRunsWhatIsNamed(t *testing.T) {
	w := newWorld(t)
	l := w.Loop(reclaim.Scheduled{Routine: steps("a", 1), Timetable: never{}}, reclaim.Scheduled{Routine: steps("b", 1), Timetable: never{}})
	got, err := l.Once(w.Ctx, []string{"b"})
	w.Must(err)
	if len(got) != 1 || got["b"][reclaim.Items] != 1 {
		t.Errorf("ran %v", got)
	}
	if _, err := l.Once(w.Ctx, []string{"c"}); err == nil {
		t.Error("a routine that is none was run")
	}
	plan, err := l.Plan(w.Ctx, []string{"a"})
	w.Must(err)
	reclaimtest.Want(w, "planned", plan["a"].Count, 7)
}

// A failed run is recorded with its cause, reported, and does not stop the others.
func TestAFailedRunIsRecorded(t *testing.T) {
	w := newWorld(t)
	bad := routine{"bad", func(context.Context, reclaim.Add) (bool, error) { return false, errors.New("broken") }}
	l := w.Loop(reclaim.Scheduled{Routine: bad, Timetable: never{}}, reclaim.Scheduled{Routine: steps("good", 1), Timetable: never{}})
	var told []string
	l.Events = &reclaim.Events{RunEnded: func(r ledger.Run, err error) { told = append(told, fmt.Sprint(r.Routine, ": ", err)) }}
	got, err := l.Once(w.Ctx, nil)
	if err == nil || got["good"][reclaim.Items] != 1 {
		t.Errorf("ran %v, %v", got, err)
	}
	last, good, err := w.Ledger.LastRuns(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "outcome", last["bad"].Outcome, "failed: broken")
	if _, ok := good["bad"]; ok {
		t.Error("a failed run counts as a success")
	}
	reclaimtest.Want(w, "told", fmt.Sprint(told), "[bad: broken good: <nil>]")
	reclaimtest.Want(w, "error", l.States()["bad"].LastErr, "broken")
}

// A routine never runs twice at once in a loop; a caller that waits for it may give
// up.
func TestARoutineRunsOnceAtATime(t *testing.T) {
	w := newWorld(t)
	began, end := make(chan struct{}), make(chan struct{})
	var inside atomic.Int32
	r := routine{"long", func(context.Context, reclaim.Add) (bool, error) {
		if inside.Add(1) > 1 {
			t.Error("it runs twice at once")
		}
		close(began)
		<-end
		inside.Add(-1)
		return false, nil
	}}
	l := w.Loop(reclaim.Scheduled{Routine: r, Timetable: never{}})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = l.Once(w.Ctx, nil) })
	<-began
	reclaimtest.Want(w, "running", l.States()["long"].Running, true)
	ctx, cancel := context.WithCancel(w.Ctx)
	cancel()
	if _, err := l.Once(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up waiting got %v", err)
	}
	close(end)
	wg.Wait()
}

// Run drives by the timetables until its context ends. A routine that never comes
// does not run, and uses no processor.
func TestRunFollowsTheTimetables(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.Ctx)
	var ran atomic.Int32
	r := routine{"often", func(context.Context, reclaim.Add) (bool, error) {
		if ran.Add(1) == 3 {
			cancel()
		}
		return false, nil
	}}
	off := routine{"off", func(context.Context, reclaim.Add) (bool, error) {
		t.Error("a routine that is off ran")
		return false, nil
	}}
	l := w.Loop(reclaim.Scheduled{Routine: r, Timetable: always{}}, reclaim.Scheduled{Routine: off, Timetable: never{}})
	l.Run(ctx)
	if ran.Load() < 3 {
		t.Errorf("it ran %d times", ran.Load())
	}
	reclaimtest.Want(w, "next run of what is off", l.States()["off"].NextRun, lethe.Forever)
}

// A run that is stopped is recorded as interrupted, with what it had done.
func TestAStoppedRunIsInterrupted(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.Ctx)
	done := 0
	r := routine{"endless", func(_ context.Context, add reclaim.Add) (bool, error) {
		add(reclaim.Items, 1)
		if done++; done == 5 {
			cancel()
		}
		return true, nil
	}}
	_, err := w.Loop(reclaim.Scheduled{Routine: r, Timetable: never{}}).Once(ctx, nil)
	w.Must(err)
	last, _, err := w.Ledger.LastRuns(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "outcome", last["endless"].Outcome, "interrupted")
	reclaimtest.Want(w, "items", last["endless"].Counts[reclaim.Items], 5)
}

// The rate limit is called after each step, with what the step did.
func TestRate(t *testing.T) {
	w := newWorld(t)
	var asked []int
	l := w.Loop(reclaim.Scheduled{Routine: steps("a", 3), Timetable: never{}, Rate: func(_ context.Context, n int) error {
		asked = append(asked, n)
		return nil
	}})
	_, err := l.Once(w.Ctx, nil)
	w.Must(err)
	reclaimtest.Want(w, "asked for", fmt.Sprint(asked), "[1 1 1]")
}

// Each worker's limit gets its own steps only: together they are held to the rate,
// and not to a part of it.
func TestRateOfWorkers(t *testing.T) {
	const workers, each = 4, 5
	w := newWorld(t)
	var asked atomic.Int64
	var turn sync.WaitGroup
	turn.Add(workers)
	r := passes{"a", func() reclaim.Step {
		left := each
		return func(_ context.Context, add reclaim.Add) (bool, error) {
			if left == each { // all are at work at the same time
				turn.Done()
				turn.Wait()
			}
			add(reclaim.Items, 1)
			left--
			return left > 0, nil
		}
	}}
	l := w.Loop(reclaim.Scheduled{Routine: r, Timetable: never{}, Workers: workers, Rate: func(_ context.Context, n int) error {
		asked.Add(int64(n))
		return nil
	}})
	got, err := l.Once(w.Ctx, nil)
	w.Must(err)
	reclaimtest.Want(w, "items", got["a"][reclaim.Items], workers*each)
	reclaimtest.Want(w, "asked for", asked.Load(), workers*each)
}

// passes is a routine whose passes a test makes.
type passes struct {
	name string
	pass func() reclaim.Step
}

func (p passes) Name() string                                 { return p.name }
func (p passes) Pass(string) reclaim.Step                     { return p.pass() }
func (p passes) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// A cause that stops all workers in the same way is reported once.
func TestTheSameErrorIsToldOnce(t *testing.T) {
	w := newWorld(t)
	bad := routine{"bad", func(context.Context, reclaim.Add) (bool, error) { return false, errors.New("broken") }}
	_, err := w.Loop(reclaim.Scheduled{Routine: bad, Timetable: never{}, Workers: 4}).Once(w.Ctx, nil)
	if err == nil || err.Error() != "bad: broken" {
		t.Errorf("told %v", err)
	}
}
