// Package tiered is a cache.Cache of two: a near one in this process before a far
// one that instances share.
//
// Another instance does not learn that a content was dropped, and its near cache
// still holds it. That only costs memory: a content never changes, its id is never
// reused, and whether an object may be read is decided by its row
// (docs/protocol.md, rule 11), so a dropped content is not requested. The near copy
// expires no later than the far one, or is evicted.
package tiered

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe/cache"
)

// Far is a shared cache that reports remaining times to live; *rediscache.Cache is
// one.
type Far interface {
	cache.Cache
	// GetWithTTL is Get with the remaining time, above zero.
	GetWithTTL(ctx context.Context, key string) (value []byte, left time.Duration, ok bool)
}

// Cache implements cache.Cache, cache.Keeper and cache.Stater.
type Cache struct {
	near cache.Cache
	far  Far
}

// New puts near before far.
func New(near cache.Cache, far Far) *Cache { return &Cache{near: near, far: far} }

// Get reads near, then far; near holds what only far has for the remaining time.
// The caller drops a damaged value, from both.
func (c *Cache) Get(ctx context.Context, key string) ([]byte, bool) {
	if value, ok := c.near.Get(ctx, key); ok {
		return value, true
	}
	value, left, ok := c.far.GetWithTTL(ctx, key)
	if ok {
		c.near.Put(ctx, key, value, left)
	}
	return value, ok
}

// Put offers the value to both.
func (c *Cache) Put(ctx context.Context, key string, value []byte, ttl time.Duration) {
	c.near.Put(ctx, key, value, ttl)
	c.far.Put(ctx, key, value, ttl)
}

// Keep implements cache.Keeper: near holds the value, if it can.
func (c *Cache) Keep(ctx context.Context, key string, value []byte, ttl time.Duration) {
	if k, ok := c.near.(cache.Keeper); ok {
		k.Keep(ctx, key, value, ttl)
	}
}

// Drop removes the keys from both.
func (c *Cache) Drop(ctx context.Context, keys ...string) {
	c.near.Drop(ctx, keys...)
	c.far.Drop(ctx, keys...)
}

// Stats has the contents of near, the hits of both and the misses of far: a miss is
// a value in neither.
func (c *Cache) Stats() cache.Stats {
	near, far := statsOf(c.near), statsOf(c.far)
	near.Hits += far.Hits
	near.Misses = far.Misses
	return near
}

func statsOf(c cache.Cache) cache.Stats {
	if s, ok := c.(cache.Stater); ok {
		return s.Stats()
	}
	return cache.Stats{}
}
