//go:build failpoints

package failpoint

import (
	"context"

	"github.com/lethe-storage/lethe/cache"
)

// WrapCache puts points around what c forgets for contents that lost their last
// reference.
func WrapCache(c cache.Cache) cache.Cache { return forgetful{c} }

type forgetful struct{ cache.Cache }

var _ cache.Stater = forgetful{}

func (f forgetful) Drop(ctx context.Context, keys ...string) {
	_ = alone("cache-drop", func() error { f.Cache.Drop(ctx, keys...); return nil }) // never fails
}

// Stats passes to the cache, if it has the ability.
func (f forgetful) Stats() cache.Stats {
	if s, ok := f.Cache.(cache.Stater); ok {
		return s.Stats()
	}
	return cache.Stats{}
}
