package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// copyAttempts bounds the restarts of a copy whose source is replaced
// meanwhile.
const copyAttempts = 5

// source is the source of a copy.
type source struct {
	bucket, key string
	id          lethe.ID // of the bucket, as in op
	req         *request
	conditions  readConditions
}

// at names the source.
func (s source) at() object.GetRequest {
	return object.GetRequest{Bucket: s.bucket, BucketID: s.id, Key: s.key, Check: s.req.asJudged}
}

// source parses a copy source and authorises reading it.
func (b *Backend) source(ctx context.Context, header, expectedOwner *string, c readConditions) (source, error) {
	bucket, key, version, err := backend.ParseCopySource(str(header))
	if err != nil {
		return source{}, err
	}
	if err := checkVersion(version); err != nil {
		return source{}, err
	}
	if err := checkKey(key); err != nil {
		return source{}, err
	}
	req := requestOf(ctx)
	if err := b.allow(ctx, req, bucket, authz.Reading); err != nil {
		return source{}, err
	}
	s := source{bucket, key, b.decidedOn(ctx, req, bucket), req, c}
	if version != "" {
		if err := b.maySource(ctx, s); err != nil {
			return source{}, err
		}
	}
	if want := str(expectedOwner); want != "" {
		return s, b.checkOwner(ctx, bucket, want)
	}
	return s, nil
}

// maySource authorises reading the source again: versitygw has checked a key
// that includes the version.
func (b *Backend) maySource(ctx context.Context, s source) error {
	acct, root := account(ctx)
	req := requestOf(ctx)
	if root || req.web == nil {
		return nil
	}
	doc, err := b.GetBucketAcl(ctx, &awss3.GetBucketAclInput{Bucket: &s.bucket})
	if err != nil {
		return err
	}
	acl, err := auth.ParseACL(doc)
	if err != nil {
		return b.fail(&op{req: req, names: names{bucket: s.bucket, key: s.key}}, err)
	}
	return auth.VerifyAccess(req.web, b, auth.AccessOptions{
		Acl: acl, AclPermission: auth.PermissionRead, Acc: acct, Bucket: s.bucket, Object: s.key,
		Actions: []auth.Action{auth.GetObjectAction}, Iam: b.accounts,
	})
}

// checkOwner refuses a bucket whose owner is not the expected one.
func (b *Backend) checkOwner(ctx context.Context, bucket, want string) error {
	have, err := b.bucketOwner(ctx, bucket)
	if err == nil && have != want {
		err = s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	return err
}

// bucketOwner returns the owner that the bucket's access control list names.
func (b *Backend) bucketOwner(ctx context.Context, bucket string) (string, error) {
	acl, err := b.storedACL(ctx, bucket)
	return acl.Owner, err
}

// CopyObject copies an object by reference. A copy onto itself changes its
// metadata, including its time to live.
func (b *Backend) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (out s3response.CopyObjectOutput, err error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), access: authz.Writing, body: true})
	defer o.cancel()
	if err != nil {
		return out, err
	}
	c := readConditions{in.CopySourceIfMatch, in.CopySourceIfNoneMatch, in.CopySourceIfModifiedSince, in.CopySourceIfUnmodifiedSince}
	src, err := b.source(ctx, in.CopySource, in.ExpectedSourceBucketOwner, c)
	if err != nil {
		return out, err
	}
	if in.ObjectLockMode != "" || in.ObjectLockLegalHoldStatus == types.ObjectLockLegalHoldStatusOn {
		return out, s3err.GetAPIError(s3err.ErrMissingObjectLockConfigurationNoSpaces)
	}
	given := o.req.condition(nil, nil)
	dst, err := b.destination(ctx, o, given)
	if err != nil {
		return out, b.fail(o, err)
	}
	var res object.PutResult
	err = ofOneVersion(func() error {
		res, err = b.copy(o, src, dst, in)
		return err
	})
	switch {
	case err == nil:
	case src.bucket != o.names.bucket && errors.Is(err, lethe.ErrNoSuchBucket):
		return out, b.missingBucket(o, src, err)
	case errors.Is(err, object.ErrSource):
		return out, b.fail(o, err)
	default:
		return out, b.putError(o, err, given)
	}
	o.req.expiresWith(res.Object)
	sums := checksumsOf(res.Object.Attrs.Checksums, res.Object.Attrs.ChecksumType)
	out.CopyObjectResult = &s3response.CopyObjectResult{
		ETag: to(quote(res.Object.ETag)), LastModified: to(res.Object.ModifiedAt.Time()), ChecksumType: sums.Type,
		ChecksumCRC32: sums.CRC32, ChecksumCRC32C: sums.CRC32C, ChecksumSHA1: sums.SHA1, ChecksumSHA256: sums.SHA256,
		ChecksumCRC64NVME: sums.CRC64NVME, ChecksumSHA512: sums.SHA512, ChecksumMD5: sums.MD5,
		ChecksumXXHASH64: sums.XXHASH64, ChecksumXXHASH3: sums.XXHASH3, ChecksumXXHASH128: sums.XXHASH128,
	}
	return out, nil
}

// ofOneVersion attempts a copy, and again if its source was replaced meanwhile; errReplaced if it
// was each time.
func ofOneVersion(attempt func() error) error {
	var err error
	for range copyAttempts {
		err = attempt()
		if !errors.Is(err, object.ErrSource) || !errors.Is(err, lethe.ErrPreconditionFailed) {
			return err
		}
	}
	return fmt.Errorf("%w, for each of %d copies: %v", errReplaced, copyAttempts, err)
}

