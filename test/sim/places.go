package sim

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// The methods that placement uses.

func (s *seam) ClaimPlacements(ctx context.Context, r ledger.PlacementClaim) (ledger.Placements, error) {
	out, err := write(s, "claim-place", "", scope{}, func() (ledger.Placements, error) { return s.in.ClaimPlacements(s.lasting(ctx), r) })
	for _, p := range out.Items {
		s.w.fail(s.w.cur.planned("claim-place", p.ID))
		s.w.tempt(p.Content.ID)
	}
	return out, err
}

func (s *seam) SettlePlacements(ctx context.Context, fence int64, results []ledger.PlacementResult) (int, error) {
	var subjects []lethe.ID
	for _, r := range results {
		subjects = append(subjects, r.ID)
	}
	return write(s, "settle-place", fmt.Sprint(fence, len(results)), scope{rows: subjects}, func() (int, error) {
		others := s.others(fence, subjects...)
		fenced, err := s.in.SettlePlacements(s.lasting(ctx), fence, results)
		if err == nil && fenced != len(others) {
			s.w.fail(broken("of a settle under fence %d %d subjects were refused, and %d were not claimed under it", fence, fenced, len(others)))
		}
		s.untouched(fence, others)
		return fenced, err
	})
}

// others is the rows of placement's queue, by subject, that are not claimed under the
// fence; that of a subject which is not queued is empty.
func (s *seam) others(fence int64, subjects ...lethe.ID) map[lethe.ID]ledger.QueuedPlacement {
	out := map[lethe.ID]ledger.QueuedPlacement{}
	for _, id := range subjects {
		out[id] = ledger.QueuedPlacement{}
	}
	rows, err := s.in.QueuedPlacements(context.Background(), ledger.PlacementQuery{Only: subjects, Limit: len(subjects)})
	s.w.fail(err)
	for _, row := range rows {
		if out[row.ID] = row; row.Fence == fence {
			delete(out, row.ID)
		}
	}
	return out
}

// untouched: what the holder of a claim records changes no row that is not its own.
func (s *seam) untouched(fence int64, before map[lethe.ID]ledger.QueuedPlacement) {
	for id, old := range before {
		if now, other := s.others(fence, id)[id]; !other || now != old {
			s.w.fail(broken("subject %s, queued as %+v, was changed under fence %d", id, old, fence))
		}
	}
}

// holding is a step that only the holder of a subject's claim can do.
func holding[T any](s *seam, fence int64, subject lethe.ID, fn func() (T, error)) (T, error) {
	others := s.others(fence, subject)
	out, err := fn()
	if err == nil && len(others) > 0 {
		s.w.fail(broken("a step under fence %d was done for subject %s, queued as %+v", fence, subject, others[subject]))
	}
	s.untouched(fence, others)
	return out, err
}

// subject is what placement looks after a blob as.
func (w *World) subject(blob lethe.ID) lethe.ID { return cmp.Or(w.contentOf(blob), blob) }

func (s *seam) KeepPlacement(ctx context.Context, subject lethe.ID, fence int64, lease time.Duration) error {
	_, err := write(s, "keep-place", string(subject), scope{rows: []lethe.ID{subject}}, func() (struct{}, error) {
		return holding(s, fence, subject, func() (struct{}, error) { return struct{}{}, s.in.KeepPlacement(s.lasting(ctx), subject, fence, lease) })
	})
	return err
}

func (s *seam) QueuePlacements(ctx context.Context, subjects []ledger.Subject) (int, error) {
	a := s.w.cur
	s.w.fail(a.queues(subjects))
	n, err := write(s, "misplace", fmt.Sprint(len(subjects)), scope{}, func() (int, error) { return s.in.QueuePlacements(s.lasting(ctx), subjects) })
	if a != nil && err == nil {
		a.queued += n
	}
	return n, err
}

func (s *seam) BeginCopy(ctx context.Context, in ledger.CopyIntent) (ledger.Blob, error) {
	return write(s, "begin-copy", string(in.ID), scope{rows: []lethe.ID{cmp.Or(in.Inline, s.w.subject(in.Source))}}, func() (ledger.Blob, error) {
		if in.Inline != "" {
			return s.in.BeginCopy(s.lasting(ctx), in)
		}
		return holding(s, in.Fence, s.w.subject(in.Source), func() (ledger.Blob, error) { return s.in.BeginCopy(s.lasting(ctx), in) })
	})
}

