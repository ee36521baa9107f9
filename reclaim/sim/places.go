package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// The methods that placement uses.

func (s *seam) ClaimPlacements(ctx context.Context, r meta.PlacementClaim) (meta.Placements, error) {
	out, err := write(s, "claim-place", "", scope{}, func() (meta.Placements, error) { return s.in.ClaimPlacements(ctx, r) })
	for _, p := range out.Items {
		s.w.fail(s.w.cur.planned("claim-place", p.ID))
		s.w.tempt(p.Content.ID)
	}
	return out, err
}

func (s *seam) SettlePlacements(ctx context.Context, fence int64, results []meta.PlacementResult) (int, error) {
	return write(s, "settle-place", fmt.Sprint(fence, len(results)), scope{}, func() (int, error) {
		return s.in.SettlePlacements(ctx, fence, results)
	})
}

func (s *seam) KeepPlacement(ctx context.Context, subject lethe.ID, fence int64, lease time.Duration) error {
	return do(s, "keep-place", string(subject), scope{}, func() error { return s.in.KeepPlacement(ctx, subject, fence, lease) })
}

func (s *seam) Misplace(ctx context.Context, subjects []meta.Subject) (int, error) {
	a := s.w.cur
	s.w.fail(a.queues(subjects))
	n, err := write(s, "misplace", fmt.Sprint(len(subjects)), scope{}, func() (int, error) { return s.in.Misplace(ctx, subjects) })
	if a != nil && err == nil {
		a.queued += n
	}
	return n, err
}

func (s *seam) BeginCopy(ctx context.Context, in meta.CopyIntent) (meta.Blob, error) {
	return write(s, "begin-copy", string(in.ID), scope{}, func() (meta.Blob, error) { return s.in.BeginCopy(ctx, in) })
}

func (s *seam) CommitCopy(ctx context.Context, c meta.CopyCommit) error {
	err := do(s, "commit-copy", string(c.Blob), scope{}, func() error { return s.in.CommitCopy(ctx, c) })
	if content := s.w.contentOf(c.Blob); err == nil && content != "" {
		s.w.tempt(content)
	}
	return err
}

func (s *seam) TrimCopies(ctx context.Context, r meta.Trim) (int, error) {
	return write(s, "trim", fmt.Sprint(r.Blobs), scope{}, func() (int, error) {
		s.w.fail(s.w.cur.planned("trim", r.Blobs...))
		return s.in.TrimCopies(ctx, r)
	})
}

func (s *seam) SetDraining(ctx context.Context, backend string, draining bool) error {
	return do(s, "set-draining", fmt.Sprint(backend, draining), scope{}, func() error { return s.in.SetDraining(ctx, backend, draining) })
}

func (s *seam) RemoveBackend(ctx context.Context, backend string) error {
	return s.in.RemoveBackend(ctx, backend)
}

func (s *seam) MarkSuspect(ctx context.Context, ids []lethe.ID, suspect bool, why string) (int, error) {
	if !s.w.placed() && !s.w.reconciled() {
		return s.in.MarkSuspect(ctx, ids, suspect, why)
	}
	return write(s, "mark", fmt.Sprint(suspect, ids), scope{}, func() (int, error) {
		if suspect {
			s.w.fail(s.w.oracle.doubted(ids, why))
		}
		return s.in.MarkSuspect(ctx, ids, suspect, why)
	})
}

// What only looks, looks without an effect.

func (s *seam) PlaceBacklog(ctx context.Context) (meta.Backlog, error) { return s.in.PlaceBacklog(ctx) }

func (s *seam) QueuedPlacements(ctx context.Context, q meta.PlacementQuery) ([]meta.QueuedPlacement, error) {
	return s.in.QueuedPlacements(ctx, q)
}

func (s *seam) Placed(ctx context.Context, subjects []meta.Subject) ([]meta.Placement, error) {
	return s.in.Placed(ctx, subjects)
}

func (s *seam) PlacedContents(ctx context.Context, after lethe.ID, limit int) ([]meta.Placement, error) {
	return s.in.PlacedContents(ctx, after, limit)
}
