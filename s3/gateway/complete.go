package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// CompleteMultipartUpload makes an object of the named parts. A repeated
// request returns the same result, as long as the object exists.
func (b *Backend) CompleteMultipartUpload(ctx context.Context, in *awss3.CompleteMultipartUploadInput) (out s3response.CompleteMultipartUploadResult, version string, err error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket), key: str(in.Key), upload: str(in.UploadId), access: authz.Writing, xml: true, body: true})
	defer o.cancel()
	if err != nil {
		return out, "", err
	}
	if in.MultipartUpload == nil {
		return out, "", s3err.GetAPIError(s3err.ErrInvalidRequest)
	}
	c := completion{b: b, o: o, in: in, want: clonedParts(in.MultipartUpload.Parts)}
	res, err := c.run()
	if err != nil {
		return out, "", b.putError(o, err, o.req.condition(in.IfMatch, in.IfNoneMatch))
	}
	o.req.expiresWith(res.Object)
	sums := checksumsOf(res.Object.Attrs.Checksums, res.Object.Attrs.ChecksumType)
	return s3response.CompleteMultipartUploadResult{
		Bucket: &o.names.bucket, Key: &o.names.key, ETag: to(quote(res.Object.ETag)), ChecksumType: &sums.Type,
		ChecksumCRC32: sums.CRC32, ChecksumCRC32C: sums.CRC32C, ChecksumSHA1: sums.SHA1, ChecksumSHA256: sums.SHA256,
		ChecksumCRC64NVME: sums.CRC64NVME, ChecksumSHA512: sums.SHA512, ChecksumMD5: sums.MD5,
		ChecksumXXHASH64: sums.XXHASH64, ChecksumXXHASH3: sums.XXHASH3, ChecksumXXHASH128: sums.XXHASH128,
	}, "", nil
}

// completion is a completion in progress.
type completion struct {
	b    *Backend
	o    *op
	in   *awss3.CompleteMultipartUploadInput
	want []wantedPart
}

// wantedPart is a part as the request names it.
type wantedPart struct {
	number *int32
	etag   *string
	sums   given
}

func clonedParts(parts []types.CompletedPart) []wantedPart {
	out := make([]wantedPart, len(parts))
	for i, p := range parts {
		out[i] = wantedPart{number: p.PartNumber, sums: given{
			{types.ChecksumAlgorithmCrc32, p.ChecksumCRC32}, {types.ChecksumAlgorithmCrc32c, p.ChecksumCRC32C},
			{types.ChecksumAlgorithmSha1, p.ChecksumSHA1}, {types.ChecksumAlgorithmSha256, p.ChecksumSHA256},
			{crc64, p.ChecksumCRC64NVME}, {types.ChecksumAlgorithmSha512, p.ChecksumSHA512},
			{types.ChecksumAlgorithmMd5, p.ChecksumMD5}, {types.ChecksumAlgorithmXxhash64, p.ChecksumXXHASH64},
			{types.ChecksumAlgorithmXxhash3, p.ChecksumXXHASH3}, {types.ChecksumAlgorithmXxhash128, p.ChecksumXXHASH128},
		}}
		if p.ETag != nil {
			out[i].etag = to(unquote(str(p.ETag)))
		}
	}
	return out
}

func (c *completion) run() (res object.PutResult, err error) {
	id, err := uploadID(c.o.names.upload)
	if err != nil {
		return res, err
	}
	r := object.CompleteRequest{Bucket: c.o.names.bucket, Key: c.o.names.key, Upload: id, Finish: c.finish, ByKey: c.o.req.keyTTL()}
	if r.If, err = putCondition(c.o.req.condition(c.in.IfMatch, c.in.IfNoneMatch)); err != nil {
		return res, err
	}
	if r.Parts, err = c.names(); err != nil {
		return res, err
	}
	up, err := c.b.upload(c.o)
	if errors.Is(err, lethe.ErrNoSuchUpload) {
		// The store knows whether the upload was completed before.
		return c.b.store.Uploads.Complete(c.o.ctx, r)
	}
	if err != nil {
		return res, err
	}
	if err = c.precheck(up); err == nil {
		res, err = c.b.store.Uploads.Complete(c.o.ctx, r)
	}
	if err == nil {
		return res, nil
	}
	// Parts may be missing because a duplicate of this request is completing
	// the upload.
	if _, gone := c.b.upload(c.o); errors.Is(gone, lethe.ErrNoSuchUpload) {
		return c.b.store.Uploads.Complete(c.o.ctx, r)
	}
	return res, err
}

// names lists the parts in ascending order.
func (c *completion) names() ([]ledger.PartName, error) {
	out := make([]ledger.PartName, len(c.want))
	last := int32(0)
	for i, p := range c.want {
		switch {
		case p.number == nil || p.etag == nil:
			return nil, s3err.GetAPIError(s3err.ErrMalformedXML)
		case *p.number < 1:
			return nil, s3err.GetInvalidArgumentErr(s3err.InvalidArgCompleteMpPartNumber, fmt.Sprint(*p.number))
		case *p.number <= last:
			return nil, s3err.GetAPIError(s3err.ErrInvalidPartOrder)
		}
		last = *p.number
		out[i] = ledger.PartName{Number: int(last), ETag: *p.etag}
	}
	return out, nil
}

