package sqlledger

import (
	"os"
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// walLimit is the length in bytes from which on the write-ahead log is made to
	// begin anew. SQLite cuts the file to as much when it does (journal_size_limit).
	walLimit = 64 << 20
	// walEvery is how often that is tried while a reader prevents it.
	walEvery = 5 * time.Second
	// walWait is how long reads are held off for it at most.
	walWait = 100 * time.Millisecond
)

// walog bounds the write-ahead log. By itself SQLite begins it anew only when at
// the end of a checkpoint nobody reads from it, and with reads that overlap there
// may never be such a moment: the log would grow for as long as the load lasts.
type walog struct {
	limit int64
	every time.Duration
	next  lethe.Time // not to be looked at before, by the monotonic clock
}

// bound holds off reads for a moment, if the log has grown long, and writes back
// all of it: then the next write begins it anew. It is called between
// transactions. If a long read goes on meanwhile it is tried again later.
func (w *writer) bound() {
	l := &w.log
	if w.db.path == Memory || w.s == nil {
		return
	}
	info, err := os.Stat(w.db.path + "-wal")
	if err != nil || info.Size() <= l.limit {
		return
	}
	now := lethe.Monotonic{}.Now()
	if now < l.next {
		return
	}
	l.next = now.Add(l.every)
	if w.db.r.pause(walWait) {
		// What fails here fails again in the next COMMIT, which tells.
		_ = w.s.Run("PRAGMA wal_checkpoint(PASSIVE)")
		w.db.r.resume(maxReaders)
	}
}

// pause keeps new reads from beginning, and waits until those under way have
// ended, for at most the given time; if they have not, it is false, and reads go
// on.
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

// resume gives n slots back.
func (r *readers) resume(n int) {
	for range n {
		<-r.slots
	}
}