// missingBucket names the one of the two buckets that does not exist.
func (b *Backend) missingBucket(o *op, src source, err error) error {
	b.cache.Drop(src.bucket)
	from := &op{req: o.req, names: names{bucket: src.bucket}}
	if !b.exists(from) {
		return bucketError(s3err.ErrNoSuchBucket)(from.names, err)
	}
	return b.fail(o, err)
}

// destination is what a request says of the copy itself.
type destination struct {
	list *ledger.ACL
	only ledger.Precondition // of what the copy replaces; versitygw knows those of the source only
}

func (b *Backend) destination(ctx context.Context, o *op, given condition) (d destination, err error) {
	if d.list, err = b.ownACL(ctx, o); err != nil {
		return d, err
	}
	d.only, err = putCondition(given)
	return d, err
}

// copy copies the current version of the source. It fails with
// ErrPreconditionFailed, and ErrSource if that is replaced meanwhile.
func (b *Backend) copy(o *op, src source, to destination, in s3response.CopyObjectInput) (res object.PutResult, err error) {
	from, err := b.store.Objects.Head(o.ctx, src.at())
	if err != nil {
		return res, err
	}
	if err := src.conditions.check(from); err != nil {
		return res, err
	}
	// Before a checksum of it is computed, which would be a read.
	if err := object.Uncounted(from); err != nil {
		return res, err
	}
	r := object.CopyRequest{
		SourceBucket: src.bucket, SourceKey: src.key, SourceID: from.ID,
		Bucket: o.names.bucket, BucketID: o.bucket, Key: o.names.key, If: to.only, ByKey: o.req.keyTTL(),
	}
	if in.Metadata, err = o.req.metadata(in.Metadata); err != nil {
		return res, err
	}
	if err := b.copyAttrs(&r, from, in); err != nil {
		return res, err
	}
	// As on S3, the list is not copied.
	r.Attrs.ACL = to.list
	if in.TaggingDirective == types.TaggingDirectiveReplace {
		tags, err := tagsOf(in.Tagging)
		if err != nil {
			return res, err
		}
		r.Tags = &tags
	}
	if err := b.copySum(o, from, types.ChecksumAlgorithm(strings.Clone(string(in.ChecksumAlgorithm))), r.Attrs); err != nil {
		return res, err
	}
	return b.store.Objects.Copy(o.ctx, r)
}

// copyAttrs sets the copy's metadata: the source's, or with the REPLACE
// directive the request's. Checksums and parts belong to the bytes and stay.
func (b *Backend) copyAttrs(r *object.CopyRequest, from ledger.Object, in s3response.CopyObjectInput) error {
	attrs := from.Attrs
	attrs.Redirect = str(in.WebsiteRedirectLocation)
	r.Attrs = &attrs
	if in.MetadataDirective != types.MetadataDirectiveReplace {
		if r.SourceBucket == r.Bucket && r.SourceKey == r.Key {
			return s3err.GetAPIError(s3err.ErrInvalidCopyDest)
		}
		r.KeepTTL = true
		return nil
	}
	attrs.ContentType, attrs.ContentEncoding = str(in.ContentType), encoding(str(in.ContentEncoding))
	attrs.ContentDisposition, attrs.ContentLanguage = str(in.ContentDisposition), str(in.ContentLanguage)
	attrs.CacheControl, attrs.Expires = str(in.CacheControl), str(in.Expires)
	attrs.User = cloneMap(in.Metadata)
	life, err := s3.LifetimeOf(attrs.User, b.opt.Clock.Now())
	r.TTL, r.TTLAt, r.Reads, r.Idle = life.TTL, life.At, life.Reads, life.Idle
	return err
}

// copySum sets the requested checksum of the copy. As on S3 a copy was not
// uploaded in parts: a composite checksum becomes one of the whole object. CRCs
// of parts are combined; for other algorithms the source is read.
func (b *Backend) copySum(o *op, from ledger.Object, asked types.ChecksumAlgorithm, attrs *ledger.Attrs) error {
	composite := from.Attrs.ChecksumType == string(types.ChecksumTypeComposite)
	if asked == "" && composite {
		for name := range from.Attrs.Checksums {
			asked = types.ChecksumAlgorithm(name)
		}
	}
	have := from.Attrs.Checksums[string(asked)] != ""
	if asked == "" || have && !composite {
		return nil
	}
	parts := make([]ledger.Part, len(from.Attrs.Parts))
	for i, p := range from.Attrs.Parts {
		parts[i] = ledger.Part{Number: p.Number, Size: p.Size, Checksums: p.Checksums}
	}
	if have && (asked == types.ChecksumAlgorithmCrc32 || asked == types.ChecksumAlgorithmCrc32c) {
		sum, err := compose(asked, types.ChecksumTypeFullObject, parts)
		attrs.Checksums, attrs.ChecksumType = map[string]string{string(asked): sum}, string(types.ChecksumTypeFullObject)
		return err
	}
	return b.checksum(o, from, asked, attrs)
}

// checksum reads the source to compute another kind of checksum for the copy.
func (b *Backend) checksum(o *op, from ledger.Object, a types.ChecksumAlgorithm, attrs *ledger.Attrs) error {
	r, err := b.store.Objects.Get(o.ctx, object.GetRequest{Bucket: from.Bucket, Key: from.Key, ID: from.ID})
	if err != nil {
		return fmt.Errorf("%w: %w", object.ErrSource, err)
	}
	defer r.Body.Close()
	h, err := newHash(r.Body, a, "")
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, h); err != nil {
		return err
	}
	attrs.Checksums = map[string]string{string(a): h.Sum()}
	attrs.ChecksumType = string(types.ChecksumTypeFullObject)
	return nil
}
