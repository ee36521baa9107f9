package fate

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/failpoint"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
)

// ledger is a ledger that is watched.
type ledger struct {
	failpoint.Ledger
	reclaim.Abilities
	w *Watch
}

// Ledger watches the ledger of objects and of the engine.
func (w *Watch) Ledger(l failpoint.Ledger) failpoint.Ledger {
	return &ledger{l, reclaim.AbilitiesOf(l), w}
}

func (l *ledger) Begin(ctx context.Context, in meta.Intent) (meta.Blob, error) {
	b, err := l.Ledger.Begin(ctx, in)
	if err == nil {
		l.w.remember(in.ID, in.Backend, in.Size)
	}
	l.w.tell(Failure{Stage: "begin", Backend: in.Backend, Size: in.Size}, err, in.ID)
	return b, err
}

func (l *ledger) Abandon(ctx context.Context, blob lethe.ID, late bool) error {
	err := l.Ledger.Abandon(ctx, blob, late)
	l.w.abandoned(err, blob)
	return err
}

func (l *ledger) CondemnLate(ctx context.Context, b meta.LateBytes) error {
	err := l.Ledger.CondemnLate(ctx, b)
	l.w.late(b, err)
	return err
}

func (l *ledger) Commit(ctx context.Context, c meta.Commit) (meta.Committed, error) {
	out, err := l.Ledger.Commit(ctx, c)
	l.w.ended(Failure{Stage: "commit", Op: c.Op}, err, uploaded(c.Blobs)...)
	return out, err
}

func uploaded(blobs []meta.Uploaded) (out []lethe.ID) {
	for _, b := range blobs {
		out = append(out, b.Blob)
	}
	return out
}

func (l *ledger) CommitPart(ctx context.Context, c meta.PartCommit) (meta.Part, error) {
	out, err := l.Ledger.CommitPart(ctx, c)
	var blobs []lethe.ID
	if c.Part.BlobID != "" {
		blobs = append(blobs, c.Part.BlobID)
	}
	l.w.ended(Failure{Stage: "part", Op: c.Op, Upload: c.Part.UploadID}, err, blobs...)
	return out, err
}

func (l *ledger) Complete(ctx context.Context, c meta.Completion) (meta.Committed, error) {
	out, err := l.Ledger.Complete(ctx, c)
	l.w.condemning(Failure{Stage: "complete", Op: c.Op, Upload: c.UploadID, Size: c.Commit.Object.Size}, err)
	return out, err
}

func (l *ledger) Delete(ctx context.Context, d meta.Deletion) (meta.Deletions, error) {
	out, err := l.Ledger.Delete(ctx, d)
	l.w.condemning(Failure{Stage: "delete", Op: d.Op}, err)
	return out, err
}

func (l *ledger) AbortUpload(ctx context.Context, op lethe.ID, bucket, key string, id lethe.ID) error {
	err := l.Ledger.AbortUpload(ctx, op, bucket, key, id)
	l.w.condemning(Failure{Stage: "abort", Op: op, Upload: id}, err)
	return err
}

func (l *ledger) AbortStale(ctx context.Context, upload lethe.ID, s meta.Stale) error {
	err := l.Ledger.AbortStale(ctx, upload, s)
	l.w.condemning(Failure{Stage: "abort", Upload: upload}, err)
	return err
}

func (l *ledger) AbortRuled(ctx context.Context, upload lethe.ID) (string, error) {
	rule, err := l.Ledger.AbortRuled(ctx, upload)
	l.w.condemning(Failure{Stage: "abort", Upload: upload}, err)
	return rule, err
}

func (l *ledger) Expire(ctx context.Context, b meta.Batch) (meta.Reclaimed, error) {
	out, err := l.Ledger.Expire(ctx, b)
	l.w.condemning(Failure{Stage: "condemn"}, err)
	return out, err
}

