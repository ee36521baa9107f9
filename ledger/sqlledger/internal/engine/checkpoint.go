package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// checkpointPages is how many pages go to the write-ahead log between two checkpoints: half of
// walLimit. A page that was written several times meanwhile is copied back once.
const checkpointPages = 8000

// mixedPages is the same while requests are served beside batches: the flush of a checkpoint holds
// up those of the log.
const mixedPages = 1000

const (
	// growthPages is how many pages the file grows at most before a checkpoint is asked for:
	// half of the ballast has to suffice for it once the disk is full.
	growthPages = 2000
	// lookPages is how many pages are written before the two are looked at again.
	lookPages = 500
)

// tailPages is how many pages the last checkpoint before a restart of the log copies at most, as
// the writer waits for it: some milliseconds.
const tailPages = 500

const checkpoint = "PRAGMA wal_checkpoint(PASSIVE)"

// checkpointer copies the write-ahead log back into the file beside the writer. In a COMMIT,
// where SQLite does so by itself, all other writes would wait for it.
type checkpointer struct {
	f      *File
	wake   chan struct{}
	ended  chan struct{}
	mu     sync.Mutex // held during a checkpoint, as SQLite refuses a second one
	s      *sqldb.Session
	copied int // pages of the log, by the last run
	// step is how many of them that run copied: about what the next one finds.
	step   atomic.Int64
	failed atomic.Pointer[error] // of a checkpoint, until it is looked at
}

func startCheckpointer(f *File) *checkpointer {
	c := &checkpointer{f: f, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go c.loop()
	return c
}

// due asks for a checkpoint, and does not wait for it.
func (c *checkpointer) due() {
	select {
	case c.wake <- struct{}{}:
	default: // one is asked for already
	}
}

func (c *checkpointer) loop() {
	defer close(c.ended)
	for range c.wake {
		c.run()
	}
}

// run copies what it can, and reports whether that was all. The next run tries the rest again, and
// so does the writer once the log is at its limit.
func (c *checkpointer) run() (whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.s == nil {
		s, err := c.f.session(context.Background(), c.f.syncing())
		if err != nil {
			return false
		}
		c.s = s
	}
	var busy, pages, copied int
	st, err := c.s.Prepared(checkpoint)
	if err == nil {
		err = st.QueryRowContext(context.Background()).Scan(&busy, &pages, &copied)
	}
	if err != nil {
		c.failed.Store(&err)
		_ = c.s.Close()
		c.s, c.copied = nil, 0
		c.step.Store(0)
		return false
	}
	if copied < c.copied { // the log was restarted
		c.copied = 0
	}
	c.step.Store(int64(copied - c.copied))
	c.copied = copied
	return pages == copied
}

// idle reports whether no checkpoint is under way.
func (c *checkpointer) idle() bool {
	if !c.mu.TryLock() {
		return false
	}
	c.mu.Unlock()
	return true
}

// failure returns the error of a checkpoint since it was called last, if any.
func (c *checkpointer) failure() error {
	if err := c.failed.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// stop ends it, and waits for a checkpoint that is under way.
func (c *checkpointer) stop() error {
	close(c.wake)
	<-c.ended
	if c.s == nil {
		return nil
	}
	return c.s.Close()
}

// pagesWritten returns how many pages a session has written to the log; 0 if it cannot say.
func pagesWritten(s *sqldb.Session) (n int64) {
	_ = s.Conn.Raw(func(conn any) error {
		if status, ok := conn.(sqlite.DBStatus); ok {
			some, _, err := status.Status(sqlite.DBStatusCacheWrite, false)
			n = int64(some)
			return err
		}
		return nil
	})
	return n
}

// filePages returns how many pages the file will have once all is copied back.
func filePages(s *sqldb.Session) (n int64, err error) {
	st, err := s.Prepared("PRAGMA page_count")
	if err == nil {
		err = st.QueryRowContext(context.Background()).Scan(&n)
	}
	return n, err
}
