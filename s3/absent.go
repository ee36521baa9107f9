package s3

import (
	"context"

	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/object"
)

// What we do not have is NotImplemented when it is asked for, by the embedded
// backend. Whether a bucket has it is answered as by a bucket that does not, for
// clients ask that of any store: no versions, no locks, no website.

// GetBucketWebsite answers that there is none.
func (b *Backend) GetBucketWebsite(ctx context.Context, bucket string) ([]byte, error) {
	bucket = str(&bucket)
	if err := b.allow(ctx, requestOf(ctx), bucket, false); err != nil {
		return nil, err
	}
	return nil, s3err.GetBucketErr(s3err.ErrNoSuchWebsiteConfiguration, bucket)
}

// DeleteBucketWebsite has nothing to delete.
func (b *Backend) DeleteBucketWebsite(ctx context.Context, bucket string) error {
	return b.allow(ctx, requestOf(ctx), str(&bucket), true)
}

// unlocked answers what is asked about the lock of an object in a bucket without
// locks.
func (b *Backend) unlocked(ctx context.Context, n need) error {
	o, err := b.begin(ctx, n)
	defer o.cancel()
	if err != nil {
		return err
	}
	if _, err := b.store.Head(o.ctx, object.GetRequest{Bucket: n.bucket, Key: n.key}); err != nil {
		return b.fail(o, err)
	}
	return s3err.GetAPIError(s3err.ErrMissingObjectLockConfiguration)
}

// PutObjectRetention is refused: the bucket has no locks.
func (b *Backend) PutObjectRetention(ctx context.Context, bucket, key, _ string, _ []byte) error {
	return b.unlocked(ctx, need{bucket: str(&bucket), key: str(&key), write: true})
}

// GetObjectRetention answers that the bucket has no locks.
func (b *Backend) GetObjectRetention(ctx context.Context, bucket, key, _ string) ([]byte, error) {
	return nil, b.unlocked(ctx, need{bucket: str(&bucket), key: str(&key)})
}
