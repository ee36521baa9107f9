package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// The methods that the engine uses.

func (s *seam) Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	return write(s, "expire", fmt.Sprint(b.Limit), scope{due: true, only: b.Only}, func() (ledger.Reclaimed, error) {
		s.looked(b)
		out, err := s.in.Expire(s.lasting(ctx), b)
		s.w.oracle.stops(out.Tripped...)
		return out, err
	})
}

func (s *seam) DueBuckets(ctx context.Context, q ledger.TurnQuery) (ledger.Turns, error) {
	return read(s, "due-buckets", q.Backend, func() (ledger.Turns, error) { return s.in.DueBuckets(ctx, q) })
}

func (s *seam) ExpireBacklog(ctx context.Context) (ledger.Backlog, error) {
	return s.in.ExpireBacklog(ctx)
}

func (s *seam) ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error) {
	return write(s, "claim", r.Backend, scope{}, func() (ledger.Claimed, error) {
		out, err := s.in.ClaimCondemned(s.lasting(ctx), r)
		if out.Tripped != nil {
			s.w.oracle.stops(*out.Tripped)
		}
		s.w.fail(s.handedOut(r.Backend, out.Blobs))
		s.w.fail(s.w.cur.planned("claim", blobIDs(out.Blobs)...))
		for _, b := range out.Blobs {
			if b.DueAt > out.Now {
				s.w.fail(broken("blob %s was handed out for deletion at %s, before its readers' grace ended at %s", b.ID, out.Now, b.DueAt))
			}
		}
		return out, err
	})
}

func (s *seam) Settle(ctx context.Context, t ledger.Settlement) (ledger.Settled, error) {
	sc := scope{fence: t.Fence, waits: s.w.waiting()}
	for _, item := range t.Items {
		sc.blobs = append(sc.blobs, item.ID)
	}
	return write(s, "settle", fmt.Sprintf("fence %d, %d items", t.Fence, len(t.Items)), sc, func() (ledger.Settled, error) {
		s.w.oracle.settles(sc)
		return s.in.Settle(s.lasting(ctx), t)
	})
}

func (s *seam) RecoverClaims(ctx context.Context, grace time.Duration, limit int) ([]ledger.Recovered, error) {
	return write(s, "recover", "", scope{}, func() ([]ledger.Recovered, error) { return s.in.RecoverClaims(s.lasting(ctx), grace, limit) })
}

func (s *seam) CondemnedDue(ctx context.Context, backend string, after lethe.Time) (bool, error) {
	return s.in.CondemnedDue(ctx, backend, after)
}

func (s *seam) CleanBacklog(ctx context.Context, backend string) (ledger.Backlog, error) {
	return s.in.CleanBacklog(ctx, backend)
}

func (s *seam) ClaimIntents(ctx context.Context, r ledger.ClaimRequest) (ledger.ClaimedIntents, error) {
	return write(s, "claim-intents", "", scope{}, func() (ledger.ClaimedIntents, error) {
		out, err := s.in.ClaimIntents(s.lasting(ctx), r)
		for _, in := range out.Intents {
			s.w.fail(s.w.cur.planned("claim-intents", in.Blob.ID))
		}
		return out, err
	})
}

func (s *seam) Promote(ctx context.Context, fence int64, id lethe.ID, sums lethe.BlockSums) (ledger.Committed, error) {
	c, known := s.w.oracle.promised[id]
	sc := scope{bucket: c.Object.Bucket, keys: []string{c.Object.Key}, op: c.Op, recorded: c.Op, fence: fence, blobs: []lethe.ID{id}}
	return write(s, "promote", string(id), sc, func() (ledger.Committed, error) {
		out, err := s.in.Promote(s.lasting(ctx), fence, id, sums)
		if err == nil && !known {
			s.w.fail(broken("intent %s was promoted although nothing was promised", id))
		}
		s.w.oracle.applied(c.Op, err)
		return out, err
	})
}

func (s *seam) CondemnIntent(ctx context.Context, fence int64, id lethe.ID) error {
	return do(s, "condemn-intent", string(id), scope{fence: fence, blobs: []lethe.ID{id}}, func() error { return s.in.CondemnIntent(s.lasting(ctx), fence, id) })
}

func (s *seam) ReleaseIntent(ctx context.Context, fence int64, id lethe.ID) error {
	return do(s, "release-intent", string(id), scope{fence: fence, blobs: []lethe.ID{id}}, func() error { return s.in.ReleaseIntent(s.lasting(ctx), fence, id) })
}

func (s *seam) ReapBacklog(ctx context.Context, minAge time.Duration) (ledger.Backlog, error) {
	return s.in.ReapBacklog(ctx, minAge)
}

func (s *seam) StaleUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error) {
	return read(s, "stale-uploads", "", func() ([]ledger.OverdueUpload, error) { return s.in.StaleUploads(ctx, q) })
}

func (s *seam) AbortStale(ctx context.Context, id lethe.ID, stale ledger.Stale) error {
	return do(s, "abort-stale", string(id), scope{}, func() error { return s.in.AbortStale(s.lasting(ctx), id, stale) })
}

func (s *seam) UploadBacklog(ctx context.Context, stale ledger.Stale) (ledger.Backlog, error) {
	return s.in.UploadBacklog(ctx, stale)
}

func (s *seam) Purge(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	return write(s, "purge", "", scope{only: b.Only}, func() (ledger.Reclaimed, error) {
		out, err := s.in.Purge(s.lasting(ctx), b)
		s.w.oracle.stops(out.Tripped...)
		return out, err
	})
}

func (s *seam) PurgeBacklog(ctx context.Context) (ledger.Backlog, error) {
	return s.in.PurgeBacklog(ctx)
}

