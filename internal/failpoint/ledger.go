//go:build failpoints

package failpoint

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/reclaim"
)

// WrapLedger puts points around the transitions of l.
func WrapLedger(l Ledger) Ledger { return ledger{l, reclaim.AbilitiesOf(l)} }

type ledger struct {
	Ledger
	reclaim.Abilities
}

func (l ledger) Begin(ctx context.Context, in meta.Intent) (meta.Blob, error) {
	return around("begin", func() (meta.Blob, error) { return l.Ledger.Begin(ctx, in) })
}

func (l ledger) Abandon(ctx context.Context, blob lethe.ID, late bool) error {
	return alone("abandon", func() error { return l.Ledger.Abandon(ctx, blob, late) })
}

func (l ledger) Commit(ctx context.Context, c meta.Commit) (meta.Committed, error) {
	return around("commit", func() (meta.Committed, error) { return l.Ledger.Commit(ctx, c) })
}

func (l ledger) Delete(ctx context.Context, d meta.Deletion) (meta.Deletions, error) {
	return around("delete", func() (meta.Deletions, error) { return l.Ledger.Delete(ctx, d) })
}

func (l ledger) Update(ctx context.Context, u meta.Update) (meta.Object, error) {
	return around("update", func() (meta.Object, error) { return l.Ledger.Update(ctx, u) })
}

func (l ledger) CreateUpload(ctx context.Context, u meta.Upload) (meta.Upload, error) {
	return around("create-upload", func() (meta.Upload, error) { return l.Ledger.CreateUpload(ctx, u) })
}

func (l ledger) CommitPart(ctx context.Context, c meta.PartCommit) (meta.Part, error) {
	return around("commit-part", func() (meta.Part, error) { return l.Ledger.CommitPart(ctx, c) })
}

func (l ledger) Complete(ctx context.Context, c meta.Completion) (meta.Committed, error) {
	return around("complete", func() (meta.Committed, error) { return l.Ledger.Complete(ctx, c) })
}

func (l ledger) AbortUpload(ctx context.Context, op lethe.ID, bucket, key string, id lethe.ID) error {
	return alone("abort", func() error { return l.Ledger.AbortUpload(ctx, op, bucket, key, id) })
}

func (l ledger) Restore(ctx context.Context, op, entry lethe.ID, overwrite bool) (meta.Object, error) {
	return around("restore", func() (meta.Object, error) { return l.Ledger.Restore(ctx, op, entry, overwrite) })
}

func (l ledger) Expire(ctx context.Context, b meta.Batch) (meta.Reclaimed, error) {
	return around("expire", func() (meta.Reclaimed, error) { return l.Ledger.Expire(ctx, b) })
}

func (l ledger) ClaimCondemned(ctx context.Context, r meta.ClaimRequest) (meta.Claimed, error) {
	return around("claim", func() (meta.Claimed, error) { return l.Ledger.ClaimCondemned(ctx, r) })
}

func (l ledger) Settle(ctx context.Context, s meta.Settlement) (meta.Settled, error) {
	return around("settle", func() (meta.Settled, error) { return l.Ledger.Settle(ctx, s) })
}

func (l ledger) ClaimIntents(ctx context.Context, r meta.ClaimRequest) (meta.ClaimedIntents, error) {
	return around("claim-intents", func() (meta.ClaimedIntents, error) { return l.Ledger.ClaimIntents(ctx, r) })
}

func (l ledger) Promote(ctx context.Context, fence int64, blob lethe.ID, sums lethe.BlockSums) (meta.Committed, error) {
	return around("promote", func() (meta.Committed, error) { return l.Ledger.Promote(ctx, fence, blob, sums) })
}

func (l ledger) CondemnIntent(ctx context.Context, fence int64, blob lethe.ID) error {
	return alone("condemn-intent", func() error { return l.Ledger.CondemnIntent(ctx, fence, blob) })
}

func (l ledger) AbortStale(ctx context.Context, upload lethe.ID, s meta.Stale) error {
	return alone("abort-stale", func() error { return l.Ledger.AbortStale(ctx, upload, s) })
}

func (l ledger) Purge(ctx context.Context, b meta.Batch) (meta.Reclaimed, error) {
	return around("purge", func() (meta.Reclaimed, error) { return l.Ledger.Purge(ctx, b) })
}

func (l ledger) ExtendGrace(ctx context.Context, content lethe.ID) error {
	return alone("extend-grace", func() error { return l.Ledger.ExtendGrace(ctx, content) })
}

func (l ledger) Foresee(ctx context.Context, limits meta.Limits) ([]meta.Guard, error) {
	return around("foresee", func() ([]meta.Guard, error) { return l.Ledger.Foresee(ctx, limits) })
}

func (l ledger) Unpark(ctx context.Context, limit int) (meta.Unparked, error) {
	return around("unpark", func() (meta.Unparked, error) { return l.Ledger.Unpark(ctx, limit) })
}

func (l ledger) ReleaseIntent(ctx context.Context, fence int64, blob lethe.ID) error {
	return alone("release-intent", func() error { return l.Ledger.ReleaseIntent(ctx, fence, blob) })
}
