package engine

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestReadersDoNotKeepTheLogGrowing: even if overlapping reads leave no moment without one,
// the write-ahead log restarts.
func TestReadersDoNotKeepTheLogGrowing(t *testing.T) {
	const limit, body, writes = 4 << 20, 256 << 10, 200
	ctx := context.Background()
	path := filePath(t)
	e := openTest(t, path, Options{})
	on(t, e, func() { e.File.w.log = walog{limit: limit, every: time.Microsecond} })
	long := int64(0)
	last := overlap(e, nil)
	for i := range writes {
		last = overlap(e, last)
		text := strings.Repeat(string(rune('a'+i%26)), body)
		if err := write(ctx, e, func(t *Tx) error {
			_, err := t.Exec(addNote+` ON CONFLICT (id) DO UPDATE SET what = excluded.what`, "a", text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		long = max(long, info.Size())
	}
	close(last.next)
	<-last.ended
	if long > 4*limit {
		t.Errorf("%d bytes were written, and the log grew to %d", writes*body, long)
	}
}

// TestABackupDoesNotHoldReadsOff: while a backup keeps a long log from being restarted, that is
// tried now and then, and not after each write.
func TestABackupDoesNotHoldReadsOff(t *testing.T) {
	ctx := context.Background()
	e := openTest(t, filePath(t), Options{})
	if err := write(ctx, e, func(t *Tx) error {
		t.e.File.w.log = walog{limit: 1 << 20, every: time.Hour}
		return note("a")(t)
	}); err != nil {
		t.Fatal(err)
	}
	s, err := e.File.session(ctx, nil) // as a backup has
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Run("BEGIN"); err != nil {
		t.Fatal(err)
	}
	if err := s.Run("SELECT count(*) FROM ops"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := write(ctx, e, func(t *Tx) error {
			_, err := t.Exec(addNote+` ON CONFLICT (id) DO UPDATE SET what = excluded.what`, "a", strings.Repeat("x", 2<<20))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	on(t, e, func() {
		if e.File.w.log.next == 0 {
			t.Error("the restart is tried after each write")
		}
	})
}

// TestALongLogIsCopiedBesideTheWriter: what has to be copied before a long log can be restarted
// does not hold writes up.
func TestALongLogIsCopiedBesideTheWriter(t *testing.T) {
	const limit = 1 << 20
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	path := filePath(t)
	e := openTest(t, path, Options{})
	on(t, e, func() { e.File.w.log = walog{limit: limit, every: time.Microsecond} })
	c := e.File.c
	long := func() {
		t.Helper()
		if err := write(ctx, e, func(t *Tx) error {
			_, err := t.Exec(addNote+` ON CONFLICT (id) DO UPDATE SET what = excluded.what`, "a", strings.Repeat("x", limit))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock() // a checkpoint is under way
	unlock := sync.OnceFunc(c.mu.Unlock)
	defer unlock()
	c.step.Store(tailPages + 1)
	long()
	long() // it waits for no checkpoint
	unlock()
	for c.step.Load() > tailPages {
		runtime.Gosched()
	}
	long()
	on(t, e, func() {}) // the end of that transaction is over
	if whole := c.run(); !whole {
		t.Error("the log is not copied back")
	}
}

// TestCheckpointsAreSmallWhileRequestsMeetBatches: they hold requests up less.
func TestCheckpointsAreSmallWhileRequestsMeetBatches(t *testing.T) {
	ctx := context.Background()
	e := openTest(t, filePath(t), Options{})
	asked := func(k Kind, text string) (asked bool) {
		t.Helper()
		var before, after int64
		on(t, e, func() { before = e.File.w.log.written })
		if err := e.Write(ctx, k, Job{Do: func(t *Tx) error {
			_, err := t.Exec(addNote+` ON CONFLICT (id) DO UPDATE SET what = excluded.what`, "a", strings.Repeat(text, 4096*(mixedPages+100)))
			return err
		}}); err != nil {
			t.Fatal(err)
		}
		on(t, e, func() { after = e.File.w.log.written })
		return after != before
	}
	if asked(Request, "a") {
		t.Error("requests alone have small checkpoints")
	}
	if !asked(Batch, "b") {
		t.Error("requests beside a batch have no small checkpoint")
	}
}

// reading is a read under way, which ends when the next one has begun, or when
// reads are held off.
type reading struct{ next, ended chan struct{} }

// overlap begins a read, and lets the one before end.
func overlap(e *Engine, before *reading) *reading {
	r := &reading{make(chan struct{}), make(chan struct{})}
	began := make(chan struct{})
	go func() {
		defer close(r.ended)
		_ = e.View(context.Background(), Request, func(x *Tx) error {
			err := x.Row(`SELECT count(*) FROM ops`).Scan(new(int))
			close(began)
			for len(e.File.r.slots) < maxReaders {
				select {
				case <-r.next:
					return err
				default:
					runtime.Gosched()
				}
			}
			return err
		})
	}()
	<-began
	if before != nil {
		close(before.next)
		<-before.ended
	}
	return r
}
