// Package memcache is a cache.Cache in this process, bounded in bytes. Rarely read
// values are evicted first. An expired value is never returned, and is removed when
// room is needed: there is no periodic clean-up.
package memcache

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/cache"
)

// overhead is the allowance per entry, in bytes, for the map and the queues beside
// key and value.
const overhead = 256

// Options bound a Cache.
type Options struct {
	// Bytes is the most that all entries may take: values, keys and an allowance
	// for bookkeeping. Puts under way at the same time may exceed it briefly.
	Bytes int64
	// MaxValue is the largest value held, in bytes; zero means a sixteenth of
	// Bytes, so that no single content empties the cache.
	MaxValue int64
	// Clock decides when a value expires; nil is the machine's.
	Clock lethe.Clock
}

// Cache implements cache.Cache, cache.Keeper and cache.Stater. It starts no
// goroutine and needs no closing.
type Cache struct {
	entries  *otter.Cache[string, entry]
	counts   *stats.Counter
	capacity int64
	maxValue int64
	rejected atomic.Int64
}

type entry struct {
	value []byte
	ttl   time.Duration
}

// New makes an empty cache. It fails if the bounds are invalid. A cache that holds
// nothing is cache.Null.
func New(o Options) (*Cache, error) {
	if o.MaxValue == 0 {
		o.MaxValue = min(o.Bytes/16, math.MaxUint32/2)
	}
	if o.Bytes <= 0 || o.MaxValue <= 0 || o.MaxValue > o.Bytes || o.MaxValue > math.MaxUint32/2 {
		return nil, fmt.Errorf("memcache: a cache of %d bytes with values of up to %d bytes is not possible; "+
			"use a positive size, and a largest value within it and below 2 GiB", o.Bytes, o.MaxValue)
	}
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	counts := stats.NewCounter()
	entries, err := otter.New(&otter.Options[string, entry]{
		MaximumWeight: uint64(o.Bytes),
		Weigher:       weigh,
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, entry]) time.Duration {
			return e.Value.ttl
		}),
		StatsRecorder: counts,
		// Evicting on the goroutine that puts keeps the bound tight.
		Executor: func(fn func()) { fn() },
		Clock:    clock{o.Clock},
	})
	if err != nil {
		return nil, fmt.Errorf("memcache: %w", err)
	}
	return &Cache{entries: entries, counts: counts, capacity: o.Bytes, maxValue: o.MaxValue}, nil
}

func weigh(key string, e entry) uint32 { return uint32(len(key) + len(e.value) + overhead) }

// Get returns the value held under the key; it is shared, not copied.
func (c *Cache) Get(_ context.Context, key string) ([]byte, bool) {
	e, ok := c.entries.GetIfPresent(key)
	return e.value, ok
}

// Put holds a copy of the value for at most ttl.
func (c *Cache) Put(_ context.Context, key string, value []byte, ttl time.Duration) {
	if ttl <= 0 || int64(len(value)) > c.maxValue {
		if ttl > 0 {
			c.rejected.Add(1)
		}
		c.entries.Invalidate(key)
		return
	}
	c.entries.Set(key, entry{value: slices.Clone(value), ttl: ttl})
}

// Keep implements cache.Keeper.
func (c *Cache) Keep(ctx context.Context, key string, value []byte, ttl time.Duration) {
	c.Put(ctx, key, value, ttl)
}

// Drop removes the keys.
func (c *Cache) Drop(_ context.Context, keys ...string) {
	for _, key := range keys {
		c.entries.Invalidate(key)
	}
}

// Stats reports what the cache did and holds.
func (c *Cache) Stats() cache.Stats {
	s := c.counts.Snapshot()
	return cache.Stats{
		Hits:      int64(s.Hits),
		Misses:    int64(s.Misses),
		Rejected:  c.rejected.Load(),
		Evictions: int64(s.Evictions),
		Entries:   int64(c.entries.EstimatedSize()),
		Bytes:     int64(c.entries.WeightedSize()),
		Capacity:  c.capacity,
	}
}

// clock lets entries age by a lethe.Clock. It does not tick: without a periodic
// clean-up there is no goroutine, and the bound in bytes holds anyway.
type clock struct{ lethe.Clock }

func (c clock) NowNano() int64 { return int64(c.Now()) * int64(time.Microsecond) }

func (clock) Tick(time.Duration) <-chan time.Time { return nil }
