package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
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

// An upload keeps the checksum that its client chose in its attributes: the
// algorithm with an empty value, and the type. Without a choice, parts keep a
// hidden CRC64NVME, from which the object gets one.

// CreateMultipartUpload opens an upload.
func (b *Backend) CreateMultipartUpload(ctx context.Context, in s3response.CreateMultipartUploadInput) (out s3response.InitiateMultipartUploadResult, err error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), access: authz.Writing})
	defer o.cancel()
	if err != nil {
		return out, err
	}
	if in.ObjectLockMode != "" || in.ObjectLockLegalHoldStatus == types.ObjectLockLegalHoldStatusOn {
		return out, s3err.GetAPIError(s3err.ErrMissingObjectLockConfigurationNoSpaces)
	}
	acct, _ := account(ctx)
	r := object.UploadRequest{Bucket: o.names.bucket, BucketID: o.bucket, Key: o.names.key, Owner: strings.Clone(acct.Access), Attrs: uploadAttrs(in)}
	if r.Tags, err = tagsOf(in.Tagging); err != nil {
		return out, err
	}
	if r.Attrs.User, err = o.req.metadata(in.Metadata); err != nil {
		return out, err
	}
	if r.Attrs.ACL, err = b.ownACL(ctx, o); err != nil {
		return out, err
	}
	life, err := s3.LifetimeOf(r.Attrs.User, b.opt.Clock.Now())
	if err != nil {
		return out, b.fail(o, err)
	}
	r.TTL, r.TTLAt, r.Reads, r.Idle, r.ByKey = life.TTL, life.At, life.Reads, life.Idle, o.req.keyTTL()
	up, err := b.store.Uploads.CreateUpload(o.ctx, r)
	if err != nil {
		return out, b.fail(o, err)
	}
	return s3response.InitiateMultipartUploadResult{Bucket: o.names.bucket, Key: o.names.key, UploadId: string(up.ID)}, nil
}

func uploadAttrs(in s3response.CreateMultipartUploadInput) ledger.Attrs {
	a := ledger.Attrs{
		ContentType: str(in.ContentType), ContentEncoding: encoding(str(in.ContentEncoding)),
		ContentDisposition: str(in.ContentDisposition), ContentLanguage: str(in.ContentLanguage),
		CacheControl: str(in.CacheControl), Expires: str(in.Expires),
		Redirect: str(in.WebsiteRedirectLocation),
	}
	if in.ChecksumAlgorithm != "" {
		a.Checksums = map[string]string{strings.Clone(string(in.ChecksumAlgorithm)): ""}
		a.ChecksumType = strings.Clone(string(in.ChecksumType))
	}
	return a
}

// chosen returns the checksum that the client chose for an upload, empty if
// none.
func chosen(a ledger.Attrs) (types.ChecksumAlgorithm, types.ChecksumType) {
	for name := range a.Checksums {
		return types.ChecksumAlgorithm(name), types.ChecksumType(a.ChecksumType)
	}
	return "", ""
}

// uploadID parses an id; an invalid one names no upload.
func uploadID(s string) (lethe.ID, error) {
	id, err := lethe.ParseID(s)
	if err != nil {
		return "", s3err.GetNoSuchUploadErr(s)
	}
	return id, nil
}

// upload looks up an open upload.
func (b *Backend) upload(o *op) (ledger.Upload, error) {
	id, err := uploadID(o.names.upload)
	if err != nil {
		if _, missing := b.store.Buckets.Bucket(o.ctx, o.names.bucket); missing != nil {
			err = missing
		}
		return ledger.Upload{}, err
	}
	up, _, err := b.store.Uploads.Parts(o.ctx, object.PartQuery{Bucket: o.names.bucket, Key: o.names.key, Upload: id, Limit: 1})
	return up, err
}

