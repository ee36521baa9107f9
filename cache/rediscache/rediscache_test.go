package rediscache_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/cache/cachetest"
	"github.com/lethe-storage/lethe/cache/memcache"
	"github.com/lethe-storage/lethe/cache/rediscache"
	"github.com/lethe-storage/lethe/cache/tiered"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/servers"
)

const maxValue = 64 << 10

// connect opens a connection with timeouts for a busy machine.
func connect(t *testing.T, o redisconn.Options) *redisconn.Conn {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	conn, err := redisconn.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func open(t *testing.T, conn *redisconn.Conn) *rediscache.Cache {
	t.Helper()
	return openWith(t, conn, rediscache.Events{})
}

// noFailure makes a failed command a test's failure.
func noFailure(t *testing.T) rediscache.Events {
	return rediscache.Events{Failed: func(what string, err error) { t.Errorf("%s: %v", what, err) }}
}

func openWith(t *testing.T, conn *redisconn.Conn, events rediscache.Events) *rediscache.Cache {
	t.Helper()
	c, err := rediscache.New(rediscache.Options{Conn: conn, MaxValue: maxValue, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// age takes time off everything that the server holds.
func age(t *testing.T, addr string, d time.Duration) {
	t.Helper()
	ctx, client := t.Context(), redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		left, err := client.PTTL(ctx, key).Result()
		if err == nil {
			err = client.PExpire(ctx, key, left-d).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func suite(t *testing.T, s *servers.RedisServer, kind string) cachetest.Suite {
	conn := connect(t, redisconn.Options{URL: "redis://" + s.Addr, Kind: kind})
	return cachetest.Suite{
		New: func(t *testing.T) cache.Cache {
			s.FlushAll()
			return open(t, conn)
		},
		Advance:  func(d time.Duration) { age(t, s.Addr, d) },
		MaxValue: maxValue,
	}
}

func TestConformance(t *testing.T) {
	cachetest.Run(t, suite(t, servers.NewRedis(t), redisconn.Single))
}

func TestConformanceOfACluster(t *testing.T) {
	cachetest.Run(t, suite(t, servers.NewRedisCluster(t), redisconn.Cluster))
}

func TestConformanceOfTwoTiers(t *testing.T) {
	far, clock := suite(t, servers.NewRedis(t), redisconn.Single), clocktest.New()
	cachetest.Run(t, cachetest.Suite{
		New: func(t *testing.T) cache.Cache {
			near, err := memcache.New(memcache.Options{Bytes: 4 << 20, MaxValue: maxValue, Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			return tiered.New(near, far.New(t).(tiered.Far))
		},
		Advance: func(d time.Duration) {
			clock.Advance(d)
			far.Advance(d)
		},
		MaxValue: maxValue,
	})
}

func TestNearNeverHoldsLongerThanFar(t *testing.T) {
	s, clock := servers.NewRedis(t), clocktest.New()
	conn := connect(t, redisconn.Options{URL: "redis://" + s.Addr})
	tier := func() cache.Cache {
		near, err := memcache.New(memcache.Options{Bytes: 4 << 20, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return tiered.New(near, open(t, conn))
	}
	one, two, ctx := tier(), tier(), t.Context()
	one.Put(ctx, "key", []byte("value"), time.Hour)
	age(t, s.Addr, 59*time.Minute)
	if _, ok := two.Get(ctx, "key"); !ok {
		t.Fatal("the second instance does not see what the first put")
	}
	s.FlushAll()
	clock.Advance(30 * time.Second)
	if _, ok := two.Get(ctx, "key"); !ok {
		t.Error("the second instance did not keep what it read")
	}
	clock.Advance(31 * time.Second)
	if _, ok := two.Get(ctx, "key"); ok {
		t.Error("the near copy outlives the value's time")
	}
}

func TestDropTakesOneCommandPerThousandKeys(t *testing.T) {
	for kind, s := range map[string]*servers.RedisServer{redisconn.Single: servers.NewRedis(t), redisconn.Cluster: servers.NewRedisCluster(t)} {
		t.Run(kind, func(t *testing.T) {
			c, ctx := openWith(t, connect(t, redisconn.Options{URL: "redis://" + s.Addr, Kind: kind}), noFailure(t)), t.Context()
			keys := make([]string, 2500)
			for i := range keys {
				keys[i] = fmt.Sprint("store/", i)
			}
			c.Put(ctx, keys[0], []byte("first"), time.Hour)
			c.Put(ctx, keys[2499], []byte("last"), time.Hour)
			c.Drop(ctx, keys...)
			for _, key := range []string{keys[0], keys[2499]} {
				if _, ok := c.Get(ctx, key); ok {
					t.Errorf("%s was not dropped", key)
				}
			}
			client := redis.NewClient(&redis.Options{Addr: s.Addr})
			defer client.Close()
			stats := client.Info(ctx, "commandstats").Val()
			if kind == redisconn.Single && !strings.Contains(stats, "cmdstat_unlink:calls=3,") {
				t.Errorf("2,500 keys want 3 calls of UNLINK:\n%s", stats)
			}
		})
	}
}

func TestValuesLieUnderTheirIdsWithTheirTime(t *testing.T) {
	s := servers.NewRedis(t)
	conn := connect(t, redisconn.Options{URL: "redis://" + s.Addr})
	c := open(t, conn)
	c.Put(t.Context(), cache.Key("store", "content"), []byte("bytes"), time.Minute)
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer client.Close()
	if got := client.Get(t.Context(), "lethe:c:store/content").Val(); got != "bytes" {
		t.Errorf("the value reads %q", got)
	}
	if left := client.PTTL(t.Context(), "lethe:c:store/content").Val(); left <= 0 || left > time.Minute {
		t.Errorf("%s are left, want up to a minute", left)
	}
}

func TestServerAwayIsAMissThatCostsNothing(t *testing.T) {
	s, monotonic := servers.NewRedis(t), clocktest.New()
	var down, up atomic.Int64
	changed := make(chan struct{}, 10)
	conn := connect(t, redisconn.Options{URL: "redis://" + s.Addr, Timeout: 200 * time.Millisecond, Monotonic: monotonic,
		Events: redisconn.Events{
			Down: func(error) { down.Add(1); changed <- struct{}{} },
			Up:   func() { up.Add(1); changed <- struct{}{} },
		}})
	c, ctx := open(t, conn), t.Context()
	c.Put(ctx, "key", []byte("value"), time.Hour)
	s.Freeze()
	for conn.Up() {
		if _, ok := c.Get(ctx, "key"); ok {
			t.Fatal("a frozen server answers")
		}
	}
	<-changed
	var watch lethe.Monotonic
	begun := watch.Now()
	for range 1000 {
		if _, ok := c.Get(ctx, "key"); ok {
			t.Fatal("a frozen server answers")
		}
		c.Put(ctx, "key", []byte("value"), time.Hour)
		c.Drop(ctx, "key")
	}
	if took := watch.Now().Sub(begun); took > 30*time.Second {
		t.Errorf("3,000 calls took %s while the server was down", took)
	}
	s.Kill()
	s.Restart()
	recover := func() {
		for !conn.Up() {
			monotonic.Advance(time.Minute)
			c.Get(ctx, "key")
		}
		<-changed
	}
	recover()
	c.Put(ctx, "key", []byte("again"), time.Hour)
	if got, ok := c.Get(ctx, "key"); !ok || string(got) != "again" {
		t.Errorf("after the restart: %q, %v", got, ok)
	}
	if down.Load() != 1 || up.Load() != 1 {
		t.Errorf("down %d times, up %d times; want 1 and 1", down.Load(), up.Load())
	}
	s.FlushAll()
	if _, ok := c.Get(ctx, "key"); ok {
		t.Error("a flushed server still holds the value")
	}
}

func TestAReplicaTakesOver(t *testing.T) {
	pair, monotonic := servers.NewRedisPair(t), clocktest.New()
	conn := connect(t, redisconn.Options{
		URL: "redis://" + pair.Sentinel + "?master_name=" + pair.Master, Kind: redisconn.Sentinel, Monotonic: monotonic,
	})
	c, ctx := open(t, conn), t.Context()
	kept := func(key string) bool {
		monotonic.Advance(time.Minute)
		c.Put(ctx, key, []byte("value of "+key), time.Hour)
		got, ok := c.Get(ctx, key)
		if ok && string(got) != "value of "+key {
			t.Fatalf("%s reads %q", key, got)
		}
		return ok
	}
	until := func(key string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		for !kept(key) {
			if ctx.Err() != nil {
				t.Fatalf("%s is not kept", key)
			}
		}
	}
	until("before")
	pair.Primary.Kill()
	kept("meanwhile") // or not: no caller has to wait for it
	pair.AwaitFailover()
	until("after")
	pair.Primary.Restart() // it becomes the other's replica, which refuses writes
	until("later")
}

func TestCallersThatGiveUpDoNotCount(t *testing.T) {
	s := servers.NewRedis(t)
	conn := connect(t, redisconn.Options{URL: "redis://" + s.Addr})
	c := openWith(t, conn, noFailure(t))
	s.Freeze()
	defer s.Thaw()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		c.Get(ctx, "key")
		c.Put(ctx, "key", nil, time.Hour)
	}
	if !conn.Up() {
		t.Error("callers that gave up made the server count as down")
	}
}

func TestCutConnectionsAreMisses(t *testing.T) {
	s := servers.NewRedis(t)
	proxy := servers.Proxy(t, s.Addr)
	var failed atomic.Int64
	conn := connect(t, redisconn.Options{URL: "redis://" + proxy.Addr, Timeout: 500 * time.Millisecond})
	c, err := rediscache.New(rediscache.Options{Conn: conn, Events: rediscache.Events{
		Failed: func(string, error) { failed.Add(1) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Repeat([]byte("x"), 10_000)
	c.Put(t.Context(), "key", value, time.Hour)
	proxy.CutAnswers(5_000)
	if got, ok := c.Get(t.Context(), "key"); ok {
		t.Errorf("a value of 10,000 bytes that was cut reads %d bytes", len(got))
	}
	if failed.Load() != 1 {
		t.Errorf("%d failures were told of, want 1", failed.Load())
	}
	proxy.Heal()
	if got, ok := c.Get(t.Context(), "key"); !ok || !bytes.Equal(got, value) {
		t.Errorf("after healing: %d bytes, %v", len(got), ok)
	}
}

func TestOptionsWithoutSense(t *testing.T) {
	for _, o := range []redisconn.Options{
		{URL: "http://user:secret@host"}, {URL: "redis://:secret@%zz"}, {URL: "redis://host", Kind: "ring"},
		{URL: "redis://:secret@host:26379", Kind: redisconn.Sentinel}, {URL: "x://secret", Kind: redisconn.Cluster},
	} {
		_, err := redisconn.Open(o)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v; want an error without the password", o, err)
		}
	}
	conn := connect(t, redisconn.Options{URL: "redis://127.0.0.1:1"})
	for _, size := range []int64{-1, 1 << 30} {
		if _, err := rediscache.New(rediscache.Options{Conn: conn, MaxValue: size}); err == nil {
			t.Errorf("values of %d bytes are accepted", size)
		}
	}
}
