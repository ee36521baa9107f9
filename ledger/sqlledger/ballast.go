package sqlledger

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
	// ballastSize is what the ballast takes, in bytes: the log of writes at its
	// usual length, once in itself and once in the file that it is written back to.
	ballastSize = 16 << 20
	// ballastEvery is how often it is tried to lay it again.
	ballastEvery = time.Second
)

// ballast is a file beside the ledger that only takes up room. Forgetting needs
// room too, for rows and for the log of writes: when the disk is full the file is
// cut to nothing, and what it took is there for deletes, expiry and all that
// frees more. Until it lies there again, which it does once the disk has twice
// its size, what takes room is refused. That the file is there, but short, tells
// the next process.
type ballast struct {
	path string
	size int64 // 0: there is none
	laid bool  // the file has its size; the writer's
	next lethe.Time
	out  atomic.Bool // it was given up, and is not back
	free func(folder string) (bytes int64, err error)
}

func newBallast(ledger string, size int64) *ballast {
	switch {
	case ledger == Memory || size < 0:
		size = 0
	case size == 0:
		size = ballastSize
	}
	return &ballast{path: ledger + ".ballast", size: size, free: freeBytes}
}

// tend lays the ballast if it is not there and there is room. What fails is tried
// again later.
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

// clear takes back what was laid in part.
func (b *ballast) clear() {
	if b.out.Load() {
		_ = os.Truncate(b.path, 0)
		return
	}
	_ = os.Remove(b.path)
}

// give gives the ballast up if err says that the disk is full; true if that made
// room.
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

// isFull reports whether err reports a full disk. The index of the log is extended
// apart, with an error of its own.
func isFull(err error) bool {
	c := sqldb.Code(err)
	return c&0xff == sqlite3.SQLITE_FULL || c == sqlite3.SQLITE_IOERR_SHMSIZE
}

// needsRoom refuses what makes the ledger longer while its disk is full: what is
// left is for what frees.
func (t *tx) needsRoom() error {
	if t.db.file == nil {
		return nil // the server's disk is another's to watch
	}
	if b := t.db.ballast; b.out.Load() {
		return fmt.Errorf("the disk that holds the ledger is full; deletes go on, new objects once %d MiB are free: %w",
			max(1, 2*b.size>>20), lethe.ErrNoRoom)
	}
	return nil
}

// fill makes the file at path, or what there is of it, size bytes long.
func fill(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(allocate(f, size), f.Close())
}

// pour writes bytes that no file system can store in less.
func pour(f *os.File, size int64) error {
	_, err := io.CopyN(f, rand.Reader, size)
	return err
}