// AbortMultipartUpload aborts an upload.
func (b *Backend) AbortMultipartUpload(ctx context.Context, in *awss3.AbortMultipartUploadInput) error {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), upload: str(in.UploadId), access: authz.Writing})
	defer o.cancel()
	if err != nil {
		return err
	}
	up, err := b.upload(o)
	if err != nil {
		return b.fail(o, err)
	}
	if at := in.IfMatchInitiatedTime; at != nil && at.Unix() != up.CreatedAt.Time().Unix() {
		return s3err.GetPreconditionFailedErr(s3err.ConditionIfMatchInitiatedTime)
	}
	return b.fail(o, b.store.Uploads.Abort(o.ctx, o.names.bucket, o.names.key, up.ID))
}

// UploadPart stores a part.
func (b *Backend) UploadPart(ctx context.Context, in *awss3.UploadPartInput) (*awss3.UploadPartOutput, error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), upload: str(in.UploadId), access: authz.Writing, body: true})
	defer o.cancel()
	if err != nil {
		return nil, err
	}
	up, err := b.upload(o)
	if err != nil {
		return nil, b.fail(o, err)
	}
	s, shown, err := o.partSums(up, in)
	if err != nil {
		return nil, b.fail(o, err)
	}
	part, err := b.store.Uploads.PutPart(o.ctx, object.PartRequest{
		Bucket: o.names.bucket, Key: o.names.key, Upload: up.ID, Number: int(num(in.PartNumber)),
		Body: s.reader, Size: num(in.ContentLength), Finish: s.finish,
	})
	if err != nil {
		return nil, b.fail(o, err)
	}
	out := &awss3.UploadPartOutput{ETag: to(quote(part.ETag))}
	if shown {
		setPartOutput(out, checksumsOf(map[string]string{string(s.algorithm): s.value}, ""))
	}
	return out, nil
}

func setPartOutput(out *awss3.UploadPartOutput, c s3response.Checksum) {
	out.ChecksumCRC32, out.ChecksumCRC32C, out.ChecksumSHA1 = c.CRC32, c.CRC32C, c.SHA1
	out.ChecksumSHA256, out.ChecksumCRC64NVME, out.ChecksumSHA512 = c.SHA256, c.CRC64NVME, c.SHA512
	out.ChecksumMD5, out.ChecksumXXHASH64 = c.MD5, c.XXHASH64
	out.ChecksumXXHASH3, out.ChecksumXXHASH128 = c.XXHASH3, c.XXHASH128
}

// partBody is a part's body with its checksums.
type partBody struct {
	*sums
	kept  types.ChecksumAlgorithm // the one to store
	inner s3.ChecksumReader       // computes it, if the client sent another
	value string                  // the client's, once finished
}

// partSums prepares the checksums of a part: the client's own has to be of the
// kind that was chosen for the upload. shown reports whether the response has
// it.
func (o *op) partSums(up ledger.Upload, in *awss3.UploadPartInput) (p *partBody, shown bool, err error) {
	algorithm, kind := chosen(up.Attrs)
	s, err := o.req.newSums(in.Body, partGiven(in), algorithm)
	if err != nil {
		return nil, false, err
	}
	own, _ := partGiven(in).first()
	if s.trailer != nil {
		own = s.algorithm
	}
	switch {
	case own == "" && kind == types.ChecksumTypeComposite:
		return nil, false, s3err.GetChecksumTypeMismatchErr(algorithm, "null")
	case own != "" && algorithm != "" && own != algorithm:
		return nil, false, s3err.GetChecksumTypeMismatchErr(algorithm, own)
	}
	p = &partBody{sums: s, kept: s.algorithm}
	if algorithm == "" && s.algorithm != crc64 {
		p.kept = crc64
		if p.inner, err = newHash(s.reader, crc64, ""); err != nil {
			return nil, false, err
		}
		s.reader = p.inner
	}
	return p, own != "" || algorithm != "", nil
}

