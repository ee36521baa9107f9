package adoption

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

// cacheOf returns a paste service, and its adoption with the cache at an address.
func cacheOf(t *testing.T, addr string) (at func(address string) *Adoption, client *redis.Client) {
	t.Helper()
	gateway := servers.VersityGW(t)
	p := place{gateway, servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	store := p.open(t)
	at = func(address string) *Adoption {
		p.redis = address
		a := p.adopt(t, Options{}, func(*adopt.Collection) {})
		if err := paste.Fill(t.Context(), store, paste.Filling{Pastes: 10, TTL: time.Microsecond}); err != nil {
			t.Fatal(err)
		}
		return a
	}
	client = redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	return at, client
}

// An error of the cache's address names its place once.
func TestCacheOfAWrongAddress(t *testing.T) {
	d := &adopt.Description{Database: servers.Postgres(t), Redis: "redis//host"}
	if _, err := Open(t.Context(), d, Options{}); err == nil || !strings.HasPrefix(err.Error(), "redis: the URL is not understood") {
		t.Error(err)
	}
}

// A user of the cache needs rights to the copies alone, and a check sees whether it has them.
func TestCheckDropsCopiesOfItsTemplates(t *testing.T) {
	cache := servers.NewRedis(t)
	at, client := cacheOf(t, cache.Addr)
	for _, c := range []struct {
		name, keys string
		fits       bool
	}{{"own", "~paste:*", true}, {"other", "~lethe:*", false}} {
		if err := client.Do(t.Context(), "ACL", "SETUSER", c.name, "on", ">secret", c.keys, "+unlink").Err(); err != nil {
			t.Fatal(err)
		}
		a := at(c.name + ":secret@" + cache.Addr)
		found, err := a.Check(t.Context())
		if err != nil || adopt.Problems(found["pastes"]) == c.fits {
			t.Errorf("the rights %s: a check finds %v, %v", c.keys, found["pastes"], err)
		}
		counts, err := a.Loop.Once(t.Context(), nil)
		if (err == nil && counts["expire pastes"]["rows"] > 0) != c.fits {
			t.Errorf("the rights %s: a run did %v, %v", c.keys, counts, err)
		}
	}
}

// Copies lie in a cluster if the address names more than one node; a check says so for one.
func TestCopiesInACluster(t *testing.T) {
	cache := servers.NewRedisCluster(t)
	at, client := cacheOf(t, cache.Addr)
	found, err := at(cache.Addr).Check(t.Context())
	if err != nil || !strings.Contains(fmt.Sprint(found["pastes"]), "?addr=") {
		t.Errorf("one node of a cluster: a check finds %v, %v", found["pastes"], err)
	}
	a := at(cache.Addr + "?addr=" + cache.Addr)
	if found, err := a.Check(t.Context()); err != nil || adopt.Problems(found["pastes"]) {
		t.Errorf("a cluster: a check finds %v, %v", found["pastes"], err)
	}
	codes, err := a.Collection("pastes").Claim(t.Context(), 3)
	if err != nil || len(codes.Rows) != 3 {
		t.Fatalf("claimed %v, %v", codes, err)
	}
	for _, r := range codes.Rows {
		if err := client.Set(t.Context(), r.Copies[0], "a copy", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Collection("pastes").Release(t.Context(), codes); err != nil {
		t.Fatal(err)
	}
	counts, err := a.Loop.Once(t.Context(), nil)
	if err != nil || counts["expire pastes"]["rows"] != 20 {
		t.Errorf("a run did %v, %v", counts, err)
	}
	if n, err := client.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("copies are left: %d, %v", n, err)
	}
}
