package s3

import (
	"context"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/object"
)

// maxTags is the most tags of an object, as S3 has it.
const maxTags = 10

// GetObjectTagging returns an object's tags.
func (b *Backend) GetObjectTagging(ctx context.Context, bucket, key, version string) (map[string]string, error) {
	o, err := b.begin(ctx, need{bucket: str(&bucket), key: str(&key)})
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(&version))
	}
	if err != nil {
		return nil, err
	}
	obj, err := b.store.Head(o.ctx, object.GetRequest{Bucket: o.names.bucket, Key: o.names.key})
	return obj.Tags, b.fail(o, err)
}

// PutObjectTagging replaces an object's tags, nil for none. Its content, time to
// live and date stay.
func (b *Backend) PutObjectTagging(ctx context.Context, bucket, key, version string, tags map[string]string) error {
	o, err := b.begin(ctx, need{bucket: str(&bucket), key: str(&key), write: true, xml: tags != nil})
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(&version))
	}
	if err != nil {
		return err
	}
	tags = cloneMap(tags)
	_, err = b.store.Update(o.ctx, meta.Update{Bucket: o.names.bucket, Key: o.names.key, Tags: &tags})
	return b.fail(o, err)
}

// DeleteObjectTagging removes an object's tags.
func (b *Backend) DeleteObjectTagging(ctx context.Context, bucket, key, version string) error {
	return b.PutObjectTagging(ctx, bucket, key, version, nil)
}
