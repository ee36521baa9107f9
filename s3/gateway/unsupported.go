package gateway

import (
	"context"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/s3/authz"
)

// Setting what is not supported is NotImplemented, with its name and the
// alternative. Reading it returns that of a bucket without it, since clients
// read that of any store: no versions, no locks, no website.

// unsupported refuses to set what is not supported.
func (b *Backend) unsupported(ctx context.Context, bucket, instead string) error {
	if err := b.allow(ctx, requestOf(ctx), str(&bucket), authz.Setting); err != nil {
		return err
	}
	return notKept("%s", instead)
}

// noLock names the alternative to object lock.
const noLock = "Object lock is not here. A legal hold (PutObjectLegalHold, lethe hold add) keeps an object from being deleted, replaced and ended."

// PutBucketVersioning is refused.
func (b *Backend) PutBucketVersioning(ctx context.Context, bucket string, _ types.BucketVersioningStatus) error {
	return b.unsupported(ctx, bucket, "Versions are not kept. Deleted and replaced objects can be brought back within the undo window (lethe buckets set --undo, lethe trash restore).")
}

// PutObjectLockConfiguration is refused.
func (b *Backend) PutObjectLockConfiguration(ctx context.Context, bucket string, _ []byte) error {
	return b.unsupported(ctx, bucket, noLock)
}

// PutBucketWebsite is refused.
func (b *Backend) PutBucketWebsite(ctx context.Context, bucket string, _ []byte) error {
	return b.unsupported(ctx, bucket, "Websites are not served. Objects can be opened to everybody by a policy of the bucket or an access control list.")
}

// RestoreObject is refused.
func (b *Backend) RestoreObject(ctx context.Context, in *awss3.RestoreObjectInput) error {
	return b.unsupported(ctx, str(in.Bucket), "Nothing is archived: there is one storage class, and every object can be read.")
}

// GetBucketWebsite returns that there is none.
func (b *Backend) GetBucketWebsite(ctx context.Context, bucket string) ([]byte, error) {
	bucket = str(&bucket)
	if err := b.allow(ctx, requestOf(ctx), bucket, authz.Reading); err != nil {
		return nil, err
	}
	return nil, s3err.GetBucketErr(s3err.ErrNoSuchWebsiteConfiguration, bucket)
}

// DeleteBucketWebsite has no effect.
func (b *Backend) DeleteBucketWebsite(ctx context.Context, bucket string) error {
	return b.allow(ctx, requestOf(ctx), str(&bucket), authz.Setting)
}

// unlocked returns the response about the lock of an object in a bucket without
// locks.
func (b *Backend) unlocked(ctx context.Context, n need) error {
	o, err := b.begin(ctx, n)
	defer o.cancel()
	if err != nil {
		return err
	}
	if _, err := b.store.Objects.Head(o.ctx, o.at()); err != nil {
		return b.fail(o, err)
	}
	return s3err.GetAPIError(s3err.ErrMissingObjectLockConfiguration)
}

// PutObjectRetention is refused: the bucket has no locks.
func (b *Backend) PutObjectRetention(ctx context.Context, bucket, key, _ string, _ []byte) error {
	return b.unlocked(ctx, need{bucket: str(&bucket), key: str(&key), access: authz.Setting})
}

// GetObjectRetention returns that the bucket has no locks.
func (b *Backend) GetObjectRetention(ctx context.Context, bucket, key, _ string) ([]byte, error) {
	return nil, b.unlocked(ctx, need{bucket: str(&bucket), key: str(&key)})
}
