package s3blob

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

var _ blob.Foreign = (*Store)(nil)

// StatForeign implements blob.Foreign.
func (s *Store) StatForeign(ctx context.Context, key string) (blob.ForeignInfo, error) {
	if err := s.checkForeign(ctx, key); err != nil {
		return blob.ForeignInfo{}, err
	}
	asked, cancel := s.bounded(ctx, 0)
	defer cancel()
	out, err := s.client.HeadObject(asked, &s3.HeadObjectInput{Bucket: &s.o.Bucket, Key: s.name(key), ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return blob.ForeignInfo{}, s.noForeign(ctx, "stat", key, err)
	}
	if out.ContentLength == nil || aws.ToString(out.ETag) == "" {
		return blob.ForeignInfo{}, fmt.Errorf("s3blob: stat foreign %q: the service returned no length, or no ETag", key)
	}
	if err := checkMarker(key, *out.ContentLength); err != nil {
		return blob.ForeignInfo{}, err
	}
	info := blob.ForeignInfo{
		Info: blob.Info{Key: key, Size: *out.ContentLength}, Tag: *out.ETag, MD5: md5Of(out), Alike: alikeOf(out),
		User: out.Metadata, Headers: headersOf(out), Sums: sumsOf(out),
	}
	if out.LastModified != nil {
		info.ModTime = lethe.FromTime(*out.LastModified)
	}
	return info, nil
}

// sumsOf returns the checksums that are not made of those of parts.
func sumsOf(out *s3.HeadObjectOutput) map[string]string {
	all := map[string]string{}
	for name, v := range map[string]*string{
		"SHA256": out.ChecksumSHA256, "SHA1": out.ChecksumSHA1, "CRC64NVME": out.ChecksumCRC64NVME, "CRC32C": out.ChecksumCRC32C, "CRC32": out.ChecksumCRC32,
	} {
		if aws.ToString(v) != "" && !strings.Contains(*v, "-") && out.ChecksumType != types.ChecksumTypeComposite {
			all[name] = *v
		}
	}
	return all
}

// md5Of returns the ETag where that is the MD5 of the bytes: not of an upload in
// parts, nor under a key of KMS or of the customer (AWS: "Common response
// headers").
func md5Of(out *s3.HeadObjectOutput) string {
	etag := strings.ToLower(strings.Trim(aws.ToString(out.ETag), `"`))
	sum, err := hex.DecodeString(etag)
	if err != nil || len(sum) != 16 || !plainTag(out) {
		return ""
	}
	return etag
}

// plainTag reports whether the ETag is made of the plain bytes, not of the
// encrypted ones.
func plainTag(out *s3.HeadObjectOutput) bool {
	return out.SSECustomerAlgorithm == nil && (out.ServerSideEncryption == "" || out.ServerSideEncryption == types.ServerSideEncryptionAes256)
}

// tagOfParts is an ETag that is made of the MD5s of an upload's parts.
var tagOfParts = regexp.MustCompile(`^[0-9a-f]{32}-[1-9][0-9]*$`)

// alikeOf returns the ETag if equal ETags prove equal bytes.
func alikeOf(out *s3.HeadObjectOutput) string {
	if etag := strings.ToLower(strings.Trim(aws.ToString(out.ETag), `"`)); plainTag(out) && tagOfParts.MatchString(etag) {
		return etag
	}
	return ""
}

// OpenForeign implements blob.Foreign. The request has the ETag as its condition,
// and the response is compared with it, as not every service honours the condition.
func (s *Store) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	if err := errors.Join(s.checkForeign(ctx, seen.Key), checkMarker(seen.Key, seen.Size)); err != nil {
		return nil, err
	}
	reading, stop := context.WithCancelCause(ctx)
	late := time.AfterFunc(s.o.Timeout, func() { stop(errSlow) })
	out, err := s.client.GetObject(reading, &s3.GetObjectInput{Bucket: &s.o.Bucket, Key: s.name(seen.Key), IfMatch: &seen.Tag})
	late.Stop()
	if err != nil {
		err = errors.Join(err, context.Cause(reading))
		stop(nil)
		return nil, s.noForeign(ctx, "open", seen.Key, err)
	}
	if aws.ToString(out.ETag) != seen.Tag || out.ContentLength == nil || *out.ContentLength != seen.Size {
		stop(nil)
		_ = out.Body.Close()
		return nil, fmt.Errorf("s3blob: open foreign %q: %w", seen.Key, blob.ErrChanged)
	}
	b := &body{s: s, ctx: ctx, key: seen.Key, from: out.Body, left: seen.Size, stop: stop}
	b.idle = time.AfterFunc(s.o.Timeout, func() { stop(errSlow) })
	return b, nil
}

// checkForeign refuses names that a service could confuse with others, and those of
// probes.
func (s *Store) checkForeign(ctx context.Context, key string) error {
	if err := blob.CheckForeign(key); err != nil {
		return err
	}
	if _, ok := s.key(s.o.Prefix + key); !ok {
		return fmt.Errorf("%w: %q is a name of Lethe's own", blob.ErrInvalidKey, key)
	}
	if err := s.ready(ctx); err != nil {
		return fmt.Errorf("s3blob: foreign %q: %w", key, err)
	}
	return nil
}

// checkMarker refuses a folder's marker with bytes: they may be another name's.
func checkMarker(key string, size int64) error {
	if blob.IsMarker(key) && size != 0 {
		return fmt.Errorf("%w: %q ends in a slash and has %d bytes", blob.ErrInvalidKey, key, size)
	}
	return nil
}

// noForeign is the error of a look-up of a foreign key. Nothing is concluded from
// an absence, so a 404 needs no second request.
func (s *Store) noForeign(ctx context.Context, op, key string, err error) error {
	v := judge(ctx, err)
	switch v.status {
	case http.StatusNotFound:
		return fmt.Errorf("s3blob: %s foreign %q: %w", op, key, blob.ErrNotExist)
	case http.StatusPreconditionFailed:
		return fmt.Errorf("s3blob: %s foreign %q: %w", op, key, blob.ErrChanged)
	}
	return s.reading(op+" foreign", fmt.Sprintf("%q", key), v)
}
