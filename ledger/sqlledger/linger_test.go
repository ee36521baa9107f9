package sqlledger

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

// TestCrowdSharesMore: after a group of several the next one waits for members that come a
// moment later, and they share its commit; after a group of one it does not.
func TestCrowdSharesMore(t *testing.T) {
	db := openTest(t, Memory, ledger.Options{})
	waits := 0
	var wg sync.WaitGroup
	come := func(waiting int, ids ...string) {
		for _, id := range ids {
			wg.Go(func() {
				if err := db.write(context.Background(), id, note(id)); err != nil {
					t.Error(err)
				}
			})
		}
		awaitQueue(db, waiting+len(ids))
	}
	release := hold(t, db)
	db.w.linger = func() {
		if waits++; waits == 1 {
			come(1, "e", "f", "g", "h")
		}
	}
	come(0, "a", "b", "c")
	release()
	wg.Wait()
	before := db.Stats()
	if err := db.write(context.Background(), "d", note("d")); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if waits != 1 || db.Stats().Groups != before.Groups+1 || db.Stats().Members != before.Members+5 {
		t.Errorf("waited %d times, %+v after %+v", waits, db.Stats(), before)
	}
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	if got := notes(t, db, all...); !slices.Equal(got, all) {
		t.Errorf("committed %v", got)
	}
	// Each of these comes alone; only the first waits.
	if waits > 2 {
		t.Errorf("single writes waited %d times", waits-1)
	}
}
