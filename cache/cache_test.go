package cache_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/cache/cachetest"
)

func TestNull(t *testing.T) {
	cachetest.Run(t, cachetest.Suite{
		New:     func(*testing.T) cache.Cache { return cache.Null{} },
		Advance: func(time.Duration) {},
	})
}

func TestKeysDifferByStoreAndContent(t *testing.T) {
	a, b := lethe.RandomID(1), lethe.RandomID(1)
	keys := map[string]bool{cache.Key(a, a): true, cache.Key(a, b): true, cache.Key(b, a): true, cache.Key(b, b): true}
	if len(keys) != 4 || !keys[string(a)+"/"+string(b)] {
		t.Errorf("keys of two stores and two contents: %v", keys)
	}
}
