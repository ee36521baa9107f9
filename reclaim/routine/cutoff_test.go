package routine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// TestChecksumsGoOnWhereTheyWereCutOff: a window that closes in the middle costs
// neither what was read nor a false alarm.
func TestChecksumsGoOnWhereTheyWereCutOff(t *testing.T) {
	w := newWorld(t)
	for i := range 6 {
		w.Put(fmt.Sprint("k", i), fmt.Sprint("body of ", i))
	}
	read := 0
	ctx, cancel := context.WithCancel(w.Ctx)
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpGet {
			if read++; read == 3 {
				cancel()
			}
		}
		return blobtest.Fault{}
	}
	v := &routine.Verify{
		Ledger: w.Ledger, Stores: w.Stores, Store: w.Store, Checksums: true, Limit: 1,
		Report: func(p reclaim.Problem) { t.Errorf("a false alarm: %s", p) },
	}
	walk := func(ctx context.Context) {
		step := v.Pass("test")
		var c reclaim.Counts
		for more, err := true, error(nil); more && err == nil; {
			more, err = step(ctx, c.Add)
		}
	}
	walk(ctx)
	if read != 3 {
		t.Fatalf("%d bodies were read before the cut, want 3", read)
	}
	walk(w.Ctx)
	if read != 7 {
		t.Errorf("%d bodies were read in all, want the third again and the last three: 7", read)
	}
	walk(w.Ctx)
	if read != 13 {
		t.Errorf("%d bodies were read after a whole walk, want all 6 again: 13", read)
	}
}
