package stale

import (
	"context"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/failpoint"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/reclaim"
)

// What changes an answer is forgotten here. The other transitions change none:
// those of intents, parts, uploads, trash, holds and copies are not read through
// the memory, and rules (SetRules) act by stamps, which Restamp changes.

// forget drops an object before and after it is changed, whatever came of it.
func forget[T any](l *Ledger, keys []string, change func() (T, error)) (T, error) {
	l.r.drop(keys...)
	defer l.r.drop(keys...)
	return change()
}

// forgetAll drops everything around a change that does not name what it changes.
// Such changes are rare, and made by persons.
func forgetAll[T any](l *Ledger, change func() (T, error)) (T, error) {
	l.r.dropAll()
	defer l.r.dropAll()
	return change()
}

// Commit implements object.Ledger.
func (l *Ledger) Commit(ctx context.Context, c meta.Commit) (meta.Committed, error) {
	return forget(l, []string{objectKey(c.Object.Bucket, c.Object.Key)}, func() (meta.Committed, error) { return l.Ledger.Commit(ctx, c) })
}

// Complete implements object.Ledger.
func (l *Ledger) Complete(ctx context.Context, c meta.Completion) (meta.Committed, error) {
	return forget(l, []string{objectKey(c.Bucket, c.Key)}, func() (meta.Committed, error) { return l.Ledger.Complete(ctx, c) })
}

// Update implements object.Ledger.
func (l *Ledger) Update(ctx context.Context, u meta.Update) (meta.Object, error) {
	return forget(l, []string{objectKey(u.Bucket, u.Key)}, func() (meta.Object, error) { return l.Ledger.Update(ctx, u) })
}

// Delete implements object.Ledger.
func (l *Ledger) Delete(ctx context.Context, d meta.Deletion) (meta.Deletions, error) {
	keys := make([]string, len(d.Items))
	for i, item := range d.Items {
		keys[i] = objectKey(d.Bucket, item.Key)
	}
	return forget(l, keys, func() (meta.Deletions, error) { return l.Ledger.Delete(ctx, d) })
}

// Restore implements object.Ledger. It names an entry of the trash, not the key
// whose object it replaces.
func (l *Ledger) Restore(ctx context.Context, op, entry lethe.ID, overwrite bool) (meta.Object, error) {
	return forgetAll(l, func() (meta.Object, error) { return l.Ledger.Restore(ctx, op, entry, overwrite) })
}

// CreateBucket implements object.Ledger: another of the name may be remembered.
func (l *Ledger) CreateBucket(ctx context.Context, b meta.Bucket) (meta.Bucket, error) {
	return forget(l, []string{bucketKey(b.Name)}, func() (meta.Bucket, error) { return l.Ledger.CreateBucket(ctx, b) })
}

// ConfigureBucket implements object.Ledger.
func (l *Ledger) ConfigureBucket(ctx context.Context, name string, s meta.BucketSettings) (meta.Bucket, error) {
	return forget(l, []string{bucketKey(name)}, func() (meta.Bucket, error) { return l.Ledger.ConfigureBucket(ctx, name, s) })
}

// DeleteBucket implements object.Ledger. With the name go documents of any kind.
func (l *Ledger) DeleteBucket(ctx context.Context, name string) error {
	_, err := forgetAll(l, func() (any, error) { return nil, l.Ledger.DeleteBucket(ctx, name) })
	return err
}

// SetBucketOwner implements object.Ledger.
func (l *Ledger) SetBucketOwner(ctx context.Context, bucket, owner string) error {
	_, err := forget(l, []string{bucketKey(bucket)}, func() (any, error) { return nil, l.Ledger.SetBucketOwner(ctx, bucket, owner) })
	return err
}

// PutDocument implements object.Ledger.
func (l *Ledger) PutDocument(ctx context.Context, d meta.Document) error {
	_, err := forget(l, []string{documentKey(d.Bucket, d.Kind)}, func() (any, error) { return nil, l.Ledger.PutDocument(ctx, d) })
	return err
}

// DeleteDocument implements object.Ledger.
func (l *Ledger) DeleteDocument(ctx context.Context, d meta.Document) error {
	_, err := forget(l, []string{documentKey(d.Bucket, d.Kind)}, func() (any, error) { return nil, l.Ledger.DeleteDocument(ctx, d) })
	return err
}

// Engine is a ledger whose routines have the memory forget what they change.
type Engine struct {
	failpoint.Ledger
	reclaim.Abilities
	r *Reads
}

// Engine puts the memory beside the ledger of the routines. Expire needs nothing:
// it takes only what Resolve would not tell again.
func (r *Reads) Engine(l failpoint.Ledger) *Engine { return &Engine{l, reclaim.AbilitiesOf(l), r} }

// Promote implements reclaim.ReapLedger: it may replace an object.
func (e *Engine) Promote(ctx context.Context, fence int64, blob lethe.ID, sums lethe.BlockSums) (meta.Committed, error) {
	out, err := e.Ledger.Promote(ctx, fence, blob, sums)
	switch {
	case err == nil:
		e.r.drop(objectKey(out.Object.Bucket, out.Object.Key))
	case errors.Is(err, lethe.ErrUnknownOutcome), errors.Is(err, lethe.ErrUnavailable):
		e.r.dropAll()
	}
	return out, err
}

// Restamp implements reclaim.LifecycleLedger: objects that had no end, or a later
// one, may end now.
func (e *Engine) Restamp(ctx context.Context, limit int) (meta.Restamped, error) {
	out, err := e.Ledger.Restamp(ctx, limit)
	if err != nil || out.Changed > 0 {
		e.r.dropAll()
	}
	return out, err
}
