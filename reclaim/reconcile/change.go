package reconcile

import (
	"cmp"
	"context"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// precheck reports, at the end of a dry run, which orphans would be condemned:
// those that are ripe, unless their share is too high, and as many as one walk
// takes.
func (w *walk) precheck(ctx context.Context, add reclaim.Add) (bool, error) {
	if w.o.Would == nil || len(w.would) == 0 {
		return w.finish(ctx, add)
	}
	may, err := w.mayCondemn(ctx, add)
	if err != nil {
		return false, err
	}
	slices.SortFunc(w.would, func(a, b Change) int { return cmp.Compare(a.Key, b.Key) })
	if may {
		w.tell(w.o.Would, w.would[:min(len(w.would), w.o.MostOrphans)]...)
	}
	return w.finish(ctx, add)
}

// tell reports changes, one after the other.
func (w *walk) tell(fn func(Change), list ...Change) {
	if fn == nil {
		return
	}
	w.report.Lock()
	defer w.report.Unlock()
	for _, ch := range list {
		ch.Backend = w.backend
		fn(ch)
	}
}

func (w *walk) did(list ...Change) { w.tell(w.o.Did, list...) }

// may reports whether a key may be changed.
func (w *walk) may(key string) bool {
	return w.o.Chosen == nil || w.o.Chosen[Place{w.backend, key, false}]
}

// chosen are the only keys of the backend that may be changed; nil: all may.
func (w *walk) chosen() []string {
	if w.o.Chosen == nil {
		return nil
	}
	out := []string{}
	for p := range w.o.Chosen {
		if p.Backend == w.backend && !p.Take {
			out = append(out, p.Key)
		}
	}
	slices.Sort(out)
	return out
}

func orphansOf(store lethe.ID, blobs []ledger.Blob) []Change {
	out := make([]Change, len(blobs))
	for i, b := range blobs {
		out[i].Finding = ledger.Finding{Key: lethe.BlobKey(store, b.ID), Kind: ledger.FoundOrphan, Size: b.Size}
	}
	return out
}
