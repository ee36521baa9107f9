package clients

import (
	"net/http"
	"sync"
	"testing"
	"time"
)

// quota is that of the full bucket, in bytes.
const quota = 300 << 10

// TestBazelRemoteInAFullBucket: a build cache with a quota takes what each build stores, and what
// was used longest ago makes room for it.
func TestBazelRemoteInAFullBucket(t *testing.T) {
	begin(t)
	c := serveCached(t, "--quota", "300KiB", "--when-full", "evict", "--evict-min-age", "5m")
	used, built := entries(10, 1), [][][]byte{}
	c.fresh()
	c.puts(used)
	for build := range 6 {
		c.clock.Advance(10 * time.Minute)
		c.fresh()
		if n := c.all(http.MethodGet, used); n != len(used) {
			t.Fatalf("build %d found %d of %d entries that each build uses", build, n, len(used))
		}
		built = append(built, entries(20, 10+build))
		c.withinQuota(func() { c.puts(built[build]) })
		c.fresh()
		if n := c.all(http.MethodGet, built[build]); n != len(built[build]) {
			t.Errorf("build %d found %d of the %d entries that it had stored", build, n, len(built[build]))
		}
	}
	c.fresh()
	if n := c.all(http.MethodGet, built[0]); n != 0 {
		t.Errorf("%d of %d entries of the first build made no room for those after it", n, len(built[0]))
	}
	c.sound()
}

// withinQuota looks at the bucket while something is done.
func (c *cached) withinQuota(do func()) {
	c.Helper()
	done, watch := make(chan struct{}), sync.WaitGroup{}
	watch.Go(func() {
		for {
			b, err := c.app.Objects.Bucket(c.Context(), bucket)
			if err != nil || b.Bytes > quota {
				c.Errorf("the bucket has %d bytes, %v", b.Bytes, err)
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	defer watch.Wait()
	defer close(done)
	do()
}
