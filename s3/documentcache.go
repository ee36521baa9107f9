package s3

import (
	"context"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// documentsFor is how long a bucket's document is cached. A change by
	// another process takes effect within it, one by this process at once.
	documentsFor = time.Second
	// maxDocuments bounds how many are kept.
	maxDocuments = 10_000
)

// DocumentCache caches the documents of buckets briefly: access control list,
// policy and rules are read before every operation.
type DocumentCache struct {
	BucketStore
	DocumentStore
	clock lethe.Clock // monotonic

	mu      sync.Mutex
	changes int64 // begun or ended here
	by      map[documentName]cachedDocument
}

type documentName struct{ bucket, kind string }

// cachedDocument is a document, nil if there is none.
type cachedDocument struct {
	body []byte
	at   lethe.Time
}

// NewDocumentCache returns a cache of the buckets and documents of a store.
func NewDocumentCache(s Store) *DocumentCache {
	return &DocumentCache{BucketStore: s.Buckets, DocumentStore: s.Documents, clock: lethe.Monotonic{}, by: map[documentName]cachedDocument{}}
}

// Cached returns a document without reading it, if it is cached; nil if there is none.
// Callers do not change it.
func (c *DocumentCache) Cached(bucket, kind string) (body []byte, ok bool) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	have, ok := c.by[documentName{bucket, kind}]
	return have.body, ok && now.Sub(have.at) < documentsFor
}

// Document reads a document; callers do not change it.
func (c *DocumentCache) Document(ctx context.Context, bucket, kind string) ([]byte, error) {
	if body, ok := c.Cached(bucket, kind); ok {
		return body, nil
	}
	name, now := documentName{bucket, kind}, c.clock.Now()
	c.mu.Lock()
	seen := c.changes
	c.mu.Unlock()
	body, err := c.DocumentStore.Document(ctx, bucket, kind)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A document that was read during a change may be the old one.
	if c.changes == seen {
		if len(c.by) >= maxDocuments {
			clear(c.by)
		}
		c.by[name] = cachedDocument{body, now}
	}
	return body, nil
}

// changing drops a bucket's cached documents before and after a change.
func (c *DocumentCache) changing(bucket string, change func() error) error {
	c.Forget(bucket)
	defer c.Forget(bucket)
	return change()
}

// Forget drops a bucket's cached documents.
func (c *DocumentCache) Forget(bucket string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for _, kind := range kinds {
		delete(c.by, documentName{bucket, kind})
	}
}

// PutDocument writes a document.
func (c *DocumentCache) PutDocument(ctx context.Context, d ledger.Document) error {
	return c.changing(d.Bucket, func() error { return c.DocumentStore.PutDocument(ctx, d) })
}

// DeleteDocument removes a document.
func (c *DocumentCache) DeleteDocument(ctx context.Context, d ledger.Document) error {
	return c.changing(d.Bucket, func() error { return c.DocumentStore.DeleteDocument(ctx, d) })
}

// SetBucketOwner changes the owner.
func (c *DocumentCache) SetBucketOwner(ctx context.Context, bucket, owner string) error {
	return c.changing(bucket, func() error { return c.BucketStore.SetBucketOwner(ctx, bucket, owner) })
}

// CreateBucket makes a bucket.
func (c *DocumentCache) CreateBucket(ctx context.Context, b ledger.Bucket) (made ledger.Bucket, err error) {
	err = c.changing(b.Name, func() error {
		made, err = c.BucketStore.CreateBucket(ctx, b)
		return err
	})
	return made, err
}

// DeleteBucket removes a bucket with its documents.
func (c *DocumentCache) DeleteBucket(ctx context.Context, name string) error {
	return c.changing(name, func() error { return c.BucketStore.DeleteBucket(ctx, name) })
}