func (s *seam) CommitCopy(ctx context.Context, c ledger.CopyCommit) error {
	_, err := write(s, "commit-copy", string(c.Blob), scope{rows: []lethe.ID{c.Blob, cmp.Or(c.Inline, s.w.subject(c.Source))}}, func() (struct{}, error) {
		if c.Inline != "" {
			return struct{}{}, s.in.CommitCopy(s.lasting(ctx), c)
		}
		return holding(s, c.Fence, s.w.subject(c.Source), func() (struct{}, error) { return struct{}{}, s.in.CommitCopy(s.lasting(ctx), c) })
	})
	if content := s.w.contentOf(c.Blob); err == nil && content != "" {
		s.w.tempt(content)
	}
	return err
}

func (s *seam) TrimCopies(ctx context.Context, r ledger.Trim) (int, error) {
	return write(s, "trim", fmt.Sprint(r.Blobs), scope{rows: []lethe.ID{r.Content}}, func() (int, error) {
		s.w.fail(s.w.cur.planned("trim", r.Blobs...))
		return holding(s, r.Fence, r.Content, func() (int, error) { return s.in.TrimCopies(s.lasting(ctx), r) })
	})
}

func (s *seam) MoveToLedger(ctx context.Context, content lethe.ID, b ledger.Body) (int, error) {
	return write(s, "move-in", string(content), scope{rows: []lethe.ID{content}}, func() (int, error) {
		return s.in.MoveToLedger(s.lasting(ctx), content, b)
	})
}

func (s *seam) InlineBody(ctx context.Context, content lethe.ID) (ledger.Body, error) {
	return read(s, "inline-body", string(content), func() (ledger.Body, error) { return s.in.InlineBody(ctx, content) })
}

func (s *seam) MisplacedContents(ctx context.Context, q ledger.Misplaced) (ledger.ContentPage, error) {
	return read(s, "misplaced", string(q.After), func() (ledger.ContentPage, error) { return s.in.MisplacedContents(ctx, q) })
}

func (s *seam) SetDraining(ctx context.Context, backend string, draining bool) error {
	return do(s, "set-draining", fmt.Sprint(backend, draining), scope{}, func() error { return s.in.SetDraining(s.lasting(ctx), backend, draining) })
}

func (s *seam) RemoveBackend(ctx context.Context, backend string) error {
	return s.in.RemoveBackend(ctx, backend)
}

func (s *seam) MarkSuspect(ctx context.Context, ids []lethe.ID, why string) (int, error) {
	if !s.marks() {
		return s.in.MarkSuspect(ctx, ids, why)
	}
	return write(s, "mark", fmt.Sprint(true, ids), scope{rows: ids}, func() (int, error) {
		s.w.fail(s.w.oracle.doubted(ids, why))
		return s.in.MarkSuspect(s.lasting(ctx), ids, why)
	})
}

func (s *seam) MarkSound(ctx context.Context, ids []lethe.ID, ago time.Duration) (int, error) {
	if !s.marks() {
		return s.in.MarkSound(ctx, ids, ago)
	}
	return write(s, "mark", fmt.Sprint(false, ids), scope{rows: ids}, func() (int, error) {
		return s.in.MarkSound(s.lasting(ctx), ids, ago)
	})
}

// marks says that in this world the marks of blobs are steps of their own.
func (s *seam) marks() bool { return s.w.placed() || s.w.reconciled() || s.w.decays() }

func (s *seam) BlockSums(ctx context.Context, blob lethe.ID, from, to int64) ([]uint32, error) {
	return read(s, "block-sums", fmt.Sprint(blob, from, to), func() ([]uint32, error) { return s.in.BlockSums(ctx, blob, from, to) })
}

func (s *seam) NoteBlocks(ctx context.Context, blob lethe.ID, size int64, sums lethe.BlockSums) (bool, error) {
	return write(s, "note-blocks", string(blob), scope{rows: []lethe.ID{blob}}, func() (bool, error) {
		return s.in.NoteBlocks(s.lasting(ctx), blob, size, sums)
	})
}

// What only looks, looks without an effect.

func (s *seam) PlaceBacklog(ctx context.Context) (ledger.Backlog, error) {
	return s.in.PlaceBacklog(ctx)
}

func (s *seam) QueuedPlacements(ctx context.Context, q ledger.PlacementQuery) ([]ledger.QueuedPlacement, error) {
	return s.in.QueuedPlacements(ctx, q)
}

func (s *seam) Placed(ctx context.Context, subjects []ledger.Subject) ([]ledger.Placement, error) {
	return s.in.Placed(ctx, subjects)
}

func (s *seam) PlacedContents(ctx context.Context, after lethe.ID, limit int) ([]ledger.Placement, error) {
	return s.in.PlacedContents(ctx, after, limit)
}
