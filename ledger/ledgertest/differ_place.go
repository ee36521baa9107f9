package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// place works on some of the due subjects, with success or failure.
func (h *history) place() {
	r := ledger.PlacementClaim{Worker: "p", Limit: h.most(4), Lease: time.Duration(1+h.number(3)) * time.Minute}
	due, err := ask(h, "queued placements", func(l Ledger) ([]ledger.QueuedPlacement, error) {
		return l.QueuedPlacements(h.ctx, ledger.PlacementQuery{Limit: 3})
	})
	if err == nil && h.chance(3) {
		r.Only = []lethe.ID{h.id()}
		for _, p := range due {
			r.Only = append(r.Only, p.ID)
		}
		r.Limit = len(r.Only)
	}
	claimed, err := ask(h, "claim placements", func(l Ledger) (ledger.Placements, error) { return l.ClaimPlacements(h.ctx, r) })
	if err != nil {
		return
	}
	for _, p := range claimed.Items {
		for _, b := range p.Blobs {
			if b.State == lethe.Live && h.chance(2) {
				h.copyBlob(b, claimed.Fence)
			}
		}
		if !p.Part && len(p.Blobs) > 0 && h.chance(2) {
			h.trimCopies(p, claimed.Fence)
		}
		res := []ledger.PlacementResult{{ID: p.ID, Done: h.chance(2), RetryAt: claimed.Now.Add(time.Minute)}}
		if h.chance(2) {
			res[0].Error = "no room"
		}
		ask(h, "settle placement", func(l Ledger) (int, error) { return l.SettlePlacements(h.ctx, claimed.Fence, res) })
	}
}

// moveInline moves contents to the other side of a limit, or leaves them on their way.
func (h *history) moveInline() {
	q := ledger.Misplaced{Inline: int64(h.number(8)), Limit: h.most(30)}
	page, err := ask(h, "misplaced contents", func(l Ledger) (ledger.ContentPage, error) { return l.MisplacedContents(h.ctx, q) })
	if err != nil {
		return
	}
	for _, c := range page.Contents {
		b, err := ask(h, "inline body", func(l Ledger) (ledger.Body, error) { return l.InlineBody(h.ctx, c.ID) })
		if err != nil {
			body := h.body()
			if i := slices.IndexFunc(bodies, func(b string) bool { return sum(b) == c.Digest }); i >= 0 {
				body = bodies[i]
			}
			ask(h, "move to the ledger", func(l Ledger) (int, error) {
				return l.MoveToLedger(h.ctx, c.ID, ledger.NewBody(sum(body), []byte(body)))
			})
			continue
		}
		in := ledger.CopyIntent{ID: h.id(), Backend: h.one(disk, "tape", "nowhere"), Inline: c.ID, CRC32C: crc(string(b.Bytes))}
		if _, err := ask(h, "move out", func(l Ledger) (ledger.Blob, error) { return l.BeginCopy(h.ctx, in) }); err != nil || h.chance(3) {
			continue
		}
		out := ledger.CopyCommit{Blob: in.ID, Inline: c.ID, Digest: c.Digest, Late: h.chance(3)}
		ask(h, "moved out", func(l Ledger) (any, error) { return nil, l.CommitCopy(h.ctx, out) })
	}
}

// copyBlob makes a copy, or leaves it pending.
func (h *history) copyBlob(src ledger.Blob, fence int64) {
	in := ledger.CopyIntent{ID: h.id(), Backend: h.one(disk, "tape", "nowhere"), Source: src.ID, Fence: fence, Lease: time.Minute}
	b, err := ask(h, fmt.Sprintf("copy %s to %s", src.ID, in.Backend), func(l Ledger) (ledger.Blob, error) { return l.BeginCopy(h.ctx, in) })
	if err != nil || h.chance(4) {
		return
	}
	c := ledger.CopyCommit{Blob: b.ID, Source: src.ID, Digest: src.Digest, Late: h.chance(3), Fence: fence, Lease: time.Minute}
	if h.chance(6) {
		c.Digest = "other"
	}
	if h.chance(2) {
		c.Blocks = lethe.BlockSums{Size: 2, Sums: make([]uint32, lethe.Blocks(b.Size, 2))}
	}
	ask(h, fmt.Sprintf("commit copy %s", b.ID), func(l Ledger) (any, error) { return nil, l.CommitCopy(h.ctx, c) })
}

// trimCopies verifies one copy and condemns others.
func (h *history) trimCopies(p ledger.Placement, fence int64) {
	sound := p.Blobs[h.number(len(p.Blobs))].ID
	if h.chance(2) {
		ask(h, "verified", func(l Ledger) (int, error) { return l.MarkSound(h.ctx, []lethe.ID{sound}, 0) })
	}
	t := ledger.Trim{Content: p.ID, Reason: lethe.ReasonSurplus, Fence: fence, Lease: time.Minute}
	for _, b := range p.Blobs {
		if b.ID != sound && h.chance(2) {
			t.Blobs = append(t.Blobs, b.ID)
		}
	}
	ask(h, fmt.Sprintf("trim %v", t.Blobs), func(l Ledger) (int, error) { return l.TrimCopies(h.ctx, t) })
}

// misplace queues some of the contents.
func (h *history) misplace() {
	blobs, err := ask(h, "blobs", func(l Ledger) ([]ledger.Blob, error) {
		return l.Blobs(h.ctx, ledger.BlobQuery{States: []lethe.State{lethe.Live}, Limit: 20})
	})
	if err != nil {
		return
	}
	var subjects []ledger.Subject
	for _, b := range blobs {
		s := ledger.Subject{ID: b.ContentID, Leave: h.one("", disk)}
		if b.ContentID == "" {
			s = ledger.Subject{ID: b.ID, Part: true}
		}
		if h.chance(2) {
			subjects = append(subjects, s)
		}
	}
	ask(h, fmt.Sprintf("misplace %d", len(subjects)), func(l Ledger) (int, error) { return l.QueuePlacements(h.ctx, subjects) })
}

// drain begins to drain a backend, mostly ends that at once, and tries to remove it.
func (h *history) drain() {
	id, on := h.one(disk, "tape", "nowhere"), h.chance(4)
	ask(h, "drain "+id, func(l Ledger) (any, error) { return nil, l.SetDraining(h.ctx, id, on) })
	ask(h, "remove "+id, func(l Ledger) (any, error) { return nil, l.RemoveBackend(h.ctx, id) })
	if again := (ledger.Backend{ID: id}); on && h.chance(2) {
		ask(h, "add again "+id, func(l Ledger) (any, error) { return wrap(l.AddBackend(h.ctx, again)) })
		ask(h, "end drain of "+id, func(l Ledger) (any, error) { return nil, l.SetDraining(h.ctx, id, false) })
	}
}
