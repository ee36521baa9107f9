package reconcile_test

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// TestManyOrphans: orphans beyond the room for findings cost no call of their own,
// and count nonetheless where they are implausibly many.
func TestManyOrphans(t *testing.T) {
	w := newWorld(t)
	for range 150 {
		w.plant()
	}
	calls := 0
	w.set = func(o *reconcile.Options) {
		o.Keep, o.Page, o.Only = 20, 10, []string{"main"}
		o.Call = func(context.Context) error { calls++; return nil }
	}
	w.want(w.run(), counts{reconcile.Orphans: 150, reconcile.Skipped: 130, reconcile.HeldBack: 150})
	if calls != 1+20 {
		t.Errorf("%d calls", calls)
	}
}

// TestManyMissing: folders are judged in parallel.
func TestManyMissing(t *testing.T) {
	w := newWorld(t)
	var keys []string
	for i := range 40 {
		keys = append(keys, w.key(w.put(string(rune('a'+i)), string(rune('a'+i)), 1)))
	}
	_, err := w.main.Delete(w.ctx, keys)
	w.must(err)
	w.set = func(o *reconcile.Options) { o.Small, o.Parallel = -1, 8 }
	w.want(w.run(), counts{reconcile.Missing: 40, reconcile.Lost: 40})
}
