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

// walog bounds the write-ahead log. By itself SQLite restarts the log only if no reader uses
// it at the end of a checkpoint. With overlapping reads that may never happen, and the log
// would grow as long as the load lasts.
type walog struct {
	limit int64
	every time.Duration
	next  lethe.Time // not to be tried before, by the monotonic clock
}

// bound blocks reads briefly if the log is long, and writes all of it back, so that the next
// write restarts it. It is called between transactions. If a long read prevents it, it tries
// again later.
func (w *writer) bound() {
	l := &w.log
	if w.f.path == Memory || w.s == nil {
		return
	}
	info, err := os.Stat(w.f.path + "-wal")
	if err != nil || info.Size() <= l.limit {
		return
	}
	now := lethe.Monotonic{}.Now()
	if now < l.next {
		return
	}
	l.next = now.Add(l.every)
	if w.f.r.pause(walWait) {
		// A failure here recurs in the next COMMIT, which reports it.
		_ = w.s.Run("PRAGMA wal_checkpoint(PASSIVE)")
		w.f.r.resume(maxReaders)
	}
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
