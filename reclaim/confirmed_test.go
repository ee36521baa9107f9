package reclaim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// counting is a routine that counts its steps.
type counting struct{ steps, applied int }

func (*counting) Name() string                                       { return "counting" }
func (*counting) Plan(context.Context) (ledger.Backlog, error)       { return ledger.Backlog{}, nil }
func (*counting) Items(context.Context, func(plan.Item) error) error { return nil }

func (r *counting) Pass(string) reclaim.Step {
	return func(context.Context, reclaim.Add) (bool, error) {
		r.steps++
		return r.steps < 3, nil
	}
}

func (r *counting) Apply(_ context.Context, _ string, items []plan.Item, _ reclaim.Add) ([]plan.Result, error) {
	r.applied += len(items)
	return nil, nil
}

// sparing is one that may go on.
type sparing struct{ counting }

func (*sparing) Name() string { return "sparing" }

// WhySafe implements reclaim.SafeUnpaired.
func (*sparing) WhySafe() string { return "it only counts" }

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
		{For: ledger.HeldByPerson, Reason: sqlledger.Restored}:                            false,
		{For: ledger.HeldForBackend, Reason: "this ledger is an older copy"}:              false,
		{For: ledger.HeldForAbsence, Reason: ledger.RelocatedReason + ": somewhere else"}: false,
	} {
		w := newWorld(t)
		w.Must(w.Pairing().Advance(w.Ctx, "main"))
		w.Hold("main", held)
		mine, spared := &counting{}, &sparing{}
		l := w.Loop(reclaim.Scheduled{Routine: mine}, reclaim.Scheduled{Routine: spared})
		l.Confirmed = w.Pairing().Confirmed
		counts, err := l.Once(w.Ctx, nil)
		w.Must(err)
		reclaimtest.Want(w, fmt.Sprintf("steps while held: %+v", held), mine.steps == 0, waits)
		reclaimtest.Want(w, "told", counts["counting"]["held"] == 1, waits)
		reclaimtest.Want(w, "steps of one that is spared", spared.steps, 3)
		items := [][]plan.Item{{{}}}
		_, err = l.Apply(w.Ctx, reclaim.Application{Routine: "counting", Each: func([]plan.Result) {}, Next: func() ([]plan.Item, error) {
			if len(items) == 0 {
				return nil, io.EOF
			}
			next := items[0]
			items = items[1:]
			return next, nil
		}})
		reclaimtest.Want(w, "applied", mine.applied == 0, waits)
		reclaimtest.Want(w, "refused", errors.Is(err, lethe.ErrBackendMismatch), waits)
	}
}