// finish returns the checksum to store, after the client's was verified.
func (p *partBody) finish() (map[string]string, error) {
	value, err := p.sum()
	if err != nil {
		return nil, err
	}
	p.value = value
	if p.inner != nil {
		value = p.inner.Sum()
	}
	return map[string]string{string(p.kept): value}, nil
}

func partGiven(in *awss3.UploadPartInput) given {
	return given{
		{types.ChecksumAlgorithmCrc32, in.ChecksumCRC32}, {types.ChecksumAlgorithmCrc32c, in.ChecksumCRC32C},
		{types.ChecksumAlgorithmSha1, in.ChecksumSHA1}, {types.ChecksumAlgorithmSha256, in.ChecksumSHA256},
		{crc64, in.ChecksumCRC64NVME}, {types.ChecksumAlgorithmSha512, in.ChecksumSHA512},
		{types.ChecksumAlgorithmMd5, in.ChecksumMD5}, {types.ChecksumAlgorithmXxhash64, in.ChecksumXXHASH64},
		{types.ChecksumAlgorithmXxhash3, in.ChecksumXXHASH3}, {types.ChecksumAlgorithmXxhash128, in.ChecksumXXHASH128},
	}
}

// UploadPartCopy stores a part from an object or a range of it.
func (b *Backend) UploadPartCopy(ctx context.Context, in *awss3.UploadPartCopyInput) (out s3response.CopyPartResult, err error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), upload: str(in.UploadId), access: authz.Writing, body: true})
	defer o.cancel()
	if err != nil {
		return out, err
	}
	up, err := b.upload(o)
	if err != nil {
		return out, b.fail(o, err)
	}
	c := readConditions{in.CopySourceIfMatch, in.CopySourceIfNoneMatch, in.CopySourceIfModifiedSince, in.CopySourceIfUnmodifiedSince}
	src, err := b.source(ctx, in.CopySource, in.ExpectedSourceBucketOwner, c)
	if err != nil {
		return out, err
	}
	var part ledger.Part
	var algorithm types.ChecksumAlgorithm
	err = ofOneVersion(func() error {
		part, algorithm, err = b.copyPart(o, up, copiedPart{src, str(in.CopySourceRange), int(num(in.PartNumber))})
		return err
	})
	if errors.Is(err, lethe.ErrNoSuchBucket) {
		return out, b.missingBucket(o, src, err)
	}
	if err != nil {
		return out, b.fail(o, err)
	}
	out = s3response.CopyPartResult{ETag: to(quote(part.ETag)), LastModified: part.CreatedAt.Time()}
	if algorithm != "" {
		s := checksumsOf(part.Checksums, "")
		out.ChecksumCRC32, out.ChecksumCRC32C, out.ChecksumSHA1, out.ChecksumSHA256 = s.CRC32, s.CRC32C, s.SHA1, s.SHA256
		out.ChecksumCRC64NVME, out.ChecksumSHA512, out.ChecksumMD5 = s.CRC64NVME, s.SHA512, s.MD5
		out.ChecksumXXHASH64, out.ChecksumXXHASH3, out.ChecksumXXHASH128 = s.XXHASH64, s.XXHASH3, s.XXHASH128
	}
	return out, nil
}

// copiedPart is the source of a copied part.
type copiedPart struct {
	src    source
	rng    string
	number int
}

