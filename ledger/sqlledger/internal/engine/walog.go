package engine

import (
	"os"
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// walLimit is the length in bytes from which the write-ahead log is restarted. SQLite
	// then truncates the file to it (journal_size_limit).
	walLimit = 64 << 20
	// walEvery is how often a restart is tried while a reader prevents it.
	walEvery = 5 * time.Second
	// walWait is how long a restart blocks reads at most.
	walWait = 100 * time.Millisecond
)

// walog bounds the write-ahead log. SQLite restarts the log only if all of it is copied back
// and no reader uses it. With overlapping reads, or writes beside each checkpoint, that may
// never happen, and the log would grow as long as the load lasts.
type walog struct {
	limit   int64
	every   time.Duration
	next    lethe.Time // not to be tried before, by the monotonic clock
	written int64      // pages, when the last checkpoint was asked for
}

// tend asks for a checkpoint when enough was written, and restarts a long log. It is called
// between transactions.
func (w *writer) tend() {
	if w.f.path == Memory || w.s == nil {
		return
	}
	written := pagesWritten(w.s)
	if written < w.log.written { // another connection
		w.log.written = 0
	}
	if written-w.log.written >= checkpointPages {
		w.log.written = written
		w.f.c.due()
	}
	w.bound()
}

// bound blocks reads briefly if the log is long, and writes all of it back, so that the next
// write restarts it. Most is written back before. If a long read prevents it, it tries again
// later.
func (w *writer) bound() {
	l := &w.log
	info, err := os.Stat(w.f.path + "-wal")
	if err != nil || info.Size() <= l.limit {
		return
	}
	now := lethe.Monotonic{}.Now()
	if now < l.next {
		return
	}
	w.f.c.by(w.s)
	if !w.f.r.pause(walWait) {
		l.next = now.Add(l.every)
		return
	}
	w.f.c.by(w.s)
	w.f.r.resume(maxReaders)
}

// pause blocks new reads and waits at most the given time until those in progress have
// ended. If they have not, it returns false, and reads continue.
func (r *readers) pause(most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for n := range maxReaders {
		select {
		case r.slots <- struct{}{}:
		case <-timer.C:
			r.resume(n)
			return false
		}
	}
	return true
}

// resume returns n slots.
func (r *readers) resume(n int) {
	for range n {
		<-r.slots
	}
}
