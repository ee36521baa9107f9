package object

import (
	"context"

	"github.com/lethe-storage/lethe/meta"
)

// CreateBucket makes a bucket: ErrBucketExists with the bucket that has the name,
// ErrTooManyBuckets.
func (s *Store) CreateBucket(ctx context.Context, b meta.Bucket) (meta.Bucket, error) {
	return s.ledger.CreateBucket(ctx, b)
}

// Bucket looks a bucket up: ErrNoSuchBucket.
func (s *Store) Bucket(ctx context.Context, name string) (meta.Bucket, error) {
	return s.ledger.Bucket(ctx, name)
}

// Buckets lists buckets by name.
func (s *Store) Buckets(ctx context.Context, q meta.BucketQuery) ([]meta.Bucket, error) {
	return s.ledger.Buckets(ctx, q)
}

// ConfigureBucket changes a bucket's settings, all of them.
func (s *Store) ConfigureBucket(ctx context.Context, name string, set meta.BucketSettings) (meta.Bucket, error) {
	return s.ledger.ConfigureBucket(ctx, name, set)
}

// DeleteBucket removes a bucket: ErrBucketNotEmpty while it has visible objects
// or open uploads.
func (s *Store) DeleteBucket(ctx context.Context, name string) error {
	return s.ledger.DeleteBucket(ctx, name)
}

// PutDocument keeps an opaque document of a bucket, replacing the one of its kind.
func (s *Store) PutDocument(ctx context.Context, d meta.Document) error {
	return s.ledger.PutDocument(ctx, d)
}

// Document returns a bucket's document, nil if there is none of that kind.
func (s *Store) Document(ctx context.Context, bucket, kind string) ([]byte, error) {
	return s.ledger.Document(ctx, bucket, kind)
}

// DeleteDocument removes a bucket's document; that there is none is no error.
func (s *Store) DeleteDocument(ctx context.Context, d meta.Document) error {
	return s.ledger.DeleteDocument(ctx, d)
}

// SetRules replaces a bucket's lifecycle rules, none removes them:
// meta.ErrRulesConfigured if they are set in the configuration, and not by it.
func (s *Store) SetRules(ctx context.Context, c meta.RulesChange) (meta.BucketRules, error) {
	return s.ledger.SetRules(ctx, c)
}

// Rules returns a bucket's lifecycle rules.
func (s *Store) Rules(ctx context.Context, bucket string) (meta.BucketRules, error) {
	return s.ledger.Rules(ctx, bucket)
}

// SetBucketOwner gives a bucket to another owner; its dedup domain stays.
func (s *Store) SetBucketOwner(ctx context.Context, bucket, owner string) error {
	return s.ledger.SetBucketOwner(ctx, bucket, owner)
}
