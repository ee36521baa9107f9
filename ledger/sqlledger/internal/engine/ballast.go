package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	// ballastSize is the size of the ballast in bytes: half for what the write-ahead log adds
	// to the file (growthPages), and half for the log.
	ballastSize = 16 << 20
	// ballastEvery is how often the writer tries to restore it.
	ballastEvery = time.Second
)

// ballast is a file beside the ledger that only takes up space. Deletes need space too, for
// rows and for the write-ahead log. When the disk is full the file is truncated, and its
// space serves deletes, expiry and whatever else frees space. Writes that need space are
// refused until the ballast is restored, which happens once twice its size is free. A file
// that is too short tells the next process that the disk was full.
type ballast struct {
	path string
	size int64 // 0: no ballast
	laid bool  // the file has its full size; used by the writer only
	next lethe.Time
	out  atomic.Bool // it was given up, and is not restored
	free func(folder string) (bytes int64, err error)
}

func newBallast(ledger string, o Options) *ballast {
	size, free := o.Ballast, o.FreeBytes
	if free == nil {
		free = freeBytes
	}
	switch {
	case ledger == Memory || size < 0:
		size = 0
	case size == 0:
		size = ballastSize
	}
	return &ballast{path: ledger + ".ballast", size: size, free: free}
}

// tend restores the ballast if it is gone and there is space. After a failure it tries again
// later.
func (b *ballast) tend() {
	now := lethe.Monotonic{}.Now()
	if b.size == 0 || b.laid || now < b.next {
		return
	}
	b.next = now.Add(ballastEvery)
	info, err := os.Stat(b.path)
	b.out.Store(err == nil && info.Size() < b.size)
	if err == nil && info.Size() >= b.size {
		b.laid = true
		return
	}
	if room, err := b.free(filepath.Dir(b.path)); err != nil || room < 2*b.size {
		return
	}
	if err := fill(b.path, b.size); err != nil {
		b.clear()
		return
	}
	b.laid = true
	b.out.Store(false)
}

// clear truncates a ballast that was restored in part.
func (b *ballast) clear() {
	if b.out.Load() {
		_ = os.Truncate(b.path, 0)
		return
	}
	_ = os.Remove(b.path)
}

// give gives the ballast up if err reports a full disk. It reports whether that freed space.
func (b *ballast) give(err error) bool {
	if !isFull(err) || b.size == 0 {
		return false
	}
	b.laid, b.next = false, lethe.Monotonic{}.Now().Add(ballastEvery)
	info, serr := os.Stat(b.path)
	if serr != nil || info.Size() == 0 || os.Truncate(b.path, 0) != nil {
		return false
	}
	b.out.Store(true)
	return true
}

// isFull reports whether err reports a full disk. Extending the index of the write-ahead log
// has an error of its own.
func isFull(err error) bool {
	c := sqldb.Code(err)
	return c&0xff == sqlite3.SQLITE_FULL || c == sqlite3.SQLITE_IOERR_SHMSIZE
}

// NeedsRoom refuses a write that makes the ledger longer while its disk is full. The
// remaining space is for what frees space, and for holds, which stop that.
func (t *Tx) NeedsRoom() error {
	if t.e.File == nil {
		return nil // lethe does not watch the server's disk
	}
	if b := t.e.File.ballast; b.out.Load() {
		return fmt.Errorf("the disk that holds the ledger is full; deletes work, new objects are accepted once %d MiB are free: %w",
			max(1, 2*b.size>>20), lethe.ErrNoRoom)
	}
	return nil
}

// fill makes the file at path size bytes long.
func fill(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(allocate(f, size), f.Close())
}

// pour writes bytes that no file system can compress.
func pour(f *os.File, size int64) error {
	_, err := io.CopyN(f, rand.Reader, size)
	return err
}
