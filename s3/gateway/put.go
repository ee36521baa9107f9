package gateway

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// PutObject stores an object. Nothing refers to its bytes before the body ended
// and all its digests were verified.
func (b *Backend) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), access: authz.Writing, body: true})
	defer o.cancel()
	if err != nil {
		return s3response.PutObjectOutput{}, err
	}
	if _, form := formOf(ctx); form {
		err = b.mayPost(ctx, o)
	} else if str(in.Tagging) != "" {
		err = b.mayTag(ctx, o)
	}
	if err != nil {
		return s3response.PutObjectOutput{}, err
	}
	res, err := b.put(ctx, o, in)
	if err != nil {
		return s3response.PutObjectOutput{}, b.putError(o, err, o.req.condition(in.IfMatch, in.IfNoneMatch))
	}
	o.req.expiresWith(res.Object)
	c := checksumsOf(res.Object.Attrs.Checksums, res.Object.Attrs.ChecksumType)
	return s3response.PutObjectOutput{
		ETag: quote(res.Object.ETag), Size: &res.Object.Size, ChecksumType: c.Type,
		ChecksumCRC32: c.CRC32, ChecksumCRC32C: c.CRC32C, ChecksumSHA1: c.SHA1, ChecksumSHA256: c.SHA256,
		ChecksumCRC64NVME: c.CRC64NVME, ChecksumSHA512: c.SHA512, ChecksumMD5: c.MD5,
		ChecksumXXHASH64: c.XXHASH64, ChecksumXXHASH3: c.XXHASH3, ChecksumXXHASH128: c.XXHASH128,
	}, nil
}

func (b *Backend) put(ctx context.Context, o *op, in s3response.PutObjectInput) (res object.PutResult, err error) {
	if in.ObjectLockMode != "" || in.ObjectLockLegalHoldStatus == types.ObjectLockLegalHoldStatusOn {
		return res, s3err.GetAPIError(s3err.ErrMissingObjectLockConfigurationNoSpaces)
	}
	r := object.PutRequest{Bucket: o.names.bucket, BucketID: o.bucket, Key: o.names.key, Size: num(in.ContentLength), Send: o.req.confined(ctx)}
	if _, form := formOf(ctx); form {
		r.Size, r.What = -1, "post"
	}
	if r.If, err = putCondition(o.req.condition(in.IfMatch, in.IfNoneMatch)); err != nil {
		return res, err
	}
	if r.Tags, err = tagsOf(in.Tagging); err != nil {
		return res, err
	}
	r.Attrs = putAttrs(in)
	if r.Attrs.User, err = o.req.metadata(in.Metadata); err != nil {
		return res, err
	}
	if r.Attrs.ACL, err = b.ownACL(ctx, o); err != nil {
		return res, err
	}
	if strings.HasSuffix(r.Key, "/") && r.Size == 0 && r.Attrs.ContentType == unsaid {
		r.Attrs.ContentType = backend.DirContentType
	}
	life, err := s3.LifetimeOf(r.Attrs.User, b.opt.Clock.Now())
	if err != nil {
		return res, err
	}
	r.TTL, r.TTLAt, r.Reads, r.Idle, r.ByKey = life.TTL, life.At, life.Reads, life.Idle, o.req.keyTTL()
	s, err := o.req.newSums(in.Body, putGiven(in), types.ChecksumAlgorithm(strings.Clone(string(in.ChecksumAlgorithm))))
	defer s.body.release()
	if err != nil {
		return res, err
	}
	r.Body, r.Finish = s.reader, s.finish
	return b.store.Objects.Put(o.ctx, r)
}

// unsaid is the content type that versitygw sets without the client's.
const unsaid = "binary/octet-stream"

// putAttrs returns the object's metadata, without the user's.
func putAttrs(in s3response.PutObjectInput) ledger.Attrs {
	return ledger.Attrs{
		ContentType: str(in.ContentType), ContentEncoding: encoding(str(in.ContentEncoding)),
		ContentDisposition: str(in.ContentDisposition), ContentLanguage: str(in.ContentLanguage),
		CacheControl: str(in.CacheControl), Expires: str(in.Expires),
		Redirect: str(in.WebsiteRedirectLocation),
	}
}

// encoding drops aws-chunked from a content encoding: it belongs to the
// transfer.
func encoding(s string) string {
	if !strings.Contains(s, "aws-chunked") {
		return s
	}
	var kept []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "aws-chunked" && part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ",")
}

func putGiven(in s3response.PutObjectInput) given {
	return given{
		{types.ChecksumAlgorithmCrc32, in.ChecksumCRC32}, {types.ChecksumAlgorithmCrc32c, in.ChecksumCRC32C},
		{types.ChecksumAlgorithmSha1, in.ChecksumSHA1}, {types.ChecksumAlgorithmSha256, in.ChecksumSHA256},
		{crc64, in.ChecksumCRC64NVME}, {types.ChecksumAlgorithmSha512, in.ChecksumSHA512},
		{types.ChecksumAlgorithmMd5, in.ChecksumMD5}, {types.ChecksumAlgorithmXxhash64, in.ChecksumXXHASH64},
		{types.ChecksumAlgorithmXxhash3, in.ChecksumXXHASH3}, {types.ChecksumAlgorithmXxhash128, in.ChecksumXXHASH128},
	}
}

// tagsOf parses URL-encoded tags.
func tagsOf(tagging *string) (map[string]string, error) {
	tags, err := backend.ParseObjectTags(str(tagging))
	if err != nil {
		return nil, err
	}
	if len(tags) > s3.MaxTags {
		return nil, s3err.GetAPIError(s3err.ErrObjectTaggingLimited)
	}
	return tags, unreserved(tags)
}

// condition is If-Match and If-None-Match of a write; empty if not given.
type condition struct{ match, noneMatch string }

// condition returns the conditions that versitygw has read, or that the request has:
// versitygw takes an empty ETag for none.
func (r *request) condition(match, noneMatch *string) condition {
	return condition{cmp.Or(str(match), wanted(r.header("If-Match"))), cmp.Or(str(noneMatch), wanted(r.header("If-None-Match")))}
}

// putCondition returns a write's condition. S3 supports If-None-Match only with
// "*".
func putCondition(c condition) (ledger.Precondition, error) {
	switch {
	case c.noneMatch != "" && c.noneMatch != "*":
		return ledger.Precondition{}, s3err.GetNotImplementedErr("If-None-Match", s3err.NmpAdditionalMessageIfNoneMatch)
	case c.noneMatch != "" && c.match != "":
		return ledger.Precondition{}, s3err.GetNotImplementedErr("If-Match,If-None-Match", s3err.NmpAdditionalMessageMultipleCondHeaders)
	}
	return ledger.Precondition{IfMatch: c.match, IfNoneMatch: c.noneMatch}, nil
}

// putError names the condition that failed; If-Match on a missing key is
// NoSuchKey in S3.
func (b *Backend) putError(o *op, err error, c condition) error {
	if !errors.Is(err, lethe.ErrPreconditionFailed) {
		return b.fail(o, err)
	}
	if c.noneMatch != "" {
		return s3err.GetPreconditionFailedErr(s3err.ConditionIfNoneMatch)
	}
	_, headErr := b.store.Objects.Head(o.ctx, o.at())
	if errors.Is(headErr, lethe.ErrNoSuchKey) {
		return s3err.GetAPIError(s3err.ErrNoSuchKey)
	}
	return s3err.GetPreconditionFailedErr(s3err.ConditionIfMatch)
}
