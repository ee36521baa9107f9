package sim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/sim"
)

// flawed is a ledger that is wrong twice: once somebody had to look up what became
// of a request that happened, a bucket counts one object too many; and a recount of
// everything, which only the end asks for, is never content.
type flawed struct {
	sim.Ledger
	asked bool
}

func newFlawed(o ledger.Options) (sim.Ledger, error) {
	in, err := sim.NewMemory(o)
	return &flawed{Ledger: in}, err
}

func (f *flawed) Outcome(ctx context.Context, op lethe.ID) (ledger.Outcome, bool, error) {
	out, found, err := f.Ledger.Outcome(ctx, op)
	f.asked = f.asked || found
	return out, found, err
}

func (f *flawed) Inspect(v *sim.View) error {
	err := f.Ledger.Inspect(v)
	if f.asked {
		v.Buckets[0].Objects++
	}
	return err
}

func (f *flawed) Recount(context.Context) ([]ledger.Discrepancy, error) {
	return []ledger.Discrepancy{{What: "flaw", Name: "always", Want: "1", Have: "2"}}, nil
}

// The first flaw needs one operation, the answer to which is lost, and another step
// that changes something. The second needs nothing at all, so every run that is cut
// too short shows it: a shrink that takes one failure for another ends there.
func TestShrinkKeepsTheFailure(t *testing.T) {
	tried, large := 0, 0
	for seed := uint64(1); tried < 6; seed++ {
		r := sim.Run(sim.Config{Seed: seed, NewLedger: newFlawed})
		if !strings.HasPrefix(r.Violation, "bucket _ counts") || len(r.Faults) < 5 {
			continue
		}
		tried++
		small := sim.Shrink(r, 3000)
		t.Logf("seed %d: %d operations and %d faults shrunk to %d and %v: %v", seed, r.Ops, len(r.Faults), small.Ops, small.Faults, small.Err)
		if small.Violation != r.Violation {
			t.Errorf("seed %d: %q was shrunk to %q", seed, r.Violation, small.Violation)
		}
		// A writer that stood still until the reaper had finished its write looks that up
		// without any fault: fewer faults come before fewer operations. Several faults that
		// are needed together are rare, and are not taken apart.
		if len(small.Faults) > 1 || len(small.Faults) == 1 && small.Ops > 3 {
			large++
		}
		if small.Ops > r.Ops/2 || len(small.Faults) > 5 {
			t.Errorf("seed %d: %d operations shrunk to %d and the faults %v, want at most half", seed, r.Ops, small.Ops, small.Faults)
		}
		if again := sim.Run(small.Config); again.Hash != small.Hash || len(small.Trace) == 0 {
			t.Errorf("seed %d: the shrunk run has %d lines of trace, and another hash when it is run again", seed, len(small.Trace))
		}
	}
	if large > 1 {
		t.Errorf("%d of %d runs were shrunk to more than 3 operations and one fault", large, tried)
	}
}

// Two runs in which the same is broken name it alike, and others do not.
func TestViolationsAreNamed(t *testing.T) {
	names := map[string]int{}
	for seed := range uint64(40) {
		r := sim.Run(sim.Config{Seed: seed + 1, NewLedger: newFlawed})
		if r.Err != nil {
			names[r.Violation]++
		}
	}
	want := []string{"bucket _ counts _, its rows are _", "verify found books: _"}
	if len(names) != 2 || names[want[0]] == 0 || names[want[1]] == 0 {
		t.Errorf("violations are %v, want only %q", names, want)
	}
	if r := sim.Run(sim.Config{Seed: 1}); r.Err != nil || r.Violation != "" {
		t.Errorf("a sound run is broken: %q, %v", r.Violation, r.Err)
	}
}
