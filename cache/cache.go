// Package cache is the contract for caches of content, and the cache that holds
// nothing. memcache keeps values in this process, rediscache in Redis, tiered joins
// the two; cachetest is the suite that every implementation passes.
//
// A cache is never authoritative (docs/protocol.md, rule 11). Whether an object may
// be read is decided by its row. The caller checks each value against the content's
// digest, and drops one that does not match. An implementation may therefore forget
// anything at any time, and an outage of one is a miss, not an error.
package cache

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
)

// Cache holds copies of contents by key. Implementations are safe for concurrent
// use, return quickly, and honour ctx where they wait.
type Cache interface {
	// Get returns the value last put under the key, if it is still held. The caller
	// must not modify it, and checks it against its digest.
	Get(ctx context.Context, key string) (value []byte, ok bool)
	// Put offers a value to be held for at most ttl. Nothing is held for a ttl of
	// zero or less, or a value over the implementation's limit. The earlier value
	// of the key is removed in any case. The value is copied: the caller may reuse
	// its buffer.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration)
	// Drop removes the keys; those that are not held are no error.
	Drop(ctx context.Context, keys ...string)
}

// Keeper is the optional ability to hold a value that was just written, which is
// likely to be read soon. It is for a cache in this process, where that costs a
// copy and no call.
type Keeper interface {
	// Keep is Put without a call to another program: a shared cache gets the value
	// at the first miss.
	Keep(ctx context.Context, key string, value []byte, ttl time.Duration)
}

// Key is the key of a content: store id "/" content id. Both are never reused and
// the bytes of a content never change, so a value under a key may be damaged, but
// never outdated.
func Key(store, content lethe.ID) string { return string(store) + "/" + string(content) }

// DropContents removes contents of a store that lost their last reference.
func DropContents(ctx context.Context, c Cache, store lethe.ID, contents []lethe.ID) {
	if len(contents) == 0 {
		return
	}
	keys := make([]string, len(contents))
	for i, id := range contents {
		keys[i] = Key(store, id)
	}
	c.Drop(ctx, keys...)
}

// Stats counts the work of a cache since it was made.
type Stats struct {
	Hits      int64
	Misses    int64
	Rejected  int64 // values over the limit for one
	Evictions int64 // values that were evicted or expired
	Entries   int64 // held now, approximately
	Bytes     int64 // held now, with keys and an allowance for bookkeeping
	Capacity  int64 // bytes at most
}

// Stater is the optional ability to report Stats.
type Stater interface {
	Stats() Stats
}

// Null holds nothing: every Get is a miss.
type Null struct{}

// Get misses.
func (Null) Get(context.Context, string) ([]byte, bool) { return nil, false }

// Put does nothing.
func (Null) Put(context.Context, string, []byte, time.Duration) {}

// Drop does nothing.
func (Null) Drop(context.Context, ...string) {}
