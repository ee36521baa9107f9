package incidents_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/cache/rediscache"
	"github.com/lethe-storage/lethe/internal/claimlock"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/servers"
)

// connect connects to a real Redis.
func connect(t *testing.T, addr, kind string) *redisconn.Conn {
	t.Helper()
	c, err := redisconn.Open(redisconn.Options{URL: "redis://" + addr, Kind: kind, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// throughRedis is the setting in which contents are cached in a real Redis.
func throughRedis(addr, kind string) setting {
	return setting{cache: func(t *testing.T) cache.Cache {
		c, err := rediscache.New(rediscache.Options{Conn: connect(t, addr, kind)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}}
}

// clientOfRedis looks at it from the side.
func clientOfRedis(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() }) // nothing to lose
	return c
}

// zot #4062, #2625: which of many names holds the bytes of a deduplicated layer stood
// in Redis alone; Redis was redeployed, and all images were unknown. Here what is the
// same is one content in the ledger. Redis holds copies of bytes, and nothing else.
func TestZot4062_RedisIsLost(t *testing.T) {
	s := servers.NewRedis(t)
	throughRedis(s.Addr, redisconn.Single).each(t, func(w *world) {
		const layer = "a layer that two images share"
		alive := map[string]string{"b/image 1": layer, "b2/image 2": layer}
		for at, body := range alive {
			w.put(at, body)
			w.has(at, body)
		}
		for _, lost := range []struct {
			how string
			do  func()
		}{{"flushed", s.FlushAll}, {"killed", s.Kill}, {"back again", s.Restart}} {
			lost.do()
			for at, body := range alive {
				w.has(at, body)
			}
			at := "b/pushed while it is " + lost.how
			w.put(at, layer)
			alive[at] = layer
			equal(w, "contents when Redis is "+lost.how, len(w.blobs(lethe.Live)), 1)
		}
		w.delete("b/image 1")
		delete(alive, "b/image 1")
		w.ends(alive)
	})

	n := newNaive()
	n.put("image 1", "image 1/layer", "body")
	n.put("image 2", "image 2/stub", "")
	holder := map[string]string{"image 2/stub": "image 1/layer"} // in Redis
	clear(holder)
	if n.bytes[holder[n.rows["image 2"]]] != "" {
		t.Error("the naive design found the layer: this scenario proves nothing")
	}
}

// zot #4137 (C4): an error of the cache was taken for "not there yet", and the
// pointer to the bytes was overwritten by one to a name that held none. Here an error
// of Redis is a miss of a copy, and the pointer stands in the ledger.
func TestZot4137_AnErrorOfTheCacheIsTakenForAMiss(t *testing.T) {
	s := servers.NewRedis(t)
	throughRedis(s.Addr, redisconn.Single).each(t, func(w *world) {
		const layer = "the original"
		w.put("b/original", layer)
		w.has("b/original", layer)
		s.Kill()
		w.put("b/duplicate", layer)
		s.Restart()
		equal(w, "blobs of one content", len(w.blobs(lethe.Live)), 1)
		w.delete("b/original")
		w.clock.Advance(w.safety.ReadGrace)
		w.must(w.engine())
		w.has("b/duplicate", layer)
		w.ends(map[string]string{"b/duplicate": layer})
	})

	n := newNaive()
	n.bytes["original"] = "body"
	pointer, transient := "original", errors.New("timeout")
	if known := ""; transient != nil && known == "" {
		pointer = "duplicate" // the first entry, it seems
	}
	n.rows["k"] = pointer
	n.loses(t, "k")
}

// distribution #4269, zot #1733: what the collector removed stayed in the cache in
// Redis, so that a layer that was pushed again was "there already", without bytes,
// and a deleted one could still be fetched. Here a cached copy is reached by way of
// an object's row only, under the id of a content that is never used again.
func TestDistribution4269_TheCacheOutlivesTheCollection(t *testing.T) {
	s := servers.NewRedis(t)
	client := clientOfRedis(t, s.Addr)
	throughRedis(s.Addr, redisconn.Single).each(t, func(w *world) {
		const layer = "collected, and pushed again"
		s.FlushAll()
		w.put("b/k", layer)
		w.has("b/k", layer)
		cached := map[string]string{}
		for _, key := range client.Keys(w.ctx, "*").Val() {
			cached[key] = client.Get(w.ctx, key).Val()
		}
		equal(w, "cached contents", len(cached), 1)
		w.delete("b/k")
		for key, value := range cached { // the drop never arrived
			w.must(client.Set(w.ctx, key, value, 0).Err())
		}
		w.hasNot("b/k")
		w.clock.Advance(w.safety.ReadGrace)
		w.must(w.engine())
		equal(w, "keys when it is collected", len(w.keys()), 0)
		w.put("b/k", layer)
		equal(w, "keys when it is pushed again", len(w.keys()), 1)
		s.FlushAll() // or the bytes would not be asked for
		w.has("b/k", layer)
		w.ends(map[string]string{"b/k": layer})
	})

	n := newNaive()
	known := map[string]bool{"hash": true} // in Redis, from before the collection
	if !known["hash"] {
		n.bytes["hash"] = "body"
	}
	n.rows["k"] = "hash"
	n.loses(t, "k")
}

// Quay PROJQUAY-10909: after a loss the collector and those who push were kept apart
// by a lock in Redis, of 120 seconds, which nobody asks again before deleting. Here
// the lock spares contention and no more: it lapses while its holder claims, another
// claims, too, and each has rows of its own, and deletes names that are not used
// again.
func TestQuay10909_TheLockInRedisLapses(t *testing.T) {
	s := servers.NewRedis(t)
	each(t, func(w *world) {
		lock := func() *claimlock.Locks {
			return claimlock.New(claimlock.Options{Conn: connect(w.T, s.Addr, redisconn.Single), Store: w.store, TTL: time.Minute})
		}
		claimer := func() *routine.Clean {
			c := w.clean()
			c.Lock = lock().Around
			return c
		}
		w.condemnSome(4 * limit)
		const layer = "the body of b/object 1"
		var other map[string]int64
		w.during("claim", func() {
			s.FlushAll() // it is held no more
			w.interrupts(blobtest.OpDelete, func() { w.put("b/pushed", layer) })
			other = w.pass(claimer())
		})
		first := w.pass(claimer())
		equal(w, "gone, each once", first["gone"]+other["gone"], 4*limit)
		equal(w, "fenced", first["fenced"]+other["fenced"], 0)
		w.has("b/pushed", layer)
		w.ends(map[string]string{"b/pushed": layer})
	})

	n := newNaive()
	n.bytes["digest"] = "body"
	unreferenced := !n.named("digest") // checked under the lock, which lapses
	n.put("pushed", "digest", "body")  // under the lock, which is free
	if unreferenced {
		delete(n.bytes, "digest")
	}
	n.loses(t, "pushed")
}

// SeaweedFS #10743 over slots: on a Redis Cluster "look whether it is referenced,
// then remove" cannot be one step where the keys lie in different slots, so that the
// removal of one writer took what another had inserted. Here nothing is decided in
// Redis; entries are dropped one by one, and one that is put back by a reader who was
// slow is not reached by anybody.
func TestSeaweedFS10743_OverTheSlotsOfACluster(t *testing.T) {
	s := servers.NewRedisCluster(t)
	throughRedis(s.Addr, redisconn.Cluster).each(t, func(w *world) {
		alive := w.fill("b", 12)
		gone := map[string]string{}
		for i := range 12 {
			at := fmt.Sprint("b2/removed ", i)
			gone[at] = strings.Repeat(at, 3)
			w.put(at, gone[at])
			w.has(at, gone[at])
		}
		var items []ledger.DeleteItem
		for at := range gone {
			_, key := split(at)
			items = append(items, ledger.DeleteItem{Key: key})
		}
		w.during("delete", func() { // a reader fills the cache at the last moment
			for at, body := range gone {
				w.has(at, body)
			}
		})
		_, err := w.deleteAll("b2", items)
		w.must(err)
		for at := range gone {
			w.hasNot(at)
		}
		w.put("b2/removed 3", gone["b2/removed 3"]) // inserted anew
		alive["b2/removed 3"] = gone["b2/removed 3"]
		w.clock.Advance(w.safety.ReadGrace)
		w.must(w.engine())
		s.FlushAll()
		w.ends(alive)
	})

	slots := []map[string]bool{{"entry": true}, {}} // of an entry, and of what refers to it
	referred := slots[1]["entry"]
	slots[1]["entry"] = true // inserted anew, in another slot
	if !referred {
		delete(slots[0], "entry")
	}
	if slots[0]["entry"] {
		t.Error("the naive design kept the entry: this scenario proves nothing")
	}
}
