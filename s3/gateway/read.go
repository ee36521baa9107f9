package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// acceptRanges announces that ranges are served.
var acceptRanges = "bytes"

// GetObject opens an object. Its context lives until the body is closed.
func (b *Backend) GetObject(ctx context.Context, in *awss3.GetObjectInput) (*awss3.GetObjectOutput, error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), body: true})
	if err == nil {
		err = checkVersion(str(in.VersionId))
	}
	if err != nil {
		o.cancel()
		return nil, err
	}
	c := readConditions{in.IfMatch, in.IfNoneMatch, in.IfModifiedSince, in.IfUnmodifiedSince}
	rng, meant := object.ParseRange(str(in.Range)), rangeIf(o.req.header("If-Range"))
	get := o.at()
	get.Range, get.RangeIf, get.Part = rng, meant, int(num(in.PartNumber))
	r, err := b.open(o, c, get)
	if err != nil {
		o.cancel()
		return nil, b.readError(o, err, str(in.Range))
	}
	o.req.expiresWith(r.Object)
	d := describe(r.Object)
	if in.ChecksumMode == types.ChecksumModeEnabled {
		d.sums = checksumsAt(r.Object, num(in.PartNumber), r.Length)
	}
	out := &awss3.GetObjectOutput{
		AcceptRanges: &acceptRanges, ContentLength: &r.Length, Body: o.req.served(o, r.Body),
		ContentType: d.contentType, ContentEncoding: d.contentEncoding, ContentDisposition: d.contentDisposition,
		ContentLanguage: d.contentLanguage, CacheControl: d.cacheControl, ExpiresString: d.expires,
		WebsiteRedirectLocation: d.redirect, ETag: d.etag, LastModified: d.modified, Metadata: d.user,
		TagCount: d.tagCount, StorageClass: types.StorageClassStandard,
		ChecksumCRC32: d.sums.CRC32, ChecksumCRC32C: d.sums.CRC32C, ChecksumSHA1: d.sums.SHA1,
		ChecksumSHA256: d.sums.SHA256, ChecksumCRC64NVME: d.sums.CRC64NVME, ChecksumSHA512: d.sums.SHA512,
		ChecksumMD5: d.sums.MD5, ChecksumXXHASH64: d.sums.XXHASH64, ChecksumXXHASH3: d.sums.XXHASH3,
		ChecksumXXHASH128: d.sums.XXHASH128, ChecksumType: d.sums.Type,
	}
	if in.PartNumber != nil || rng != nil && meant(r.Object) {
		out.ContentRange = contentRange(r.Offset, r.Length, r.Object.Size)
	}
	if in.PartNumber != nil {
		out.PartsCount = partsCount(r.Object)
	}
	return out, nil
}

// open opens the object if its conditions hold. They are checked before, so
// that a client that has it already costs no read, and again for what is
// opened.
func (b *Backend) open(o *op, c readConditions, get object.GetRequest) (*object.Reader, error) {
	if c.any() {
		at := o.at()
		at.Counts = true
		obj, err := b.store.Objects.Head(o.ctx, at)
		if err != nil {
			return nil, err
		}
		if err := o.req.check(c, obj); err != nil {
			return nil, err
		}
	}
	get.Check = func(obj ledger.Object) error {
		if err := o.req.asJudged(obj); err != nil {
			return err
		}
		if err := o.req.check(c, obj); err != nil {
			return err
		}
		if parts := max(1, len(obj.Attrs.Parts)); get.Part > parts {
			return s3err.GetInvalidPartNumberRangeErr(int32(parts), int32(get.Part))
		}
		return nil
	}
	if get.Range != nil && get.Range.Offset < 0 {
		meant := get.RangeIf
		// The last bytes of an empty object are all of it.
		get.RangeIf = func(obj ledger.Object) bool { return obj.Size > 0 && meant(obj) }
	}
	return b.store.Objects.Get(o.ctx, get)
}

