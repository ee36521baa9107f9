package gateway

import (
	"context"
	"errors"

	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// Legal holds do not require a bucket with object lock, as S3 does: there are
// no versions to lock, and a held key cannot be deleted, replaced or expired.
// Buckets are not reported as locked. A hold outlives the object that clients see: whoever set it
// can release it once that has ended, as the hold keeps its bytes, and other objects from its key.

// PutObjectLegalHold sets or removes the legal hold of a key. The operator's
// holds stay.
func (b *Backend) PutObjectLegalHold(ctx context.Context, bucket, key, version string, on bool) error {
	n := need{bucket: str(&bucket), key: str(&key), access: authz.Setting}
	o, err := b.begin(ctx, n)
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(&version))
	}
	if err != nil {
		return err
	}
	was, err := b.legalHold(o)
	if err == nil && (on || !was) {
		_, err = b.store.Objects.Head(o.ctx, o.at())
	}
	if err != nil {
		return b.fail(o, err)
	}
	o.req.changes(s3.ChangedLegalHold, was)
	h := ledger.Hold{Bucket: n.bucket, Into: o.bucket, Scope: ledger.HoldLegal, Key: n.key, Reason: "legal hold", By: byS3}
	if on {
		_, err = b.store.Holds.AddHold(o.ctx, h)
	} else if err = b.store.Holds.ReleaseHold(o.ctx, h); errors.Is(err, ledger.ErrNoSuchHold) {
		err = nil
	}
	if err == nil {
		o.req.changed(s3.ChangedLegalHold, on)
	}
	return b.fail(o, err)
}

// GetObjectLegalHold returns whether the key has a legal hold. Without one it
// fails as for a bucket without object lock, as on S3.
func (b *Backend) GetObjectLegalHold(ctx context.Context, bucket, key, version string) (*bool, error) {
	n := need{bucket: str(&bucket), key: str(&key)}
	o, err := b.begin(ctx, n)
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(&version))
	}
	if err != nil {
		return nil, err
	}
	on, err := b.legalHold(o)
	if err == nil && !on {
		_, err = b.store.Objects.Head(o.ctx, o.at())
	}
	if err != nil {
		return nil, b.fail(o, err)
	}
	if !on {
		return nil, s3err.GetAPIError(s3err.ErrMissingObjectLockConfiguration)
	}
	return &on, nil
}
