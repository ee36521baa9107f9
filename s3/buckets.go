package s3

import (
	"context"
	"errors"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// ValidLabels reports whether a bucket's name can be part of a host name. It
// checks only the labels: none is empty, begins or ends with a hyphen.
func ValidLabels(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
	}
	return true
}

// DeleteBucket deletes a bucket without objects. It aborts uploads that are still open,
// as S3 does; each in a transaction of its own. It fails with lethe.ErrBucketNotEmpty, and with
// lethe.ErrNoSuchBucket if another bucket than id has the name (empty: any is meant).
func DeleteBucket(ctx context.Context, s Store, name string, id lethe.ID) error {
	err := s.Buckets.DeleteBucket(ctx, name, id)
	if !errors.Is(err, lethe.ErrBucketNotEmpty) {
		return err
	}
	if found, listErr := hasObjects(ctx, s.Objects, name); listErr != nil || found {
		return err
	}
	for {
		open, err := s.Uploads.Uploads(ctx, ledger.UploadQuery{Bucket: name, Limit: MaxList})
		if err != nil {
			return err
		}
		for _, u := range open {
			if err := ledger.CheckBucketID(name, u.BucketID, id); err != nil {
				return err
			}
			if err := s.Uploads.Abort(ctx, u.Bucket, u.Key, u.ID); err != nil && !errors.Is(err, lethe.ErrNoSuchUpload) {
				return err
			}
		}
		if len(open) < MaxList {
			return s.Buckets.DeleteBucket(ctx, name, id)
		}
	}
}

// hasObjects reports whether a bucket has an object. Pages before the first one may be empty:
// objects that have ended are still read there.
func hasObjects(ctx context.Context, s ObjectReader, bucket string) (bool, error) {
	for q := (ledger.ListQuery{Bucket: bucket, Limit: 1}); ; {
		page, err := s.List(ctx, q)
		if err != nil || len(page.Objects) > 0 || !page.More {
			return len(page.Objects) > 0, err
		}
		q.After = page.Next
	}
}
