// Package rediscache is a cache.Cache in Redis or Valkey, shared by all instances
// of a store.
//
// A value has the key "lethe:c:<store id>/<content id>" and the time to live of
// the object that was read: no value outlives the latest expiry among the objects
// that share it. Neither id is ever reused, and whether an object may be read is
// decided by its row (docs/protocol.md, rule 11).
//
// So no operation here has to succeed. A value that could not be dropped is
// unreachable and expires, a damaged one is found by the caller by its digest, and
// a server that is down, flushed or slow is a miss. Errors go to Events, never to
// the caller.
package rediscache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/internal/redisconn"
)

// dropChunk is the most keys in one UNLINK, and commands in one pipeline: longer
// ones would block other clients for too long.
const dropChunk = 1000

// keyPrefix begins every key.
const keyPrefix = redisconn.KeyPrefix + "c:"

// Options of a Cache.
type Options struct {
	Conn *redisconn.Conn
	// MaxValue is the largest value held, in bytes (default 256 KiB): moving larger
	// ones twice costs more than a backend's response time.
	MaxValue int64
	Events   Events
}

// Events report commands that failed. Nil funcs are silent. While the server is
// down (redisconn.Events) they are silent too.
type Events struct {
	Failed func(what string, err error)
}

// Cache implements cache.Cache and cache.Stater.
type Cache struct {
	conn     *redisconn.Conn
	maxValue int64
	events   Events

	hits, misses, rejected atomic.Int64
}

// New makes a cache on the connection, which stays the caller's to close.
func New(o Options) (*Cache, error) {
	o.MaxValue = cmp.Or(o.MaxValue, 256<<10)
	if o.Conn == nil || o.MaxValue < 0 || o.MaxValue > 512<<20 {
		return nil, fmt.Errorf("rediscache: values of up to %d bytes are not possible; use 1 byte to 512 MiB, which is Redis's own limit", o.MaxValue)
	}
	return &Cache{conn: o.Conn, maxValue: o.MaxValue, events: o.Events}, nil
}

// Get returns the value held under the key.
func (c *Cache) Get(ctx context.Context, key string) ([]byte, bool) {
	var value []byte
	err := c.conn.Do(ctx, func(ctx context.Context, r redis.UniversalClient) (err error) {
		value, err = r.Get(ctx, keyPrefix+key).Bytes()
		return err
	})
	return value, c.found(ctx, err)
}

// GetWithTTL is Get that also returns the remaining time to live, which is above zero.
func (c *Cache) GetWithTTL(ctx context.Context, key string) (value []byte, left time.Duration, ok bool) {
	err := c.conn.Do(ctx, func(ctx context.Context, r redis.UniversalClient) error {
		var got *redis.StringCmd
		var ttl *redis.DurationCmd
		_, piped := r.Pipelined(ctx, func(p redis.Pipeliner) error {
			got, ttl = p.Get(ctx, keyPrefix+key), p.PTTL(ctx, keyPrefix+key)
			return nil
		})
		if err := errors.Join(got.Err(), ttl.Err()); err != nil {
			return err
		}
		value, left = []byte(got.Val()), ttl.Val()
		return piped
	})
	if err == nil && left <= 0 {
		err = redis.Nil // it expired between the two commands
	}
	return value, left, c.found(ctx, err)
}

func (c *Cache) found(ctx context.Context, err error) bool {
	if err == nil {
		c.hits.Add(1)
		return true
	}
	c.misses.Add(1)
	if !errors.Is(err, redis.Nil) {
		c.failed(ctx, "get", err)
	}
	return false
}

// Put holds a copy of the value for at most ttl, in whole milliseconds.
func (c *Cache) Put(ctx context.Context, key string, value []byte, ttl time.Duration) {
	ttl = ttl.Truncate(time.Millisecond)
	if ttl <= 0 || int64(len(value)) > c.maxValue {
		if ttl > 0 {
			c.rejected.Add(1)
		}
		c.Drop(ctx, key)
		return
	}
	err := c.conn.Do(ctx, func(ctx context.Context, r redis.UniversalClient) error {
		return r.Set(ctx, keyPrefix+key, value, ttl).Err()
	})
	c.failed(ctx, "put", err)
}

// Drop removes the keys: with one variadic UNLINK per thousand keys, on a cluster
// with a pipeline of single ones, since random keys rarely share a slot.
func (c *Cache) Drop(ctx context.Context, keys ...string) {
	for chunk := range slices.Chunk(keys, dropChunk) {
		names := make([]string, len(chunk))
		for i, key := range chunk {
			names[i] = keyPrefix + key
		}
		c.failed(ctx, "drop", c.conn.Do(ctx, func(ctx context.Context, r redis.UniversalClient) error {
			if c.conn.Clustered() {
				return unlinkSingly(ctx, r, names)
			}
			return r.Unlink(ctx, names...).Err()
		}))
	}
}

func unlinkSingly(ctx context.Context, r redis.UniversalClient, names []string) error {
	cmds, piped := r.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range names {
			p.Unlink(ctx, name)
		}
		return nil
	})
	// The pipeline's own error is that of the first command; the others count too.
	var errs []error
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return piped
	}
	return fmt.Errorf("%d of %d keys: %w", len(errs), len(names), errs[0])
}

// failed reports an error; nil is none, nor is a caller that gave up.
func (c *Cache) failed(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if c.events.Failed != nil && !errors.Is(err, redisconn.ErrDown) {
		c.events.Failed(what, err)
	}
}

// Stats reports what this instance did with the cache; what the server holds is
// unknown here.
func (c *Cache) Stats() cache.Stats {
	return cache.Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Rejected: c.rejected.Load()}
}