// precheck compares the request with the stored parts to return S3's specific
// errors. The store decides.
func (c *completion) precheck(up ledger.Upload) error {
	algorithm, kind := chosen(up.Attrs)
	if c.in.ChecksumType != "" && c.in.ChecksumType != kind {
		if kind == "" {
			kind = "null"
		}
		return s3err.GetChecksumTypeMismatchOnMpErr(kind)
	}
	stored, err := c.stored(up)
	if err != nil {
		return err
	}
	var size int64
	for i, w := range c.want {
		part, ok := stored[int(*w.number)]
		if !ok || part.ETag != *w.etag {
			return s3err.GetInvalidPartErr(c.o.names.upload, *w.number, *w.etag)
		}
		if size += part.Size; i < len(c.want)-1 && part.Size < c.b.opt.MinPart {
			return s3err.GetEntityTooSmallErr(part.Size, c.b.opt.MinPart)
		}
		if err := c.checkPart(w, part, algorithm); err != nil {
			return err
		}
	}
	if want := c.in.MpuObjectSize; want != nil && *want != size {
		return s3err.GetIncorrectMpObjectSizeErr(size, *want)
	}
	return nil
}

func (c *completion) stored(up ledger.Upload) (map[int]ledger.Part, error) {
	all := map[int]ledger.Part{}
	for after := 0; ; {
		_, parts, err := c.b.store.Uploads.Parts(c.o.ctx, object.PartQuery{
			Bucket: up.Bucket, Key: up.Key, Upload: up.ID, After: after, Limit: s3.MaxList,
		})
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			all[p.Number], after = p, p.Number
		}
		if len(parts) < s3.MaxList {
			return all, nil
		}
	}
}

// checkPart compares the checksum of a part in the request with the stored one,
// if the upload has checksums.
func (c *completion) checkPart(w wantedPart, part ledger.Part, algorithm types.ChecksumAlgorithm) error {
	n, text := w.sums.count()
	lower := strings.ToLower(string(algorithm))
	switch {
	case n > 1:
		return s3err.GetInvalidArgumentErr(s3err.InvalidArgChecksumPart, text)
	case algorithm == "" && n == 0:
		return nil
	case algorithm == "":
		return s3err.GetInvalidPartErr(c.o.names.upload, *w.number, *w.etag)
	case n == 0:
		return mismatch("The upload was created using a %v checksum. The complete request must include the checksum for each part. It was missing for part %v in the request.", lower, *w.number)
	}
	a, value := w.sums.first()
	switch {
	case !utils.IsValidChecksum(value, a):
		return s3err.GetInvalidArgumentErr(s3err.InvalidArgChecksumPart, value)
	case value == part.Checksums[string(a)]:
		return nil
	case a == algorithm:
		return s3err.GetInvalidPartErr(c.o.names.upload, *w.number, *w.etag)
	}
	return s3err.APIError{
		Code:           "BadDigest",
		Description:    fmt.Sprintf("The %v you specified for part %v did not match what we received.", strings.ToLower(string(a)), *w.number),
		HTTPStatusCode: 400,
	}
}

// finish sets the object's checksum, composed of the parts' checksums.
func (c *completion) finish(parts []ledger.Part, attrs *ledger.Attrs) error {
	algorithm, kind := chosen(*attrs)
	asked := algorithm != ""
	if !asked {
		algorithm, kind = crc64, types.ChecksumTypeFullObject
	}
	value, err := compose(algorithm, kind, parts)
	if err != nil {
		return err
	}
	attrs.Checksums, attrs.ChecksumType = map[string]string{string(algorithm): value}, string(kind)
	if !asked {
		// The object keeps checksums only of parts that the client may list.
		for i := range attrs.Parts {
			attrs.Parts[i].Checksums = nil
		}
		return nil
	}
	got := completeGiven(c.in).of(algorithm)
	if got == nil {
		return nil
	}
	want := *got
	if kind == types.ChecksumTypeComposite && !strings.Contains(want, "-") {
		want = fmt.Sprintf("%s-%d", want, len(parts))
	}
	if want != value {
		return s3err.GetChecksumBadDigestErr(algorithm)
	}
	return nil
}

// compose computes an object's checksum from its parts': of the whole object if
// the algorithm can be combined, else of the parts' checksums.
func compose(a types.ChecksumAlgorithm, kind types.ChecksumType, parts []ledger.Part) (string, error) {
	if kind == types.ChecksumTypeComposite {
		r, err := utils.NewCompositeChecksumReader(utils.HashType(strings.ToLower(string(a))))
		if err != nil {
			return "", fmt.Errorf("s3: compose %s: %w", a, err)
		}
		for _, p := range parts {
			if err := r.Process(p.Checksums[string(a)]); err != nil {
				return "", fmt.Errorf("s3: compose %s of part %d: %w", a, p.Number, err)
			}
		}
		return fmt.Sprintf("%s-%d", r.Sum(), len(parts)), nil
	}
	var whole string
	for i, p := range parts {
		sum := p.Checksums[string(a)]
		if i == 0 {
			whole = sum
			continue
		}
		var err error
		if whole, err = utils.AddCRCChecksum(a, whole, sum, p.Size); err != nil {
			return "", fmt.Errorf("s3: compose %s of part %d: %w", a, p.Number, err)
		}
	}
	return whole, nil
}

func completeGiven(in *awss3.CompleteMultipartUploadInput) given {
	return given{
		{types.ChecksumAlgorithmCrc32, in.ChecksumCRC32}, {types.ChecksumAlgorithmCrc32c, in.ChecksumCRC32C},
		{types.ChecksumAlgorithmSha1, in.ChecksumSHA1}, {types.ChecksumAlgorithmSha256, in.ChecksumSHA256},
		{crc64, in.ChecksumCRC64NVME}, {types.ChecksumAlgorithmSha512, in.ChecksumSHA512},
		{types.ChecksumAlgorithmMd5, in.ChecksumMD5}, {types.ChecksumAlgorithmXxhash64, in.ChecksumXXHASH64},
		{types.ChecksumAlgorithmXxhash3, in.ChecksumXXHASH3}, {types.ChecksumAlgorithmXxhash128, in.ChecksumXXHASH128},
	}
}
