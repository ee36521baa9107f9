package gateway

import (
	"context"
	"net/http"

	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

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
	obj, err := b.store.Objects.Head(o.ctx, o.at())
	return obj.Tags, b.fail(o, err)
}

// PutObjectTagging replaces an object's tags, nil for none. It keeps its
// content, time to live and date.
func (b *Backend) PutObjectTagging(ctx context.Context, bucket, key, version string, tags map[string]string) error {
	o, err := b.begin(ctx, need{bucket: str(&bucket), key: str(&key), access: authz.Writing, xml: tags != nil})
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(&version))
	}
	if err == nil && tags != nil {
		err = checkTags(ctx, tags)
	}
	if err != nil {
		return err
	}
	tags = cloneMap(tags)
	return b.fail(o, b.update(o, ledger.Update{Tags: &tags}))
}

// DeleteObjectTagging removes an object's tags.
func (b *Backend) DeleteObjectTagging(ctx context.Context, bucket, key, version string) error {
	return b.PutObjectTagging(ctx, bucket, key, version, nil)
}

// checkTags reads the request's document strictly, and refuses tags that S3
// reserves. versitygw has read it already, but takes any other document for no
// tags, and the last of two keys in one tag for its key.
func checkTags(ctx context.Context, tags map[string]string) error {
	if rc, ok := ctx.(*fasthttp.RequestCtx); ok {
		if _, ok := s3.DocumentTags(rc.Request.Body()); !ok {
			return s3err.GetAPIError(s3err.ErrMalformedXML)
		}
	}
	return unreserved(tags)
}

// unreserved refuses tags with reserved keys, as S3 does.
func unreserved(tags map[string]string) error {
	if !s3.HasReservedTag(tags) {
		return nil
	}
	return s3err.APIError{
		Code: "InvalidTag", HTTPStatusCode: http.StatusBadRequest,
		Description: "Tags whose keys begin with aws: are system tags, which cannot be set by requests.",
	}
}

// mayTag checks by the bucket's policy, if it has one, that an unsigned upload may also set
// tags: versitygw has checked only that it may write.
func (b *Backend) mayTag(ctx context.Context, o *op) error {
	if !public(ctx) || o.req.web == nil {
		return nil
	}
	policy, err := b.document(ctx, o.names.bucket, s3.KindPolicy, 0)
	if err != nil || policy == nil {
		return err
	}
	return auth.VerifyPublicAccess(o.req.web, b, auth.PutObjectTaggingAction, auth.PermissionWrite, o.names.bucket, o.names.key)
}
