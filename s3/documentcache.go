package s3

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// documentsFor is how long a bucket's document is cached. A change by
	// another process takes effect within it, one by this process at once.
	documentsFor = time.Second
	// maxCached bounds of how many buckets.
	maxCached = 2_000
)

// DocumentCache caches the documents of buckets briefly: access control list,
// policy and rules are read before every operation.
type DocumentCache struct {
	BucketStore
	DocumentStore
	clock lethe.Clock // monotonic

	mu      sync.Mutex
	changes int64 // begun or ended here
	by      map[string]cachedBucket
}

// cachedBucket is a bucket with the documents read of it, nil if there is none of a kind.
type cachedBucket struct {
	id        lethe.ID // read before them, so that whoever finds it under the name later knows that they were its own
	at        lethe.Time
	documents map[string][]byte
}

// NewDocumentCache returns a cache of the buckets and documents of a store.
func NewDocumentCache(s Store) *DocumentCache {
	return &DocumentCache{BucketStore: s.Buckets, DocumentStore: s.Documents, clock: lethe.Monotonic{}, by: map[string]cachedBucket{}}
}

// Cached returns a document without reading it, if it is cached, and the bucket that it is of;
// nil if there is none. Callers do not change it.
func (c *DocumentCache) Cached(bucket, kind string) (body []byte, of lethe.ID, ok bool) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.fresh(bucket, now)
	body, ok = have.documents[kind]
	return body, have.id, ok
}

// fresh returns what is cached of a bucket.
func (c *DocumentCache) fresh(bucket string, now lethe.Time) cachedBucket {
	if have := c.by[bucket]; now.Sub(have.at) < documentsFor {
		return have
	}
	return cachedBucket{}
}

// Document reads a document; callers do not change it.
func (c *DocumentCache) Document(ctx context.Context, bucket, kind string) ([]byte, error) {
	body, _, err := c.DocumentOf(ctx, bucket, kind)
	return body, err
}

// DocumentOf is Document, and returns the bucket that the document is of: as long as that has
// the name, the document was not another's.
func (c *DocumentCache) DocumentOf(ctx context.Context, bucket, kind string) (body []byte, of lethe.ID, err error) {
	if body, of, ok := c.Cached(bucket, kind); ok {
		return body, of, nil
	}
	now := c.clock.Now()
	c.mu.Lock()
	seen, have := c.changes, c.fresh(bucket, now)
	c.mu.Unlock()
	if of = have.id; of != "" {
		now = have.at // when it was the bucket
	} else {
		found, err := c.BucketStore.Bucket(ctx, bucket)
		if err != nil {
			return nil, "", err
		}
		of = found.ID
	}
	if body, err = c.DocumentStore.Document(ctx, bucket, kind); err != nil {
		return nil, "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A document that was read during a change may be the old one.
	if c.changes == seen {
		c.keep(bucket, cachedBucket{of, now, map[string][]byte{kind: body}})
	}
	return body, of, nil
}

// keep caches a document, beside those that were read of the bucket before.
func (c *DocumentCache) keep(bucket string, read cachedBucket) {
	if have := c.fresh(bucket, read.at); have.id == read.id {
		all := maps.Clone(have.documents)
		maps.Copy(all, read.documents)
		read = cachedBucket{read.id, min(read.at, have.at), all}
	} else if len(c.by) >= maxCached {
		clear(c.by)
	}
	c.by[bucket] = read
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
	delete(c.by, bucket)
}

// Drop drops a bucket's cached documents where another bucket was found to have the name.
func (c *DocumentCache) Drop(bucket string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.by, bucket)
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
func (c *DocumentCache) DeleteBucket(ctx context.Context, name string, id lethe.ID) error {
	return c.changing(name, func() error { return c.BucketStore.DeleteBucket(ctx, name, id) })
}
