package adoption

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

// A claim waits while another worker has the lock, until that expires, and does
// without it while Redis is down.
func TestClaimsTakeTurns(t *testing.T) {
	gateway, cache := servers.VersityGW(t), servers.NewRedis(t)
	p := place{gateway, servers.Postgres(t), cache.Addr, gateway.Bucket(t)}
	store := p.open(t)
	a := p.adopt(t, Options{}, func(c *adopt.Collection) { c.Lock, c.Cache = true, nil })
	expires := func() {
		t.Helper()
		if err := paste.Fill(t.Context(), store, paste.Filling{Pastes: 1, TTL: time.Microsecond}); err != nil {
			t.Fatal(err)
		}
		counts, err := a.Loop.Once(t.Context(), nil)
		if err != nil || counts["expire pastes"]["rows"] != 1 {
			t.Fatalf("a run did %v, %v", counts, err)
		}
	}
	client := redis.NewClient(&redis.Options{Addr: cache.Addr})
	t.Cleanup(func() { _ = client.Close() })
	const lock = "lethe:adopt:lock::pastes"
	if err := client.Set(t.Context(), lock, "another worker", 2*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	expires()
	if n, err := client.Exists(t.Context(), lock).Result(); err != nil || n != 0 {
		t.Errorf("it did not wait for the lock, or left it behind: %d, %v", n, err)
	}
	cache.Kill()
	expires()
}
