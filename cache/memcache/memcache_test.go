package memcache

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/cache/cachetest"
	"github.com/lethe-storage/lethe/test/clocktest"
)

func TestConformance(t *testing.T) {
	clock := clocktest.New()
	const maxValue = 64 << 10
	cachetest.Run(t, cachetest.Suite{
		New: func(t *testing.T) cache.Cache {
			return open(t, Options{Bytes: 4 << 20, MaxValue: maxValue, Clock: clock})
		},
		Advance:  clock.Advance,
		MaxValue: maxValue,
	})
}

func open(t *testing.T, o Options) *Cache {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNeverHoldsMoreThanItsBytes(t *testing.T) {
	const capacity = 1 << 20
	c := open(t, Options{Bytes: capacity})
	ctx := context.Background()
	for i := range 5_000 {
		c.Put(ctx, fmt.Sprint(i), make([]byte, (i*37)%(capacity/16)), time.Hour)
		if held := c.Stats().Bytes; held > capacity {
			t.Fatalf("%d bytes held after %d values; capacity %d", held, i+1, capacity)
		}
	}
	s := c.Stats()
	if s.Bytes < capacity/2 || s.Evictions == 0 || s.Capacity != capacity {
		t.Errorf("after 5,000 values: %+v; want a well filled cache that evicted", s)
	}
	if held := heldBytes(c, 5_000); held > capacity {
		t.Errorf("%d bytes can be read from a cache of %d", held, capacity)
	}
}

func heldBytes(c *Cache, keys int) (n int) {
	for i := range keys {
		value, _ := c.Get(context.Background(), fmt.Sprint(i))
		n += len(value)
	}
	return n
}

func TestBoundHoldsUnderConcurrentPuts(t *testing.T) {
	const capacity, workers = 256 << 10, 4
	c := open(t, Options{Bytes: capacity})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range 1_000 {
				c.Put(context.Background(), fmt.Sprint(w, i), make([]byte, 4<<10), time.Hour)
			}
		})
	}
	wg.Wait()
	c.Put(context.Background(), "last", nil, time.Hour)
	if s := c.Stats(); s.Bytes > capacity {
		t.Errorf("%d bytes held; capacity %d", s.Bytes, capacity)
	}
}

func TestStatsCountWhatHappened(t *testing.T) {
	c := open(t, Options{Bytes: 1 << 20, MaxValue: 10})
	ctx := context.Background()
	c.Put(ctx, "a", []byte("0123456789"), time.Hour)
	c.Put(ctx, "b", []byte("0123456789+"), time.Hour)
	c.Put(ctx, "c", []byte("c"), 0)
	c.Get(ctx, "a")
	c.Get(ctx, "a")
	c.Get(ctx, "b")
	want := cache.Stats{Hits: 2, Misses: 1, Rejected: 1, Entries: 1, Bytes: 10 + 1 + overhead, Capacity: 1 << 20}
	if got := c.Stats(); got != want {
		t.Errorf("Stats = %+v; want %+v", got, want)
	}
	c.Drop(ctx, "a")
	if got := c.Stats(); got.Bytes != 0 || got.Entries != 0 || got.Evictions != 0 {
		t.Errorf("after the drop: %+v", got)
	}
}

func TestNewRefusesBoundsWithoutSense(t *testing.T) {
	for _, o := range []Options{
		{}, {Bytes: -1}, {Bytes: 15}, {Bytes: 1 << 20, MaxValue: -1}, {Bytes: 1 << 20, MaxValue: 1<<20 + 1},
		{Bytes: 8 << 30, MaxValue: 3 << 30},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "use a positive size") {
			t.Errorf("New(%+v): %v; want an error that says what to use", o, err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	c, err := New(Options{Bytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	c.Put(ctx, "a", make([]byte, 4<<10), time.Hour)
	for b.Loop() {
		if _, ok := c.Get(ctx, "a"); !ok {
			b.Fatal("miss")
		}
	}
}