// HeadObject describes an object.
func (b *Backend) HeadObject(ctx context.Context, in *awss3.HeadObjectInput) (*awss3.HeadObjectOutput, error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key)})
	defer o.cancel()
	if err == nil {
		err = checkVersion(str(in.VersionId))
	}
	if err != nil {
		return nil, err
	}
	at := o.at()
	at.Counts = b.opt.HeadCounts
	obj, err := b.store.Objects.Head(o.ctx, at)
	if err != nil {
		return nil, b.fail(o, err)
	}
	c := readConditions{in.IfMatch, in.IfNoneMatch, in.IfModifiedSince, in.IfUnmodifiedSince}
	if err := o.req.check(c, obj); err != nil {
		return nil, err
	}
	rng := str(in.Range)
	if !rangeIf(o.req.header("If-Range"))(obj) {
		rng = ""
	}
	w, err := windowOf(obj, rng, in.PartNumber)
	if err != nil {
		return nil, err
	}
	o.req.expiresWith(obj)
	d := describe(obj)
	if in.ChecksumMode == types.ChecksumModeEnabled {
		d.sums = checksumsAt(obj, num(in.PartNumber), w.length)
	}
	return &awss3.HeadObjectOutput{
		AcceptRanges: &acceptRanges, ContentLength: &w.length, ContentRange: w.header, PartsCount: w.parts,
		ContentType: d.contentType, ContentEncoding: d.contentEncoding, ContentDisposition: d.contentDisposition,
		ContentLanguage: d.contentLanguage, CacheControl: d.cacheControl, ExpiresString: d.expires,
		WebsiteRedirectLocation: d.redirect, ETag: d.etag, LastModified: d.modified, Metadata: d.user,
		TagCount: d.tagCount, StorageClass: types.StorageClassStandard,
		ChecksumCRC32: d.sums.CRC32, ChecksumCRC32C: d.sums.CRC32C, ChecksumSHA1: d.sums.SHA1,
		ChecksumSHA256: d.sums.SHA256, ChecksumCRC64NVME: d.sums.CRC64NVME, ChecksumSHA512: d.sums.SHA512,
		ChecksumMD5: d.sums.MD5, ChecksumXXHASH64: d.sums.XXHASH64, ChecksumXXHASH3: d.sums.XXHASH3,
		ChecksumXXHASH128: d.sums.XXHASH128, ChecksumType: d.sums.Type,
	}, nil
}

// rangeIf returns for which versions a range is meant, by the header If-Range: an
// ETag, or the time of a change. Without the header it is meant for all. A client
// that resumes a download would join the rest of another version to the beginning
// of this one.
func rangeIf(header string) func(ledger.Object) bool {
	return func(o ledger.Object) bool {
		at, err := http.ParseTime(header)
		return header == "" || header == quote(o.ETag) || err == nil && at.Equal(modified(o))
	}
}

// window is the part of an object that a HeadObject is about.
type window struct {
	length int64
	header *string
	parts  *int32
}

func windowOf(obj ledger.Object, rng string, part *int32) (window, error) {
	if part == nil {
		start, length, ok, err := backend.ParseObjectRange(obj.Size, rng)
		if err != nil || !ok {
			return window{length: length}, err
		}
		return window{length: length, header: contentRange(start, length, obj.Size)}, nil
	}
	parts := obj.Attrs.Parts
	n := int(*part)
	if len(parts) == 0 && n == 1 {
		return window{length: obj.Size, header: contentRange(0, obj.Size, obj.Size)}, nil
	}
	if n > len(parts) {
		return window{}, s3err.GetInvalidPartNumberRangeErr(int32(max(1, len(parts))), *part)
	}
	var start int64
	for _, p := range parts[:n-1] {
		start += p.Size
	}
	length := parts[n-1].Size
	return window{length, contentRange(start, length, obj.Size), partsCount(obj)}, nil
}

// contentRange returns the header's value, nil for no bytes.
func contentRange(start, length, size int64) *string {
	if length == 0 {
		return nil
	}
	return to(fmt.Sprintf("bytes %d-%d/%d", start, start+length-1, size))
}

// partsCount returns nil for an object that was not uploaded in parts.
func partsCount(o ledger.Object) *int32 {
	if len(o.Attrs.Parts) == 0 {
		return nil
	}
	return to(int32(len(o.Attrs.Parts)))
}

