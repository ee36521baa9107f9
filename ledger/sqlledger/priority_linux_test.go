package sqlledger

import (
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// threadClock notes at which priority transactions ask for the time: the system call returns 20
// less the niceness of the thread.
type threadClock struct {
	lethe.Clock
	lowest atomic.Int64
}

func (c *threadClock) Now() lethe.Time {
	if p, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
		c.lowest.Store(min(c.lowest.Load(), int64(p)))
	}
	return c.Clock.Now()
}

// What a client waits for, as the room that its write needs, does not run at the low priority of a
// batch.
func TestAwaitedBatchesAreNotOfLowPriority(t *testing.T) {
	clock := &threadClock{Clock: newTestClock()}
	db := openTest(t, filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{Clock: clock, ReadGrace: readGrace, LateWindow: lateWindow})
	setUp(t, db)
	full := ledger.BucketSettings{QuotaObjects: 10, Evict: ledger.Eviction{Order: ledger.EvictByWrite, High: 95, Low: 90}}
	if _, err := db.ConfigureBucket(t.Context(), "b", full, nil); err != nil {
		t.Fatal(err)
	}
	lowest := func(run func() error) int64 {
		t.Helper()
		clock.lowest.Store(40)
		if err := run(); err != nil {
			t.Fatal(err)
		}
		return clock.lowest.Load()
	}
	evict := func(r ledger.Room) func() error {
		return func() error {
			_, err := db.Evict(t.Context(), ledger.EvictRequest{Bucket: "b", Room: r, Batch: ledger.Batch{Limit: 1}})
			return err
		}
	}
	usual := lowest(func() error {
		return db.BeatInstance(t.Context(), "i", ledger.InstanceInfo{})
	})
	if of := lowest(evict(ledger.Room{})); of >= usual {
		t.Fatalf("the engine's batch has the priority %d, a request %d", of, usual)
	}
	if of := lowest(evict(ledger.Room{Objects: 1})); of != usual {
		t.Errorf("an eviction that a write waits for has the priority %d, a request %d", of, usual)
	}
	read := []ledger.Read{{Bucket: lethe.RandomID(clock.Now()), Key: "k", ID: lethe.RandomID(clock.Now()), At: clock.Now().Add(-time.Second)}}
	for _, c := range []struct {
		what  string
		usual bool
		run   func() error
	}{
		{"reads that a write has noted first", true, func() error { _, err := db.NoteReads(t.Context(), read, true); return err }},
		{"reads that are noted meanwhile", false, func() error { _, err := db.NoteReads(t.Context(), read, false); return err }},
	} {
		if of := lowest(c.run); (of == usual) != c.usual {
			t.Errorf("%s: the priority %d, a request %d", c.what, of, usual)
		}
	}
}
