package sim

import (
	"slices"

	"github.com/lethe-storage/lethe"
)

// pounces says that the operator of this world loses a backend at a chosen moment:
// just while a worker looks at a content that has a copy there and another one
// elsewhere. Only then is a claim settled on what is no longer so.
func (w *World) pounces() bool { return w.replicas() > 1 && hash2(w.cfg.Seed, 12)%4 == 1 }

// tempt wakes the operator who waits for such a content.
func (w *World) tempt(content lethe.ID) {
	if !w.pounces() || w.quiet || w.destroyed || w.prey != "" {
		return
	}
	var on []string
	for _, b := range w.oracle.view.Blobs {
		if b.ContentID == content && b.State == lethe.Live && !b.Suspect && !slices.Contains(on, b.Backend) {
			on = append(on, b.Backend)
		}
	}
	if len(on) < 2 {
		return
	}
	w.prey = on[w.effects%len(on)]
	for _, a := range w.procs[0].actors {
		if a.index == w.cfg.Clients+w.cfg.Workers {
			a.asleep = min(a.asleep, w.now)
		}
	}
}

// movedParts drains once more before uploads grow stale: a part has to leave a
// backend that drains although it would go away by itself in the end.
func (w *World) movedParts(n *node) error {
	if w.draining == "" || w.err != nil {
		return nil
	}
	for range rounds {
		w.advance(w.now.Add(safety.MultipartStale / (4 * rounds)))
		for _, r := range w.placement(&seam{w: w, in: w.ledger}, n.stores) {
			w.drain(r)
		}
	}
	for _, b := range w.oracle.view.Blobs {
		if b.Backend == w.draining && b.UploadID != "" && b.State == lethe.Live && !w.oracle.lost[b.ID] {
			return broken("part %s of upload %s stays on %s, which drains", b.ID, b.UploadID, b.Backend)
		}
	}
	return nil
}

// contentOf names the content of a blob; empty if it has none.
func (w *World) contentOf(id lethe.ID) lethe.ID {
	for _, b := range w.oracle.view.Blobs {
		if b.ID == id {
			return b.ContentID
		}
	}
	return ""
}