func (l *ledger) Purge(ctx context.Context, b meta.Batch) (meta.Reclaimed, error) {
	out, err := l.Ledger.Purge(ctx, b)
	l.w.condemning(Failure{Stage: "condemn"}, err)
	return out, err
}

func (l *ledger) ClaimCondemned(ctx context.Context, r meta.ClaimRequest) (meta.Claimed, error) {
	out, err := l.Ledger.ClaimCondemned(ctx, r)
	if err == nil {
		l.w.claimed(out.Fence, out.Blobs)
	}
	return out, err
}

func (l *ledger) Settle(ctx context.Context, s meta.Settlement) (meta.Settled, error) {
	out, err := l.Ledger.Settle(ctx, s)
	byPlace := map[string][]Bytes{}
	for _, b := range l.w.settled(s.Fence) {
		byPlace[b.Backend] = append(byPlace[b.Backend], Bytes{b.ID, b.Size})
	}
	if len(byPlace) > 0 {
		l.w.failed(Failure{Stage: "settle", Fence: s.Fence}, err, byPlace)
	}
	return out, err
}

func (l *ledger) ClaimIntents(ctx context.Context, r meta.ClaimRequest) (meta.ClaimedIntents, error) {
	out, err := l.Ledger.ClaimIntents(ctx, r)
	for _, in := range out.Intents {
		l.w.remember(in.Blob.ID, in.Blob.Backend, in.Blob.Size)
	}
	return out, err
}

func (l *ledger) Promote(ctx context.Context, fence int64, blob lethe.ID, sums lethe.BlockSums) (meta.Committed, error) {
	out, err := l.Ledger.Promote(ctx, fence, blob, sums)
	l.w.ended(Failure{Stage: "promote", Fence: fence}, err, blob)
	return out, err
}

func (l *ledger) CondemnIntent(ctx context.Context, fence int64, blob lethe.ID) error {
	err := l.Ledger.CondemnIntent(ctx, fence, blob)
	l.w.tell(Failure{Stage: "condemn", Fence: fence}, err, blob)
	l.w.forget(blob)
	return err
}

func (l *ledger) ReleaseIntent(ctx context.Context, fence int64, blob lethe.ID) error {
	err := l.Ledger.ReleaseIntent(ctx, fence, blob)
	l.w.tell(Failure{Stage: "release", Fence: fence}, err, blob)
	l.w.forget(blob)
	return err
}

// copies is the ledger of placement, watched.
type copies struct {
	placement.Ledger
	w *Watch
}

// Copies watches the ledger of placement.
func (w *Watch) Copies(l placement.Ledger) placement.Ledger { return &copies{l, w} }

func (c *copies) BeginCopy(ctx context.Context, in meta.CopyIntent) (meta.Blob, error) {
	b, err := c.Ledger.BeginCopy(ctx, in)
	if err == nil {
		c.w.remember(in.ID, in.Backend, b.Size)
	}
	c.w.tell(Failure{Stage: "begin", Backend: in.Backend, Fence: in.Fence}, err, in.ID)
	return b, err
}

func (c *copies) Abandon(ctx context.Context, blob lethe.ID, late bool) error {
	err := c.Ledger.Abandon(ctx, blob, late)
	c.w.abandoned(err, blob)
	return err
}

func (c *copies) CondemnLate(ctx context.Context, b meta.LateBytes) error {
	err := c.Ledger.CondemnLate(ctx, b)
	c.w.late(b, err)
	return err
}

func (c *copies) CommitCopy(ctx context.Context, k meta.CopyCommit) error {
	err := c.Ledger.CommitCopy(ctx, k)
	c.w.ended(Failure{Stage: "copy", Fence: k.Fence}, err, k.Blob)
	return err
}

func (c *copies) TrimCopies(ctx context.Context, r meta.Trim) (int, error) {
	n, err := c.Ledger.TrimCopies(ctx, r)
	c.w.condemning(Failure{Stage: "trim", Fence: r.Fence}, err)
	return n, err
}
