package reclaim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// counting is a routine that counts its steps.
type counting struct{ steps, applied int }

func (*counting) Name() string                                       { return "counting" }
func (*counting) Plan(context.Context) (ledger.Backlog, error)       { return ledger.Backlog{}, nil }
func (*counting) Items(context.Context, func(plan.Item) error) error { return nil }

func (r *counting) Pass(string) reclaim.Step {
	return func(context.Context, *reclaim.Counts) (bool, error) {
		r.steps++
		return r.steps < 3, nil
	}
}

func (r *counting) Apply(_ context.Context, _ string, items []plan.Item, _ *reclaim.Counts) ([]plan.Result, error) {
	r.applied += len(items)
	return nil, nil
}

// sparing is one that may go on.
type sparing struct{ counting }

func (*sparing) Name() string { return "sparing" }

// SparedAs implements reclaim.Spared.
func (*sparing) SparedAs() string { return "it only counts" }

// hold holds a backend as it is.
func (w *world) hold(id string, h ledger.BackendHold) {
	all, err := w.ledger.Backends(w.ctx)
	w.must(err)
	for _, b := range all {
		if b.ID == id {
			w.must(w.ledger.ChangeHold(w.ctx, b, h))
		}
	}
}

// While the ledger is in doubt no routine takes a step, nor is a plan applied, but
// for those that say why they may; what is wrong with a backend alone stops none.
func TestNothingGoesBeforeTheLedgerIsConfirmed(t *testing.T) {
	for held, waits := range map[ledger.BackendHold]bool{
		{}: false,
		{For: ledger.HeldByPerson, Reason: "a person says so"}:  false,
		{For: ledger.HeldForLedger, Reason: "whatever it says"}: true,
		{For: ledger.HeldForAbsence, Reason: "not mounted"}:     false,
		{For: ledger.HeldForBackend, Reason: "an older copy"}:   false,
		// What is read is for people to read.
		{For: ledger.HeldByPerson, Reason: sqlledger.Restored}:                  false,
		{For: ledger.HeldForBackend, Reason: "this ledger is an older copy"}:    false,
		{For: ledger.HeldForAbsence, Reason: ledger.Moved + ": somewhere else"}: false,
	} {
		w := newWorld(t)
		w.must(w.guard().Advance(w.ctx, "main"))
		w.hold("main", held)
		mine, spared := &counting{}, &sparing{}
		l := w.loop(reclaim.Scheduled{Routine: mine}, reclaim.Scheduled{Routine: spared})
		l.Confirmed = w.guard().Confirmed
		counts, err := l.Once(w.ctx, nil)
		w.must(err)
		want(w, fmt.Sprintf("steps while held: %+v", held), mine.steps == 0, waits)
		want(w, "told", counts["counting"]["held"] == 1, waits)
		want(w, "steps of one that is spared", spared.steps, 3)
		items := [][]plan.Item{{{}}}
		_, err = l.Apply(w.ctx, reclaim.Application{Routine: "counting", Each: func([]plan.Result) {}, Next: func() ([]plan.Item, error) {
			if len(items) == 0 {
				return nil, io.EOF
			}
			next := items[0]
			items = items[1:]
			return next, nil
		}})
		want(w, "applied", mine.applied == 0, waits)
		want(w, "refused", errors.Is(err, lethe.ErrBackendMismatch), waits)
	}
}

// A ledger that is older than its backends is found out before the first step, and
// one whose backends do not answer waits for the first that does.
func TestBackendsAreAskedBeforeTheFirstStep(t *testing.T) {
	w := newWorld(t)
	w.must(w.guard().Advance(w.ctx, "main"))
	g := w.guard()
	w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} }
	if err := g.Confirmed(w.ctx); err == nil || errors.Is(err, lethe.ErrBackendMismatch) {
		t.Errorf("nobody can tell: %v", err)
	}
	w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	w.usurp(1)
	if err := g.Confirmed(w.ctx); !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), "older copy") {
		t.Errorf("an older ledger: %v", err)
	}
	w.must(g.Accept(w.ctx, "main"))
	w.must(g.Confirmed(w.ctx))
}

// A backend without an epoch object, a disk that is not mounted, does not tell whose
// it is: an older ledger waits for one that does.
func TestABackendWithoutAnEpochTellsNothing(t *testing.T) {
	w := newWorld(t)
	w.must(w.guard().Advance(w.ctx, "main"))
	g, disk := w.guard(), w.stores["main"]
	w.stores["main"] = memblob.New(memblob.Options{})
	for range 2 {
		if err := g.Confirmed(w.ctx); !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), "carries no epoch") {
			t.Errorf("not mounted: %v", err)
		}
	}
	w.stores["main"] = disk
	w.must(g.Confirmed(w.ctx))
}

// A backend that is held already, by a person or for what is wrong with it, hides no
// doubt about the ledger, and what it was held for is not forgotten.
func TestAHeldBackendHidesNoDoubt(t *testing.T) {
	for held, kept := range map[ledger.BackendHold]bool{
		{For: ledger.HeldByPerson, Reason: "a person says so"}: true, {For: ledger.HeldForAbsence, Reason: "no epoch"}: false,
	} {
		w := newWorld(t)
		w.must(w.guard().Advance(w.ctx, "main"))
		w.hold("main", held)
		w.usurp(1)
		g := w.guard()
		for range 2 {
			if err := g.Confirmed(w.ctx); !errors.Is(err, lethe.ErrBackendMismatch) || !strings.Contains(err.Error(), "older copy") || strings.Contains(err.Error(), held.Reason) != kept {
				t.Errorf("an older ledger, held for %+v: %v", held, err)
			}
		}
		w.must(g.Accept(w.ctx, "main"))
		w.must(g.Confirmed(w.ctx))
	}
}
