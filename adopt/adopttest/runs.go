package adopttest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Runs is the history by which of all instances one runs a routine.
type Runs interface {
	BeginRun(ctx context.Context, s ledger.Solo) (ledger.SoloResult, error)
	BeatRun(ctx context.Context, id lethe.ID, counts map[string]int64) error
	FinishRun(ctx context.Context, id lethe.ID, outcome string, counts map[string]int64) error
	LastRuns(ctx context.Context) (last, succeeded map[string]ledger.Run, err error)
}

// RunSite is a history, empty at first. Pass lets time pass for it.
type RunSite struct {
	Runs
	Pass func(time.Duration)
}

// RunRuns runs the suite of histories.
func RunRuns(t *testing.T, open func(t *testing.T) RunSite) {
	for name, run := range map[string]func(r *runs){
		"one runs at a time":                        runAlone,
		"a silent run is taken over":                runTakenOver,
		"what a worker left over is its own":        runLeftOver,
		"a success that was not seen comes first":   runSucceeded,
		"a failure postpones nothing":               runFailed,
		"of those that begin at once one does":      runAtOnce,
		"routines are no matter to each other":      runOthers,
		"the last run and the last success are two": runLast,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(&runs{&world{T: t, ctx: t.Context()}, open(t), 0})
		})
	}
}

// runs is a test of a RunSite.
type runs struct {
	*world
	RunSite
	ids lethe.Time
}

const runStale = time.Minute

// ask asks to run folders as a worker that knows of a success that began then.
func (r *runs) ask(worker string, seen lethe.Time) (lethe.ID, ledger.SoloResult) {
	r.Helper()
	r.ids++
	run := ledger.Run{ID: lethe.RandomID(r.ids), Routine: "folders", Worker: worker}
	return run.ID, must(r.BeginRun(r.ctx, ledger.Solo{Run: run, Stale: runStale, Seen: seen}))(r.world)
}

func (r *runs) begins(worker string, seen lethe.Time) lethe.ID {
	r.Helper()
	id, b := r.ask(worker, seen)
	if !b.OK || b.Other != nil {
		r.Fatalf("%s did not begin: %+v", worker, b)
	}
	return id
}

// keptBy is an ask that another run keeps from beginning.
func (r *runs) keptBy(other lethe.ID, seen lethe.Time) {
	r.Helper()
	if _, b := r.ask("late", seen); b.OK || b.Other == nil || b.Other.ID != other {
		r.Fatalf("got %+v; want to be kept by %s", b, other)
	}
}

func (r *runs) succeeds(id lethe.ID) {
	r.Helper()
	r.must(r.FinishRun(r.ctx, id, "ok", map[string]int64{"folders": 2}))
}

func (r *runs) good() ledger.Run {
	r.Helper()
	_, good, err := r.LastRuns(r.ctx)
	r.must(err)
	return good["folders"]
}

func (r *runs) fenced(id lethe.ID) {
	r.Helper()
	if err := r.BeatRun(r.ctx, id, nil); !errors.Is(err, lethe.ErrFenced) {
		r.Errorf("a sign of life of %s: %v", id, err)
	}
	if err := r.FinishRun(r.ctx, id, "ok", nil); !errors.Is(err, lethe.ErrFenced) {
		r.Errorf("the end of %s: %v", id, err)
	}
}

func runAlone(r *runs) {
	id := r.begins("a", lethe.Forever)
	r.Pass(runStale - margin)
	r.keptBy(id, lethe.Forever)
	r.must(r.BeatRun(r.ctx, id, map[string]int64{"folders": 1}))
	r.Pass(runStale - margin)
	r.keptBy(id, lethe.Forever)
	r.succeeds(id)
	r.fenced(id)
	r.begins("b", lethe.Forever)
}

func runTakenOver(r *runs) {
	id := r.begins("dead", lethe.Forever)
	r.Pass(runStale)
	next, b := r.ask("b", lethe.Forever)
	if !b.OK || len(b.Ended) != 1 || b.Ended[0].ID != id || b.Ended[0].Outcome != "interrupted" || b.Ended[0].FinishedAt == 0 {
		r.Fatalf("got %+v", b)
	}
	r.fenced(id)
	r.keptBy(next, lethe.Forever)
}

func runLeftOver(r *runs) {
	id := r.begins("a", lethe.Forever)
	if _, b := r.ask("a", lethe.Forever); !b.OK || len(b.Ended) != 1 || b.Ended[0].ID != id {
		r.Fatalf("got %+v", b)
	}
	r.fenced(id)
}

func runSucceeded(r *runs) {
	r.succeeds(r.begins("a", 0))
	first := r.good().StartedAt
	r.Pass(time.Second)
	newer := r.begins("b", first)
	r.succeeds(newer)
	r.keptBy(newer, first)
	r.begins("c", r.good().StartedAt)
}

func runFailed(r *runs) {
	r.succeeds(r.begins("a", 0))
	first := r.good().StartedAt
	r.Pass(time.Second)
	r.must(r.FinishRun(r.ctx, r.begins("b", first), "failed: it broke", nil))
	r.begins("c", first)
}

func runAtOnce(r *runs) {
	var begun [8]ledger.SoloResult
	var errs [8]error
	var all sync.WaitGroup
	for i := range begun {
		run := ledger.Run{ID: lethe.RandomID(lethe.Time(100 + i)), Routine: "folders", Worker: string(rune('a' + i))}
		all.Go(func() { begun[i], errs[i] = r.BeginRun(r.ctx, ledger.Solo{Run: run, Stale: runStale}) })
	}
	all.Wait()
	n := 0
	for i, b := range begun {
		r.must(errs[i])
		if b.OK {
			n++
		}
	}
	equal(r.world, "began", n, 1)
}

func runOthers(r *runs) {
	other := ledger.Run{ID: lethe.RandomID(99), Routine: "folders elsewhere", Worker: "a"}
	if b := must(r.BeginRun(r.ctx, ledger.Solo{Run: other, Stale: runStale}))(r.world); !b.OK {
		r.Fatalf("got %+v", b)
	}
	r.keptBy(r.begins("a", lethe.Forever), lethe.Forever)
}

func runLast(r *runs) {
	id := r.begins("a", lethe.Forever)
	r.succeeds(id)
	r.Pass(time.Second)
	open := r.begins("b", lethe.Forever)
	last, good, err := r.LastRuns(r.ctx)
	r.must(err)
	equal(r.world, "last", last["folders"].ID, open)
	equal(r.world, "last success", good["folders"].ID, id)
	equal(r.world, "what it counted", good["folders"].Counts, map[string]int64{"folders": 2})
}
