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
	"github.com/lethe-storage/lethe/internal/clocktest"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/internal/servers"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/meta/memmeta"
	"github.com/lethe-storage/lethe/reclaim"
)

func open(t *testing.T, addr string, o claimlock.Options) *claimlock.Lock {
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
	var waited, inside, claims atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		lock := open(t, s.Addr, claimlock.Options{Events: claimlock.Events{
			Waited:  func(string, time.Duration) { waited.Add(1) },
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

func TestWhatADeadHolderLeavesLapses(t *testing.T) {
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
		// The claim took longer than the lock was held for, and another has it.
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

// same answers the same token again and again.
type same struct{}

func (same) Read(p []byte) (int, error) { return len(p), nil }

func TestASetThatWasSentTwiceIsOurs(t *testing.T) {
	s := servers.NewRedis(t)
	lock, c := open(t, s.Addr, claimlock.Options{Random: same{}}), client(t, s.Addr)
	// The first SET arrived, its answer did not.
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

func TestWaitingEnds(t *testing.T) {
	s := servers.NewRedis(t)
	clock := clocktest.New()
	ctx, cancel := context.WithCancel(t.Context())
	var lock *claimlock.Lock
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

// watched counts what reaches the ledger while the lock is held.
type watched struct {
	reclaim.Ledger
	held func() string
	got  []string
}

func (w *watched) note() { w.got = append(w.got, w.held()) }

func (w *watched) Expire(ctx context.Context, b meta.Batch) (meta.Reclaimed, error) {
	w.note()
	return w.Ledger.Expire(ctx, b)
}

func (w *watched) Purge(ctx context.Context, b meta.Batch) (meta.Reclaimed, error) {
	w.note()
	return w.Ledger.Purge(ctx, b)
}

func (w *watched) ClaimCondemned(ctx context.Context, r meta.ClaimRequest) (meta.Claimed, error) {
	w.note()
	return w.Ledger.ClaimCondemned(ctx, r)
}

func (w *watched) ClaimIntents(ctx context.Context, r meta.ClaimRequest) (meta.ClaimedIntents, error) {
	w.note()
	return w.Ledger.ClaimIntents(ctx, r)
}

func TestLedgerClaimsUnderTheLock(t *testing.T) {
	s := servers.NewRedis(t)
	c, ctx := client(t, s.Addr), t.Context()
	books := memmeta.New(meta.Options{})
	if _, err := books.AddBackend(ctx, meta.Backend{ID: "disk"}); err != nil {
		t.Fatal(err)
	}
	inner := &watched{Ledger: books, held: func() string { return c.Keys(ctx, "*").Val()[0] }}
	ledger := claimlock.Wrap(inner, open(t, s.Addr, claimlock.Options{}))
	_, e1 := ledger.Expire(ctx, meta.Batch{Limit: 1})
	_, e2 := ledger.Purge(ctx, meta.Batch{Limit: 1})
	_, e3 := ledger.ClaimCondemned(ctx, meta.ClaimRequest{Worker: "w", Backend: "disk", Limit: 1})
	_, e4 := ledger.ClaimIntents(ctx, meta.ClaimRequest{Worker: "w", Backend: "disk", Limit: 1})
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		t.Error(err)
	}
	want := []string{"lethe:lock:store:expire", "lethe:lock:store:purge", "lethe:lock:store:clean:disk", "lethe:lock:store:reap"}
	for i, key := range want {
		if i >= len(inner.got) || inner.got[i] != key {
			t.Fatalf("the locks held were %q, want %q", inner.got, want)
		}
	}
	if ledger.ClockBehind() != 0 {
		t.Error("the clock lies behind")
	}
}

// filed is a ledger with a file.
type filed struct{ *memmeta.DB }

func (filed) Vacuum(context.Context, int) (int, error) { return 7, nil }

// A ledger behind the lock still shrinks its file.
func TestWhatALedgerCanDoPassesTheLock(t *testing.T) {
	purge := &reclaim.Purge{Ledger: claimlock.Wrap(filed{memmeta.New(meta.Options{})}, nil)}
	step := purge.Pass("w")
	var n reclaim.Counts
	for range 2 { // it prunes, then shrinks
		if _, err := step(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.Get("pages"); got != 7 {
		t.Errorf("%d pages were given back, want 7", got)
	}
}

// While a replica takes over, claims go on with the lock or without it, and none
// waits for long; afterwards the lock is had again.
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
		monotonic.Advance(time.Minute) // a connection that failed is tried again
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
	claim() // or not: nobody waits for it
	pair.AwaitFailover()
	until("after the failover")
	pair.Primary.Restart() // it becomes the other's replica
	until("later")
}
