package object_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe/cache/memcache"
	"github.com/lethe-storage/lethe/cache/rediscache"
	"github.com/lethe-storage/lethe/cache/tiered"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/test/servers"
)

// overRedis makes a world that reads through a cache in Redis.
func overRedis(t *testing.T, s *servers.RedisServer, twoTiers bool) *world {
	t.Helper()
	conn, err := redisconn.Open(redisconn.Options{URL: "redis://" + s.Addr, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	far, err := rediscache.New(rediscache.Options{Conn: conn})
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, func(o *object.Options) {
		o.Cache = far
		if twoTiers {
			near, err := memcache.New(memcache.Options{Bytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			o.Cache = tiered.New(near, far)
		}
	})
}

// lies are what a cache may return in place of what was put.
var lies = map[string]func(truth, other string) string{
	"another content": func(_, other string) string { return other },
	"a flipped bit":   func(truth, _ string) string { return string(truth[0]^1) + truth[1:] },
	"too short":       func(truth, _ string) string { return truth[:len(truth)-1] },
	"too long":        func(truth, _ string) string { return truth + "x" },
	"nothing":         func(string, string) string { return "" },
}

func TestLyingCacheIsNotBelieved(t *testing.T) {
	s := servers.NewRedis(t)
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer client.Close()
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			s.FlushAll()
			w := overRedis(t, s, false)
			for i := range 5 {
				w.put(fmt.Sprint(i), noise(20, uint64(i)))
				w.has(fmt.Sprint(i), noise(20, uint64(i)))
			}
			keys, err := client.Keys(w.ctx, "*").Result()
			w.must(err)
			if len(keys) != 5 {
				t.Fatalf("%d contents are cached, want 5", len(keys))
			}
			for _, key := range keys {
				w.must(client.Set(w.ctx, key, lie(client.Get(w.ctx, key).Val(), noise(20, 9)), 0).Err())
			}
			for range 2 {
				for i := range 5 {
					w.has(fmt.Sprint(i), noise(20, uint64(i)))
				}
			}
		})
	}
}

func TestRedisComesAndGoes(t *testing.T) {
	for _, twoTiers := range []bool{false, true} {
		t.Run(fmt.Sprint("two tiers ", twoTiers), func(t *testing.T) {
			s := servers.NewRedis(t)
			w := overRedis(t, s, twoTiers)
			turn := 0
			everything := func() {
				t.Helper()
				turn++
				for i := range 5 {
					key, body := fmt.Sprint(i), noise(20, uint64(100*turn+i))
					w.put(key, body)
					w.has(key, body)
					w.has(key, body)
				}
				_, err := w.Delete(w.ctx, deletes("0", "1"))
				w.must(err)
				w.hasNot("0")
				w.has("2", noise(20, uint64(100*turn+2)))
			}
			everything()
			s.FlushAll()
			everything()
			s.Kill()
			everything()
			s.Restart()
			everything()
			w.sound()
		})
	}
}

func TestPutsAskNothingOfRedis(t *testing.T) {
	s := servers.NewRedis(t)
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer client.Close()
	w := overRedis(t, s, true)
	w.put("k", "data")
	w.has("k", "data")
	if n, err := client.DBSize(w.ctx).Result(); n != 0 || err != nil {
		t.Errorf("Redis has %d contents (%v), want 0: this process holds what it wrote", n, err)
	}
}

func deletes(keys ...string) object.DeleteRequest {
	r := object.DeleteRequest{Bucket: bucket}
	for _, key := range keys {
		r.Items = append(r.Items, ledger.DeleteItem{Key: key})
	}
	return r
}
