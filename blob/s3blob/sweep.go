package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
)

// SweepUnfinished implements blob.Unfinished: it aborts multipart uploads below the
// prefix that were begun before the instant, by the service's clock. Uploads in flight
// in this process are left alone; those of another one only by their age. Bytes are
// those of the parts. MinIO lists no uploads by prefix, and removes them itself.
func (s *Store) SweepUnfinished(ctx context.Context, before lethe.Time) (n int, bytes int64, err error) {
	in := &s3.ListMultipartUploadsInput{Bucket: &s.o.Bucket, Prefix: &s.o.Prefix, EncodingType: types.EncodingTypeUrl}
	for {
		asked, cancel := s.bounded(ctx, 0)
		out, err := s.client.ListMultipartUploads(asked, in)
		cancel()
		if err != nil {
			if v := judge(ctx, err); v.certain && v.is(unable...) {
				return n, bytes, nil
			}
			return n, bytes, s.reading("list uploads below", s.o.Prefix, judge(ctx, err))
		}
		for _, upload := range out.Uploads {
			removed, size, err := s.sweep(ctx, upload, out.EncodingType, before)
			if err != nil {
				return n, bytes, err
			}
			if removed {
				n, bytes = n+1, bytes+size
			}
		}
		if out.IsTruncated == nil || !*out.IsTruncated {
			return n, bytes, nil
		}
		if same(in.KeyMarker, out.NextKeyMarker) && same(in.UploadIdMarker, out.NextUploadIdMarker) {
			return n, bytes, fmt.Errorf("s3blob: list uploads below %s: it is truncated, but has no continuation", s.o.Prefix)
		}
		in.KeyMarker, in.UploadIdMarker = decoded(out.NextKeyMarker, out.EncodingType), out.NextUploadIdMarker
	}
}

// AbortUpload implements blob.Aborter.
func (s *Store) AbortUpload(ctx context.Context, key, id string) error {
	if err := s.checkForeign(ctx, key); err != nil {
		return notDone("abort upload of", key, err)
	}
	if id == "" {
		return notDone("abort upload of", key, errors.New("its id is empty"))
	}
	_, err := s.abortUpload(ctx, s.name(key), &id)
	return err
}

func same(a, b *string) bool { return b == nil || *b == "" || a != nil && *a == *b }

func decoded(name *string, encoding types.EncodingType) *string {
	if name == nil || encoding != types.EncodingTypeUrl {
		return name
	}
	plain, err := url.QueryUnescape(*name)
	if err != nil {
		return name
	}
	return &plain
}

// sweep aborts one upload, if it is old and not in flight.
func (s *Store) sweep(ctx context.Context, u types.MultipartUpload, encoding types.EncodingType, before lethe.Time) (bool, int64, error) {
	name := decoded(u.Key, encoding)
	if name == nil || u.UploadId == nil || u.Initiated == nil || lethe.FromTime(*u.Initiated) >= before {
		return false, 0, nil
	}
	key, ours := s.key(*name)
	if _, busy := s.putting.Load(key); busy || !ours && !s.ofProbe(*name) {
		return false, 0, nil
	}
	size := s.partsSize(ctx, *name, u.UploadId)
	if done, err := s.abortUpload(ctx, name, u.UploadId); !done || err != nil {
		return false, 0, err
	}
	return true, size, nil
}

// abortUpload aborts an upload; false: there is none.
func (s *Store) abortUpload(ctx context.Context, name, id *string) (bool, error) {
	asked, cancel := s.bounded(ctx, 0)
	defer cancel()
	_, err := s.client.AbortMultipartUpload(asked, &s3.AbortMultipartUploadInput{Bucket: &s.o.Bucket, Key: name, UploadId: id})
	if err == nil {
		return true, nil
	}
	v := judge(ctx, err)
	if v.is("NoSuchUpload") {
		return false, nil
	}
	return false, s.changing("abort upload of", *name, v)
}

// partsSize adds up the parts of an upload, as far as the service reports them.
func (s *Store) partsSize(ctx context.Context, name string, id *string) (sum int64) {
	in := &s3.ListPartsInput{Bucket: &s.o.Bucket, Key: &name, UploadId: id}
	for {
		asked, cancel := s.bounded(ctx, 0)
		out, err := s.client.ListParts(asked, in)
		cancel()
		if err != nil {
			return sum
		}
		for _, part := range out.Parts {
			if part.Size != nil {
				sum += *part.Size
			}
		}
		if out.IsTruncated == nil || !*out.IsTruncated || same(in.PartNumberMarker, out.NextPartNumberMarker) {
			return sum
		}
		in.PartNumberMarker = out.NextPartNumberMarker
	}
}

// ofProbe reports whether a name is an object of a probe.
func (s *Store) ofProbe(name string) bool {
	folder := s.o.Prefix + probeFolder
	return len(name) > len(folder) && name[:len(folder)] == folder
}
