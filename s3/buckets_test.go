package s3_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// crowded is a bucket whose first keys have ended, so that a listing begins with empty pages.
type crowded struct {
	s3.BucketStore
	s3.ObjectStore
	s3.UploadStore
	keys    []string // from the third page on
	uploads []ledger.Upload
	deleted bool
}

func (c *crowded) DeleteBucket(context.Context, string, lethe.ID) error {
	if len(c.keys)+len(c.uploads) > 0 {
		return lethe.ErrBucketNotEmpty
	}
	c.deleted = true
	return nil
}

func (c *crowded) List(_ context.Context, q ledger.ListQuery) (page ledger.ListPage, err error) {
	next := map[string]string{"": "ended 1", "ended 1": "ended 2"}
	if page.Next, page.More = next[q.After]; page.More {
		return page, nil
	}
	for _, key := range c.keys {
		page.Objects = append(page.Objects, ledger.Object{Bucket: q.Bucket, Key: key})
	}
	return page, nil
}

func (c *crowded) Uploads(context.Context, ledger.UploadQuery) ([]ledger.Upload, error) {
	return slices.Clone(c.uploads), nil
}

func (c *crowded) Abort(_ context.Context, _, _ string, id lethe.ID) error {
	c.uploads = slices.DeleteFunc(c.uploads, func(u ledger.Upload) bool { return u.ID == id })
	return nil
}

// Uploads to another bucket that got the name meanwhile are not aborted.
func TestDeleteBucketSparesUploadsOfAnother(t *testing.T) {
	c := &crowded{uploads: []ledger.Upload{{ID: "1", BucketID: "another", Bucket: "b", Key: "up"}}}
	err := s3.DeleteBucket(t.Context(), s3.Store{Buckets: c, Objects: c, Uploads: c}, "b", "meant")
	if !errors.Is(err, lethe.ErrNoSuchBucket) || len(c.uploads) != 1 {
		t.Errorf("%v, %d uploads are left", err, len(c.uploads))
	}
}

// A bucket that is not deleted for its objects keeps its uploads, also where many objects have
// ended before the first one that has not.
func TestDeleteBucketSparesUploadsBesideObjects(t *testing.T) {
	for _, keys := range [][]string{{"k"}, nil} {
		c := &crowded{keys: keys, uploads: []ledger.Upload{{ID: "1", Bucket: "b", Key: "up"}}}
		err := s3.DeleteBucket(t.Context(), s3.Store{Buckets: c, Objects: c, Uploads: c}, "b", "")
		refused := errors.Is(err, lethe.ErrBucketNotEmpty)
		if stays := len(keys) > 0; refused != stays || c.deleted == stays || (len(c.uploads) == 1) != stays {
			t.Errorf("with the keys %v: %v, %d uploads are left, deleted %v", keys, err, len(c.uploads), c.deleted)
		}
	}
}
