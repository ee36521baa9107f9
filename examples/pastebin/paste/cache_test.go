package paste

import (
	"testing"
	"time"
)

// cached reports whether the store would serve the paste from the cache.
func (e *site) cached(code string) bool {
	e.t.Helper()
	found, lease := e.cache.get(e.t.Context(), code)
	e.cache.giveUp(e.t.Context(), code, lease)
	return found != nil
}

// TestReadsFillTheCache: the second read needs neither the bucket nor the database.
func TestReadsFillTheCache(t *testing.T) {
	e := newSite(t)
	for _, ttl := range []time.Duration{0, time.Minute, time.Hour} {
		p := e.create("kept", ttl)
		e.reads(p.Code, "kept")
		key := "paste:" + p.Code
		left, err := e.client.PTTL(t.Context(), key).Result()
		longest := 5 * time.Minute
		if ttl != 0 {
			longest = min(longest, ttl)
		}
		if err != nil || left <= 0 || left > longest {
			t.Errorf("the copy of a paste with a life of %v stays for %v, %v; want at most %v", ttl, left, err, longest)
		}
		e.loseObject("kept")
		e.exec(`DELETE FROM pastes`)
		e.reads(p.Code, "kept")
		e.client.Del(t.Context(), key)
		e.reads(p.Code, "")
		if n := e.client.Exists(t.Context(), key).Val(); n != 0 {
			t.Error("what is not there left something in the cache")
		}
	}
	large := e.create(string(make([]byte, 64<<10+1)), time.Hour)
	e.reads(large.Code, string(make([]byte, 64<<10+1)))
	if e.cached(large.Code) {
		t.Error("a paste of more than 64 KiB was cached")
	}
}

// TestExpiredCopiesAreNotServed, not even one that Redis forgot to drop.
func TestExpiredCopiesAreNotServed(t *testing.T) {
	e := newSite(t)
	p := e.create("ends", time.Hour)
	e.reads(p.Code, "ends")
	if kept := e.client.Persist(t.Context(), "paste:"+p.Code).Val(); !kept {
		t.Fatal("there is no copy")
	}
	e.exec(`UPDATE pastes SET expires_at = clock_timestamp()`)
	e.reads(p.Code, "ends") // by its own end the copy is good
	e.ahead = time.Hour
	e.reads(p.Code, "")
	e.exec(`UPDATE pastes SET deletion_status = 'DELETION_IN_PROGRESS', deletion_initiated_at = now()`)
	e.reads(p.Code, "")

	again := e.create("ends", time.Minute)
	e.reads(again.Code, "ends") // expired by the clock of the cache: served, not cached
	if n := e.client.Exists(t.Context(), "paste:"+again.Code).Val(); n != 0 {
		t.Error("a copy that has expired was cached")
	}
}

// TestChangesReachTheCache: no read after a change sees what was before.
func TestChangesReachTheCache(t *testing.T) {
	e := newSite(t)
	p := e.create("one", time.Hour)
	e.reads(p.Code, "one")
	if _, err := e.Replace(t.Context(), p.Code, []byte("two")); err != nil {
		t.Fatal(err)
	}
	e.reads(p.Code, "two")
	if _, err := e.Extend(t.Context(), p.Code, time.Minute); err != nil {
		t.Fatal(err)
	}
	e.reads(p.Code, "two")
	if left := e.client.PTTL(t.Context(), "paste:"+p.Code).Val(); !e.cached(p.Code) || left <= 0 || left > time.Minute {
		t.Errorf("the copy stays for %v, want at most the minute that is left", left)
	}
	if err := e.Delete(t.Context(), p.Code); err != nil {
		t.Fatal(err)
	}
	e.reads(p.Code, "")
}

// TestOldReadsDoNotReachTheCache: a reader that was slow does not put what it read
// before a change into the cache after it.
func TestOldReadsDoNotReachTheCache(t *testing.T) {
	e := newSite(t)
	p := e.create("old", time.Hour)
	for name, change := range map[string]func(){
		"extend":  func() { _, _ = e.Extend(t.Context(), p.Code, time.Minute) },
		"replace": func() { _, _ = e.Replace(t.Context(), p.Code, []byte("new")) },
		"DEL":     func() { e.client.Del(t.Context(), "paste:"+p.Code) },
		"DEL and another reader": func() {
			e.client.Del(t.Context(), "paste:"+p.Code)
			_, _ = e.cache.get(t.Context(), p.Code)
		},
		"a change that is not over": func() { _ = e.cache.block(t.Context(), p.Code) },
	} {
		e.client.Del(t.Context(), "paste:"+p.Code)
		_, lease := e.cache.get(t.Context(), p.Code)
		read, body, err := e.load(t.Context(), p.Code)
		if lease == "" || err != nil {
			t.Fatalf("%s: lease %q, %v", name, lease, err)
		}
		change()
		before := e.client.Get(t.Context(), "paste:"+p.Code).Val()
		if e.cache.fill(t.Context(), p.Code, lease, copied{body, read.ExpiresAt}); e.cached(p.Code) {
			t.Errorf("%s: the cache has a copy from before", name)
		}
		if e.cache.giveUp(t.Context(), p.Code, lease); e.client.Get(t.Context(), "paste:"+p.Code).Val() != before {
			t.Errorf("%s: a lease that was lost removed what came after it", name)
		}
	}
}

// TestWithoutTheCache: while Redis is away pastes are created and read, and not
// changed, since a copy of what was before might be served.
func TestWithoutTheCache(t *testing.T) {
	e := newSite(t)
	p := e.create("here", time.Hour)
	e.reads(p.Code, "here")
	e.redis.Kill()
	e.reads(p.Code, "here")
	e.create("more", time.Hour)
	_, extended := e.Extend(t.Context(), p.Code, time.Second)
	_, replaced := e.Replace(t.Context(), p.Code, []byte("other"))
	for _, err := range []error{extended, replaced, e.Delete(t.Context(), p.Code)} {
		if err == nil {
			t.Error("a change was made that the cache was not told of")
		}
	}
	e.redis.Restart()
	e.reads(p.Code, "here")
	if _, err := e.Replace(t.Context(), p.Code, []byte("other")); err != nil {
		t.Errorf("after Redis came back: %v", err)
	}

	bare := newSite(t, func(c *Config) { c.Redis = "" })
	p = bare.create("uncached", time.Hour)
	bare.reads(p.Code, "uncached")
	if err := bare.Delete(t.Context(), p.Code); err != nil {
		t.Error(err)
	}
	bare.reads(p.Code, "")
}
