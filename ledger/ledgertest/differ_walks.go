package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// reconcile walks over the disk, mostly to the end, with orphans, written blobs and foreign
// keys. It condemns the confirmed orphans.
func (h *history) reconcile() {
	start := ledger.WalkStart{ID: h.id(), Backend: disk, GiveUp: 2 * time.Hour}
	walk, err := ask(h, "begin walk", func(l Ledger) (ledger.Walk, error) { return l.BeginWalk(h.ctx, start) })
	if err != nil {
		return
	}
	s := ledger.Sighting{Walk: walk.ID, Findings: h.sightings(), Limit: 6}
	ask(h, fmt.Sprintf("sight %+v", s), func(l Ledger) (int, error) { return l.Sight(h.ctx, s) })
	if h.chance(4) {
		return // interrupted
	}
	step := ledger.WalkStep{ID: walk.ID, From: walk.Place, To: ledger.WalkDone, Counts: map[string]int64{"keys": int64(h.step)}}
	ask(h, "save walk", func(l Ledger) (any, error) { return nil, l.SaveWalk(h.ctx, step) })
	r := ledger.OrphanRequest{Walk: walk.ID, Backend: disk, Grace: time.Duration(h.number(3)) * time.Minute, Limit: h.number(3)}
	if h.step%3 == 0 {
		r.Only = []string{s.Findings[0].Key, "no such key"}
	}
	ask(h, fmt.Sprintf("condemn orphans %+v", r), func(l Ledger) (ledger.Orphans, error) { return l.CondemnOrphans(h.ctx, r) })
	end := ledger.WalkEnd{ID: walk.ID, Outcome: "ok", Counts: step.Counts}
	ask(h, "finish walk", func(l Ledger) (ledger.WalkEnded, error) { return l.FinishWalk(h.ctx, end) })
	ask(h, "findings", func(l Ledger) ([]ledger.Finding, error) { return l.Findings(h.ctx, ledger.FindingQuery{}) })
	ask(h, "walks", func(l Ledger) ([]ledger.Walk, error) { return l.Walks(h.ctx, disk, 2) })
}

// sightings returns what a walk may see, each key once.
func (h *history) sightings() (list []ledger.Finding) {
	store, _ := ask(h, "identity", func(l Ledger) (ledger.Store, error) {
		s, err := l.Identity(h.ctx)
		s.Life = "" // a server's
		return s, err
	})
	if len(h.planted) < 4 {
		h.planted = append(h.planted, h.id())
	}
	seen := map[lethe.ID]bool{}
	for _, id := range append(some(h, h.planted, 3), pick(h, h.uploaded).Blob) {
		if id != "" && !seen[id] {
			seen[id] = true
			list = append(list, ledger.Finding{Key: lethe.BlobKey(store.ID, id), Kind: ledger.FoundOrphan, Size: 5})
		}
	}
	v := pick(h, h.versions)
	list = append(list, ledger.Finding{Key: "missing", Kind: ledger.FoundMissing, Content: v.ContentID, Segment: h.number(2)})
	ids := []lethe.ID{pick(h, h.uploaded).Blob}
	ask(h, "standing", func(l Ledger) ([]ledger.Standing, error) { return l.Standings(h.ctx, ids, 2) })
	return list
}
