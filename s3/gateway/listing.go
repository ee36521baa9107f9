package gateway

import (
	"context"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// listed is a page of a listing in the form of responses.
type listed struct {
	objects  []s3response.Object
	prefixes []types.CommonPrefix
	more     bool
	next     string
}

// list reads a page.
func (b *Backend) list(ctx context.Context, q ledger.ListQuery, withOwner bool) (listed, error) {
	o, err := b.begin(ctx, need{bucket: q.Bucket})
	defer o.cancel()
	if err != nil {
		return listed{}, err
	}
	page, err := b.page(o, q)
	if err != nil {
		return listed{}, b.fail(o, err)
	}
	var owner *types.Owner
	if withOwner {
		id, err := b.bucketOwner(ctx, q.Bucket)
		if err != nil {
			return listed{}, err
		}
		owner = &types.Owner{ID: &id, DisplayName: &id}
	}
	enc := encoderOf(o.req)
	l := listed{more: page.More, next: page.Next}
	for i := range page.Objects {
		l.objects = append(l.objects, listedObject(&page.Objects[i], owner, enc))
	}
	for _, p := range page.Prefixes {
		l.prefixes = append(l.prefixes, types.CommonPrefix{Prefix: to(enc.name(p))})
	}
	return l, nil
}

// page reads a page of the bucket that is meant: that it still has the name is looked up last.
func (b *Backend) page(o *op, q ledger.ListQuery) (page ledger.ListPage, err error) {
	if q.Limit = min(q.Limit, s3.MaxList); q.Limit > 0 {
		if page, err = b.store.Objects.List(o.ctx, q); err != nil {
			return page, err
		}
	}
	return page, b.stillMeant(o)
}

// stillMeant returns lethe.ErrNoSuchBucket unless the bucket exists, and is the one that is meant.
func (b *Backend) stillMeant(o *op) error {
	found, err := b.store.Buckets.Bucket(o.ctx, o.names.bucket)
	if err == nil {
		err = ledger.CheckBucketID(o.names.bucket, found.ID, o.bucket)
	}
	return err
}

func listedObject(o *ledger.Object, owner *types.Owner, enc encoder) s3response.Object {
	out := s3response.Object{
		ETag: to(quote(o.ETag)), Key: to(enc.name(o.Key)), LastModified: to(o.ModifiedAt.Time()),
		Size: &o.Size, StorageClass: types.ObjectStorageClassStandard, Owner: owner,
		ChecksumType: types.ChecksumType(o.Attrs.ChecksumType),
	}
	for a := range o.Attrs.Checksums {
		out.ChecksumAlgorithm = append(out.ChecksumAlgorithm, types.ChecksumAlgorithm(a))
	}
	return out
}

// ListObjects lists keys, by the older API.
func (b *Backend) ListObjects(ctx context.Context, in *awss3.ListObjectsInput) (s3response.ListObjectsResult, error) {
	q := ledger.ListQuery{
		Bucket: str(in.Bucket), Prefix: str(in.Prefix), Delimiter: str(in.Delimiter),
		After: str(in.Marker), Limit: int(num(in.MaxKeys)),
	}
	l, err := b.list(ctx, q, true)
	if err != nil {
		return s3response.ListObjectsResult{}, err
	}
	enc := encoderOf(requestOf(ctx))
	return s3response.ListObjectsResult{
		Name: &q.Bucket, Prefix: echo(ctx, "prefix", enc.name(q.Prefix)), Delimiter: ptr(enc.name(q.Delimiter)),
		Marker: echo(ctx, "marker", enc.name(q.After)), NextMarker: ptr(enc.name(l.next)), MaxKeys: to(num(in.MaxKeys)),
		IsTruncated: &l.more, Contents: l.objects, CommonPrefixes: l.prefixes, EncodingType: enc.kind(),
	}, nil
}

// ListObjectsV2 lists keys.
func (b *Backend) ListObjectsV2(ctx context.Context, in *awss3.ListObjectsV2Input) (s3response.ListObjectsV2Result, error) {
	token, startAfter := str(in.ContinuationToken), str(in.StartAfter)
	after, err := afterToken(token)
	if err != nil {
		return s3response.ListObjectsV2Result{}, err
	}
	q := ledger.ListQuery{
		Bucket: str(in.Bucket), Prefix: str(in.Prefix), Delimiter: str(in.Delimiter),
		After: max(after, startAfter), Limit: int(num(in.MaxKeys)),
	}
	l, err := b.list(ctx, q, in.FetchOwner != nil && *in.FetchOwner)
	if err != nil {
		return s3response.ListObjectsV2Result{}, err
	}
	enc := encoderOf(requestOf(ctx))
	return s3response.ListObjectsV2Result{
		Name: &q.Bucket, Prefix: echo(ctx, "prefix", enc.name(q.Prefix)), Delimiter: ptr(enc.name(q.Delimiter)),
		StartAfter: echo(ctx, "start-after", enc.name(startAfter)), ContinuationToken: echo(ctx, "continuation-token", token), NextContinuationToken: ptr(s3.ListToken(l.next)),
		KeyCount: to(int32(len(l.objects) + len(l.prefixes))), MaxKeys: to(num(in.MaxKeys)),
		IsTruncated: &l.more, Contents: l.objects, CommonPrefixes: l.prefixes, EncodingType: enc.kind(),
	}, nil
}

// echo returns a parameter of the request for the response, also if it was
// given and empty, as on S3.
func echo(ctx context.Context, parameter, value string) *string {
	if rc, ok := ctx.(*fasthttp.RequestCtx); ok && value == "" && rc.QueryArgs().Has(parameter) {
		return &value
	}
	return ptr(value)
}

// afterToken reads the key that a continuation token encodes.
func afterToken(token string) (string, error) {
	key, ok := s3.ListTokenKey(token)
	if !ok {
		return "", s3err.InvalidArgumentError{
			Description: "The continuation token provided is incorrect", ArgumentName: "continuation-token", ArgumentValue: token,
		}
	}
	return key, nil
}

// encoder writes names in listings: URL-encoded if the client requested it, as
// it has to for names that XML cannot represent.
type encoder struct {
	url bool
	req *request
}

func encoderOf(r *request) encoder { return encoder{r.urlEncode, r} }

func (e encoder) kind() types.EncodingType {
	if e.url {
		return types.EncodingTypeUrl
	}
	return ""
}

func (e encoder) name(s string) string {
	if !e.url {
		return e.req.refer(s)
	}
	return s3.URLName(s)
}

// ListObjectVersions lists every object as its one version, "null", as for a
// bucket without versions.
func (b *Backend) ListObjectVersions(ctx context.Context, in *awss3.ListObjectVersionsInput) (s3response.ListVersionsResult, error) {
	q := ledger.ListQuery{
		Bucket: str(in.Bucket), Prefix: str(in.Prefix), Delimiter: str(in.Delimiter),
		After: str(in.KeyMarker), Limit: int(num(in.MaxKeys)),
	}
	l, err := b.list(ctx, q, true)
	if err != nil {
		return s3response.ListVersionsResult{}, err
	}
	enc := encoderOf(requestOf(ctx))
	out := s3response.ListVersionsResult{
		Name: &q.Bucket, Prefix: to(enc.name(q.Prefix)), Delimiter: to(enc.name(q.Delimiter)),
		KeyMarker: to(enc.name(q.After)), NextKeyMarker: ptr(enc.name(l.next)), MaxKeys: to(num(in.MaxKeys)),
		VersionIdMarker: to(str(in.VersionIdMarker)), IsTruncated: &l.more, CommonPrefixes: l.prefixes, EncodingType: enc.kind(),
	}
	if l.more {
		// The page ended with the last key's one version.
		out.NextVersionIdMarker = to("null")
	}
	for _, o := range l.objects {
		out.Versions = append(out.Versions, s3response.ObjectVersion{
			Key: o.Key, VersionId: to("null"), IsLatest: to(true), ETag: o.ETag, Size: o.Size, LastModified: o.LastModified,
			Owner: o.Owner, StorageClass: types.ObjectVersionStorageClassStandard,
			ChecksumAlgorithm: o.ChecksumAlgorithm, ChecksumType: o.ChecksumType,
		})
	}
	return out, nil
}
