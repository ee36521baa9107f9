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
// as S3 does; each in a transaction of its own. It fails with lethe.ErrBucketNotEmpty.
func DeleteBucket(ctx context.Context, s Store, name string) error {
	err := s.Buckets.DeleteBucket(ctx, name)
	if !errors.Is(err, lethe.ErrBucketNotEmpty) {
		return err
	}
	page, listErr := s.Objects.List(ctx, ledger.ListQuery{Bucket: name, Limit: 1})
	if listErr != nil || len(page.Objects) > 0 {
		return err
	}
	for {
		open, err := s.Uploads.Uploads(ctx, ledger.UploadQuery{Bucket: name, Limit: MaxList})
		if err != nil {
			return err
		}
		for _, u := range open {
			if err := s.Uploads.Abort(ctx, u.Bucket, u.Key, u.ID); err != nil && !errors.Is(err, lethe.ErrNoSuchUpload) {
				return err
			}
		}
		if len(open) < MaxList {
			return s.Buckets.DeleteBucket(ctx, name)
		}
	}
}
