// Package cachetest is the suite that every cache.Cache passes. It holds no cache
// itself.
package cachetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/cache"
)

// Suite describes an implementation to Run.
type Suite struct {
	// New makes an empty cache with room for at least 1 MiB.
	New func(t *testing.T) cache.Cache
	// Advance lets time pass for the cache.
	Advance func(d time.Duration)
	// MaxValue is the largest value that the caches made by New hold, in bytes;
	// zero for a cache that holds nothing.
	MaxValue int
}

// Run checks an implementation against the contract.
func Run(t *testing.T, s Suite) {
	t.Run("MissesWhatWasNeverPut", s.missesWhatWasNeverPut)
	t.Run("DropsAndReplaces", s.dropsAndReplaces)
	t.Run("CopiesWhatIsPut", s.copiesWhatIsPut)
	t.Run("HoldsNothingWithoutTime", s.holdsNothingWithoutTime)
	t.Run("NeverAnswersAfterItsTime", s.neverAnswersAfterItsTime)
	t.Run("RefusesLargeValues", s.refusesLargeValues)
	t.Run("KeepsAsItPuts", s.keepsAsItPuts)
	t.Run("AnswersOnlyWhatWasPut", s.answersOnlyWhatWasPut)
}

// expect checks the value under the key; nil is a miss.
func (s Suite) expect(t *testing.T, c cache.Cache, key string, want []byte) {
	t.Helper()
	got, ok := c.Get(context.Background(), key)
	if s.MaxValue == 0 {
		want = nil
	}
	if ok != (want != nil) || !bytes.Equal(got, want) {
		t.Errorf("Get(%q) = %d bytes %.20q, %v; want %.20q", key, len(got), got, ok, want)
	}
}

func (s Suite) missesWhatWasNeverPut(t *testing.T) {
	c := s.New(t)
	s.expect(t, c, "a", nil)
	s.expect(t, c, "", nil)
	c.Drop(context.Background(), "a", "b")
	c.Drop(context.Background())
}

func (s Suite) dropsAndReplaces(t *testing.T) {
	c, ctx := s.New(t), context.Background()
	for _, key := range []string{"a", "b", "c"} {
		c.Put(ctx, key, []byte("1"+key), time.Hour)
	}
	s.expect(t, c, "a", []byte("1a"))
	s.expect(t, c, "A", nil)
	c.Put(ctx, "a", []byte("2a"), time.Hour)
	s.expect(t, c, "a", []byte("2a"))
	c.Drop(ctx, "a", "never", "b")
	s.expect(t, c, "a", nil)
	s.expect(t, c, "b", nil)
	s.expect(t, c, "c", []byte("1c"))
	c.Put(ctx, "empty", []byte{}, time.Hour)
	s.expect(t, c, "empty", []byte{})
}

func (s Suite) copiesWhatIsPut(t *testing.T) {
	c, ctx := s.New(t), context.Background()
	buffer := []byte("value")
	c.Put(ctx, "a", buffer, time.Hour)
	copy(buffer, "XXXXX")
	s.expect(t, c, "a", []byte("value"))
}

func (s Suite) holdsNothingWithoutTime(t *testing.T) {
	c, ctx := s.New(t), context.Background()
	for _, ttl := range []time.Duration{0, -1, -time.Hour} {
		c.Put(ctx, "a", []byte("held"), time.Hour)
		c.Put(ctx, "a", []byte("not held"), ttl)
		s.expect(t, c, "a", nil)
	}
}

func (s Suite) neverAnswersAfterItsTime(t *testing.T) {
	c, ctx := s.New(t), context.Background()
	c.Put(ctx, "short", []byte("short"), time.Minute)
	c.Put(ctx, "long", []byte("long"), time.Hour)
	c.Put(ctx, "longest", []byte("longest"), lethe.MaxTTL)
	s.Advance(59 * time.Second)
	s.expect(t, c, "short", []byte("short"))
	s.Advance(2 * time.Second)
	s.expect(t, c, "short", nil)
	s.expect(t, c, "long", []byte("long"))
	// Reading does not extend the time to live.
	s.Advance(time.Hour)
	s.expect(t, c, "long", nil)
	s.expect(t, c, "longest", []byte("longest"))
	// Putting again does.
	c.Put(ctx, "short", []byte("again"), time.Minute)
	s.expect(t, c, "short", []byte("again"))
}

func (s Suite) refusesLargeValues(t *testing.T) {
	c, ctx := s.New(t), context.Background()
	largest := bytes.Repeat([]byte("x"), s.MaxValue)
	c.Put(ctx, "a", largest, time.Hour)
	s.expect(t, c, "a", largest)
	// A refused value still removes the old one, which is outdated.
	c.Put(ctx, "a", append(largest, 'x'), time.Hour)
	s.expect(t, c, "a", nil)
}

// keepsAsItPuts checks a cache.Keeper against the contract of Put.
func (s Suite) keepsAsItPuts(t *testing.T) {
	c, ctx := s.New(t), context.Background()
	k, ok := c.(cache.Keeper)
	if !ok {
		t.Skip("it is no Keeper")
	}
	buffer := []byte("value")
	k.Keep(ctx, "a", buffer, time.Minute)
	copy(buffer, "XXXXX")
	s.expect(t, c, "a", []byte("value"))
	k.Keep(ctx, "a", []byte("other"), time.Minute)
	s.expect(t, c, "a", []byte("other"))
	k.Keep(ctx, "b", []byte("held"), time.Hour)
	s.Advance(time.Minute + time.Second)
	s.expect(t, c, "a", nil)
	c.Drop(ctx, "b")
	s.expect(t, c, "b", nil)
}

// answersOnlyWhatWasPut has many goroutines put, read and drop the same keys.
func (s Suite) answersOnlyWhatWasPut(t *testing.T) {
	const workers, rounds, keys = 8, 400, 50
	c, ctx := s.New(t), context.Background()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				key := fmt.Sprintf("key-%d", (i*7+w)%keys)
				value := bytes.Repeat([]byte(key+";"), 1+(i+w)%20)
				switch i % 5 {
				case 0, 1:
					c.Put(ctx, key, value, time.Hour)
				case 2:
					c.Drop(ctx, key, "other")
				default:
					got, ok := c.Get(ctx, key)
					if ok && (len(got) == 0 || len(bytes.ReplaceAll(got, []byte(key+";"), nil)) > 0) {
						t.Errorf("Get(%q) = %.40q, which was never put", key, got)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
