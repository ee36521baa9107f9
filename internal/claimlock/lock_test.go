package claimlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe/internal/claimlock"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/servers"
)

func open(t *testing.T, addr string, o claimlock.Options) *claimlock.Locks {
	t.Helper()
	conn, err := redisconn.Open(redisconn.Options{URL: "redis://" + addr, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Conn, o.Store = conn, "store"
	return claimlock.New(o)
}

func client(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() }) // nothing to lose
	return c
}

func TestOneClaimerAtATime(t *testing.T) {
	s := servers.NewRedis(t)
	var inside, claims atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		lock := open(t, s.Addr, claimlock.Options{Events: claimlock.Events{
			Without: func(_ string, err error) { t.Errorf("without the lock: %v", err) },
		}})
		wg.Go(func() {
			for range 25 {
				err := lock.Around(t.Context(), "clean:disk", func(context.Context) error {
					if inside.Add(1) != 1 {
						t.Error("two claimers at a time")
					}
					claims.Add(1)
					inside.Add(-1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if claims.Load() != 100 {
		t.Errorf("%d claims, want 100", claims.Load())
	}
	if left := client(t, s.Addr).Keys(t.Context(), "*").Val(); len(left) != 0 {
		t.Errorf("locks are left: %q", left)
	}
}

func TestDeadHoldersLockExpires(t *testing.T) {
	s := servers.NewRedis(t)
	lock := open(t, s.Addr, claimlock.Options{TTL: 100 * time.Millisecond})
	c := client(t, s.Addr)
	if err := c.Set(t.Context(), lock.Key("expire"), "the dead one's", 100*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	err := lock.Around(t.Context(), "expire", func(ctx context.Context) error {
		left := c.PTTL(ctx, lock.Key("expire")).Val()
		if left <= 0 || left > 100*time.Millisecond {
			t.Errorf("the lock lapses in %s, want up to 100ms", left)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAnothersLockIsNotReleased(t *testing.T) {
	s := servers.NewRedis(t)
	lock, c := open(t, s.Addr, claimlock.Options{}), client(t, s.Addr)
	failed := errors.New("the claim failed")
	err := lock.Around(t.Context(), "expire", func(ctx context.Context) error {
		// The claim took longer than the lock's time, and another claimer has
		// it.
		if err := c.Set(ctx, lock.Key("expire"), "another's", 0).Err(); err != nil {
			t.Error(err)
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("the error is %v, want the claim's", err)
	}
	if got := c.Get(t.Context(), lock.Key("expire")).Val(); got != "another's" {
		t.Errorf("the lock holds %q, want the other's token", got)
	}
}

// same always returns the same token.
type same struct{}

func (same) Read(p []byte) (int, error) { return len(p), nil }

func TestRepeatedSetIsAcquired(t *testing.T) {
	s := servers.NewRedis(t)
	lock, c := open(t, s.Addr, claimlock.Options{Random: same{}}), client(t, s.Addr)
	// The first SET arrived, its response did not.
	if err := c.Set(t.Context(), lock.Key("expire"), "00000000000000000000000000000000", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	claimed := false
	if err := lock.Around(t.Context(), "expire", func(context.Context) error { claimed = true; return nil }); err != nil || !claimed {
		t.Errorf("claimed %v: %v", claimed, err)
	}
	if left := c.Exists(t.Context(), lock.Key("expire")).Val(); left != 0 {
		t.Error("the lock was not released")
	}
}

func TestClaimsGoOnWithoutRedis(t *testing.T) {
	s := servers.NewRedis(t)
	var without atomic.Int64
	lock := open(t, s.Addr, claimlock.Options{Events: claimlock.Events{Without: func(string, error) { without.Add(1) }}})
	s.Kill()
	for range 5 {
		if err := lock.Around(t.Context(), "expire", func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if without.Load() != 5 {
		t.Errorf("%d claims without the lock were told of, want 5", without.Load())
	}
}

func TestWaitIsBounded(t *testing.T) {
	s := servers.NewRedis(t)
	clock := clocktest.New()
	ctx, cancel := context.WithCancel(t.Context())
	var lock *claimlock.Locks
	var without error
	pauses := 0
	lock = open(t, s.Addr, claimlock.Options{
		Monotonic: clock, Sleep: func(_ context.Context, d time.Duration) { clock.Advance(d); pauses++ },
		Events: claimlock.Events{Without: func(_ string, err error) { without = err }},
	})
	if err := client(t, s.Addr).Set(ctx, lock.Key("expire"), "for ever", 0).Err(); err != nil {
		t.Fatal(err)
	}
	claimed := false
	if err := lock.Around(ctx, "expire", func(context.Context) error { claimed = true; return nil }); err != nil || !claimed || without == nil {
		t.Errorf("claimed %v: %v, without the lock because of %v", claimed, err, without)
	}
	if pauses < 100 || pauses > 200 {
		t.Errorf("the lock was asked for %d times in 30 s", pauses)
	}
	cancel()
	err := lock.Around(ctx, "expire", func(context.Context) error { t.Error("claimed after the end"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want that of the context", err)
	}
}

// During a failover claims go on with or without the lock, and none waits for
// long; afterwards they lock again.
func TestClaimsGoOnWhileAReplicaTakesOver(t *testing.T) {
	pair, monotonic := servers.NewRedisPair(t), clocktest.New()
	conn, err := redisconn.Open(redisconn.Options{
		URL: "redis://" + pair.Sentinel + "?master_name=" + pair.Master, Kind: redisconn.Sentinel, Timeout: time.Second, Monotonic: monotonic,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var without error
	lock := claimlock.New(claimlock.Options{Conn: conn, Store: "store", Events: claimlock.Events{Without: func(_ string, err error) { without = err }}})
	claim := func() (locked bool) {
		t.Helper()
		without = nil
		monotonic.Advance(time.Minute) // a failed connection is retried
		claimed := false
		if err := lock.Around(t.Context(), "expire", func(context.Context) error { claimed = true; return nil }); err != nil || !claimed {
			t.Fatalf("claimed %v: %v", claimed, err)
		}
		return without == nil
	}
	until := func(when string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for !claim() {
			if ctx.Err() != nil {
				t.Fatalf("%s the lock is not had: %v", when, without)
			}
		}
	}
	until("at rest")
	pair.Primary.Kill()
	claim() // or not: nothing waits for it
	pair.AwaitFailover()
	until("after the failover")
	pair.Primary.Restart() // it becomes the other's replica
	until("later")
}
