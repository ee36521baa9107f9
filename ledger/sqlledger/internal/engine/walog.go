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
	// walWait is how long a restart holds up reads and writes at most, until the log is twice as
	// long as it may be, and walFarWait from then on.
	walWait    = 10 * time.Millisecond
	walFarWait = 100 * time.Millisecond
)

// walog bounds the write-ahead log. SQLite restarts the log only if all of it is copied back
// and no reader uses it. With overlapping reads, or writes beside each checkpoint, that may
// never happen, and the log would grow as long as the load lasts.
type walog struct {
	limit int64
	every time.Duration
	next  lethe.Time // not to be tried before, by the monotonic clock
	// In pages, when the last checkpoint was asked for: what was written, and the file. looked
	// is what was written when that was looked at.
	written, size, looked int64
	// ran is which kinds of groups there were since then.
	ran [2]bool
}

// tend asks for a checkpoint when enough was written, and restarts a long log. It is called
// between transactions.
func (w *writer) tend() {
	if w.f.path == Memory {
		return
	}
	w.f.ballast.give(w.f.c.failure())
	if w.f.ballast.out.Load() {
		// The log must not take the space that is left: it is restarted by each group.
		w.f.c.run()
		_ = w.f.c.failure() // the ballast is given up already
		return
	}
	if w.s == nil {
		return
	}
	if w.due() {
		w.f.c.due()
	}
	w.bound()
}

// due reports whether a checkpoint is due.
func (w *writer) due() bool {
	l := &w.log
	written := pagesWritten(w.s)
	if written < l.looked { // another connection
		l.written, l.looked = 0, 0
	}
	if written-l.looked < lookPages {
		return false
	}
	l.looked = written
	step := int64(checkpointPages)
	if l.ran == [2]bool{true, true} {
		step = mixedPages
	}
	size, err := filePages(w.s)
	if l.size = min(l.size, size); err != nil || written-l.written < step && size-l.size < growthPages {
		return false
	}
	l.written, l.size, l.ran = written, size, [2]bool{}
	return true
}

// bound blocks reads briefly if the log is long, and writes all of it back, so that the next
// write restarts it. Most is written back before, beside the writer, unless the log is twice as
// long as it may be. If a long read or a backup prevents it, it tries again later.
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
	wait := walFarWait
	if info.Size() <= 2*l.limit {
		if w.f.c.step.Load() > tailPages || !w.f.c.idle() {
			w.f.c.due()
			return
		}
		wait = walWait
	}
	w.f.c.run()
	whole := false
	if w.f.r.pause(wait) {
		whole = w.f.c.run()
		w.f.r.resume(maxReaders)
	}
	if !whole {
		l.next = now.Add(l.every)
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