// readError returns the error for a client that asked for a range.
func (b *Backend) readError(o *op, err error, rng string) error {
	if !errors.Is(err, lethe.ErrInvalidRange) {
		return b.fail(o, err)
	}
	ctx, cancel := b.context(o.req, false)
	defer cancel()
	obj, headErr := b.store.Objects.Head(ctx, o.at())
	if headErr != nil {
		return b.fail(o, headErr)
	}
	return s3err.GetInvalidRangeErr(rng, obj.Size)
}

// readConditions are those of a read; nil if not given.
type readConditions struct {
	match, noneMatch  *string
	modified, unmoded *time.Time
}

func (c readConditions) any() bool {
	return c.match != nil || c.noneMatch != nil || c.modified != nil || c.unmoded != nil
}

// check evaluates the conditions for an object. Times are compared in whole
// seconds, as HTTP's are.
func (c readConditions) check(o ledger.Object) error {
	unmoded := c.unmoded
	if unmoded != nil {
		// versitygw requires a later time; the same second is enough.
		unmoded = to(unmoded.Add(time.Nanosecond))
	}
	return backend.EvaluatePreconditions(o.ETag, modified(o), backend.PreConditions{
		IfMatch: c.match, IfNoneMatch: c.noneMatch, IfModSince: c.modified, IfUnmodeSince: unmoded,
	})
}

// check evaluates a read's conditions, and keeps the object for a 304.
func (r *request) check(c readConditions, o ledger.Object) error {
	r.unchanged = &o
	return c.check(o)
}

func modified(o ledger.Object) time.Time { return o.ModifiedAt.Time().Truncate(time.Second) }

// description is an object in the form of responses.
type description struct {
	contentType, contentEncoding, contentDisposition, contentLanguage *string
	cacheControl, expires, redirect, etag                             *string
	modified                                                          *time.Time
	user                                                              map[string]string
	tagCount                                                          *int32
	sums                                                              s3response.Checksum
}

func describe(o ledger.Object) description {
	a := o.Attrs
	d := description{
		contentType: ptr(a.ContentType), contentEncoding: ptr(a.ContentEncoding),
		contentDisposition: ptr(a.ContentDisposition), contentLanguage: ptr(a.ContentLanguage),
		cacheControl: ptr(a.CacheControl), expires: ptr(a.Expires), redirect: ptr(a.Redirect),
		etag: to(quote(o.ETag)), modified: to(o.ModifiedAt.Time()), user: a.User,
	}
	if len(o.Tags) > 0 {
		d.tagCount = to(int32(len(o.Tags)))
	}
	return d
}

// checksumsAt returns the checksums of the bytes that are read: of a part if
// one was requested (the first is 1), of the object if they are all of it.
// Those of a range are unknown.
func checksumsAt(o ledger.Object, part int32, length int64) s3response.Checksum {
	switch n := int(part); {
	case n > 0 && n <= len(o.Attrs.Parts) && !showsParts(o):
		return s3response.Checksum{}
	case n > 0 && n <= len(o.Attrs.Parts):
		return checksumsOf(o.Attrs.Parts[n-1].Checksums, o.Attrs.ChecksumType)
	case length == o.Size:
		return checksumsOf(o.Attrs.Checksums, o.Attrs.ChecksumType)
	}
	return s3response.Checksum{}
}

// served counts a body as it is sent; its Close ends the operation and the
// request.
func (r *request) served(o *op, body io.ReadCloser) io.ReadCloser {
	r.streaming = true
	return &servedBody{body: body, o: o}
}

type servedBody struct {
	body io.ReadCloser
	o    *op
	n    int64
	done bool
}

func (s *servedBody) Read(p []byte) (int, error) {
	at := lethe.Awake{}.Now()
	n, err := s.body.Read(p)
	s.o.req.fetched += lethe.Awake{}.Now().Sub(at)
	s.n += int64(n)
	return n, err
}

func (s *servedBody) Close() error {
	if s.done {
		return nil
	}
	s.done = true
	err := s.body.Close()
	s.o.cancel()
	if s.o.req.end != nil {
		s.o.req.end(s.n)
	}
	return err
}