func (b *Backend) copyPart(o *op, up ledger.Upload, p copiedPart) (part ledger.Part, algorithm types.ChecksumAlgorithm, err error) {
	from, err := b.store.Objects.Head(o.ctx, p.src.at())
	if err != nil {
		return part, "", err
	}
	start, length, err := backend.ParseCopySourceRange(from.Size, p.rng)
	if err != nil {
		return part, "", err
	}
	if err := p.src.conditions.check(from); err != nil {
		return part, "", err
	}
	algorithm, _ = chosen(up.Attrs)
	kept := algorithm
	if kept == "" {
		kept = crc64
	}
	var h s3.ChecksumReader
	r := object.PartCopyRequest{
		Bucket: o.names.bucket, Key: o.names.key, Upload: up.ID, Number: p.number,
		SourceBucket: p.src.bucket, SourceKey: p.src.key, SourceID: from.ID,
		Wrap: func(r io.Reader) io.Reader {
			// The algorithm is one of those that exist.
			h, _ = newHash(r, kept, "")
			return h
		},
		Finish: func() (map[string]string, error) { return map[string]string{string(kept): h.Sum()}, nil },
	}
	if p.rng != "" {
		r.Range = &object.Range{Offset: start, Length: min(length, from.Size-start)}
	}
	part, err = b.store.Uploads.CopyPart(o.ctx, r)
	return part, algorithm, err
}

// ListParts lists the parts of an open upload.
func (b *Backend) ListParts(ctx context.Context, in *awss3.ListPartsInput) (out s3response.ListPartsResult, err error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), upload: str(in.UploadId)})
	defer o.cancel()
	if err != nil {
		return out, err
	}
	after := 0
	if marker := str(in.PartNumberMarker); marker != "" {
		if after, err = strconv.Atoi(marker); err != nil {
			return out, s3err.GetInvalidArgMaxLimiter("part-number-marker", marker)
		}
	}
	if _, err := b.upload(o); err != nil {
		return out, b.fail(o, err)
	}
	limit := min(int(num(in.MaxParts)), s3.MaxList)
	up, parts, err := b.store.Uploads.Parts(o.ctx, object.PartQuery{
		Bucket: o.names.bucket, Key: o.names.key, Upload: lethe.ID(o.names.upload), After: after, Limit: limit + 1,
	})
	if err != nil {
		return out, b.fail(o, err)
	}
	out = listedParts(up, parts, limit)
	out.MaxParts, out.PartNumberMarker = int(num(in.MaxParts)), after
	return out, nil
}

// listedParts converts up to limit parts to the form of the response.
func listedParts(up ledger.Upload, parts []ledger.Part, limit int) s3response.ListPartsResult {
	out := s3response.ListPartsResult{
		Bucket: up.Bucket, Key: up.Key, UploadID: string(up.ID), StorageClass: types.StorageClassStandard,
		Owner: s3response.Owner{ID: up.Owner}, Initiator: s3response.Initiator{ID: up.Owner},
	}
	out.ChecksumAlgorithm, out.ChecksumType = chosen(up.Attrs)
	shown := out.ChecksumAlgorithm != ""
	if !shown {
		out.ChecksumAlgorithm, out.ChecksumType = "null", "null"
	}
	if len(parts) > limit {
		parts, out.IsTruncated = parts[:limit], true
	}
	for _, p := range parts {
		out.Parts = append(out.Parts, listedPart(p, shown))
		out.NextPartNumberMarker = p.Number
	}
	return out
}

func listedPart(p ledger.Part, shown bool) s3response.Part {
	out := s3response.Part{PartNumber: p.Number, ETag: quote(p.ETag), LastModified: p.CreatedAt.Time(), Size: p.Size}
	if !shown {
		return out
	}
	c := checksumsOf(p.Checksums, "")
	out.ChecksumCRC32, out.ChecksumCRC32C, out.ChecksumSHA1, out.ChecksumSHA256 = c.CRC32, c.CRC32C, c.SHA1, c.SHA256
	out.ChecksumCRC64NVME, out.ChecksumSHA512, out.ChecksumMD5 = c.CRC64NVME, c.SHA512, c.MD5
	out.ChecksumXXHASH64, out.ChecksumXXHASH3, out.ChecksumXXHASH128 = c.XXHASH64, c.XXHASH3, c.XXHASH128
	return out
}

// mismatch returns the error for a part's checksum.
func mismatch(format string, args ...any) error {
	return s3err.APIError{Code: "InvalidRequest", Description: fmt.Sprintf(format, args...), HTTPStatusCode: 400}
}