func (s *seam) Prune(ctx context.Context, limit int) (int, error) {
	return write(s, "prune", "", scope{}, func() (int, error) { return s.in.Prune(s.lasting(ctx), limit) })
}

// SweepDigests is no step of the protocol either, and only SQLite's ledger has it.
func (s *seam) SweepDigests(ctx context.Context, from string, limit int) (string, int, error) {
	in, ok := s.in.(interface {
		SweepDigests(ctx context.Context, from string, limit int) (string, int, error)
	})
	if !ok {
		return "", 0, errors.ErrUnsupported
	}
	return in.SweepDigests(ctx, from, limit)
}

// Runs, guards and verify are no steps of the protocol for one
// blob: they pass.

func (s *seam) StartRun(ctx context.Context, r ledger.Run) error { return s.in.StartRun(ctx, r) }

func (s *seam) BeatRun(ctx context.Context, id lethe.ID, counts map[string]int64) error {
	return s.in.BeatRun(ctx, id, counts)
}

func (s *seam) FinishRun(ctx context.Context, id lethe.ID, outcome string, counts map[string]int64) error {
	return s.in.FinishRun(ctx, id, outcome, counts)
}

func (s *seam) RunsSince(ctx context.Context, routine string, since lethe.Time, limit int) ([]ledger.Run, error) {
	return s.in.RunsSince(ctx, routine, since, limit)
}

func (s *seam) LastRuns(ctx context.Context) (last, succeeded map[string]ledger.Run, err error) {
	return s.in.LastRuns(ctx)
}

func (s *seam) BeginRun(ctx context.Context, r ledger.Solo) (ledger.SoloResult, error) {
	return s.in.BeginRun(ctx, r)
}

func (s *seam) EndStaleRuns(ctx context.Context, age time.Duration) ([]ledger.Run, error) {
	return s.in.EndStaleRuns(ctx, age)
}

func (s *seam) InterruptRuns(ctx context.Context, worker string) (int, error) {
	return s.in.InterruptRuns(ctx, worker)
}

func (s *seam) AddBackend(ctx context.Context, b ledger.Backend) (ledger.Backend, error) {
	return s.in.AddBackend(ctx, b)
}

func (s *seam) Backends(ctx context.Context) ([]ledger.Backend, error) { return s.in.Backends(ctx) }

func (s *seam) Dead(ctx context.Context, q ledger.DeadQuery) ([]ledger.DeadLetter, error) {
	return s.in.Dead(ctx, q)
}

func (s *seam) DeadByID(ctx context.Context, ids []lethe.ID) ([]ledger.DeadLetter, error) {
	return s.in.DeadByID(ctx, ids)
}

func (s *seam) Requeue(ctx context.Context, ids []lethe.ID) (int, error) {
	return write(s, "requeue", fmt.Sprint(ids), scope{blobs: ids}, func() (int, error) { return s.in.Requeue(s.lasting(ctx), ids) })
}

func (s *seam) WriteOff(ctx context.Context, ids []lethe.ID) (int, error) {
	return write(s, "write-off", fmt.Sprint(ids), scope{blobs: ids}, func() (int, error) {
		for _, id := range ids { // whoever vouches that the bytes are gone has just looked
			if b := s.w.oracle.last[id]; b.State == lethe.Dead {
				s.w.disks[b.Backend].Lose(lethe.BlobKey(s.w.store, id))
			}
		}
		return s.in.WriteOff(s.lasting(ctx), ids)
	})
}

func (s *seam) Totals(ctx context.Context) ([]ledger.Total, error) { return s.in.Totals(ctx) }

func (s *seam) Recount(ctx context.Context) ([]ledger.Discrepancy, error) { return s.in.Recount(ctx) }

func (s *seam) CheckBodies(ctx context.Context, after lethe.ID, limit int) (ledger.BodyCheck, error) {
	return s.in.CheckBodies(ctx, after, limit)
}

// A count of what buckets store only reads, and what it keeps decides nothing: neither is an
// effect.

func (s *seam) UsageObjects(ctx context.Context, q ledger.UsageQuery) (lethe.Time, []ledger.ObjectUse, error) {
	return s.in.UsageObjects(ctx, q)
}

func (s *seam) UsageTrash(ctx context.Context, q ledger.UsageQuery) ([]ledger.TrashUse, error) {
	return s.in.UsageTrash(ctx, q)
}

func (s *seam) OpenUploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.OverdueUpload, error) {
	return s.in.OpenUploads(ctx, q)
}

func (s *seam) SaveUsage(ctx context.Context, r ledger.UsageRecord, keep time.Duration) error {
	return s.in.SaveUsage(ctx, r, keep)
}

func (s *seam) UsageRecords(ctx context.Context, q ledger.UsageRecordQuery) ([]ledger.UsageRecord, error) {
	return s.in.UsageRecords(ctx, q)
}

func (s *seam) Blobs(ctx context.Context, q ledger.BlobQuery) ([]ledger.Blob, error) {
	return s.in.Blobs(ctx, q)
}

func (s *seam) BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error) {
	return s.in.BlobsByID(ctx, ids)
}

func (s *seam) DueObjects(ctx context.Context, q ledger.DueQuery) (ledger.DuePage, error) {
	return s.in.DueObjects(ctx, q)
}

func (s *seam) DueTrash(ctx context.Context, q ledger.DueQuery) (ledger.DuePage, error) {
	return s.in.DueTrash(ctx, q)
}

func (s *seam) DueBlobs(ctx context.Context, q ledger.DueQuery) ([]ledger.Blob, error) {
	return s.in.DueBlobs(ctx, q)
}

func (s *seam) ObjectsNamed(ctx context.Context, names []ledger.Named) ([]ledger.Due, error) {
	return s.in.ObjectsNamed(ctx, names)
}
