package sqlledger

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// TestReadersDoNotKeepTheLogGrowing: even if overlapping reads leave no moment without one,
// the write-ahead log restarts.
func TestReadersDoNotKeepTheLogGrowing(t *testing.T) {
	const limit, body, writes = 4 << 20, 256 << 10, 200
	ctx := context.Background()
	path := filePath(t)
	db := openTest(t, path, ledger.Options{})
	setUp(t, db)
	if err := db.write(ctx, "limit", func(t *tx) error {
		t.db.w.log = walog{limit: limit, every: time.Microsecond}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	long := int64(0)
	last := overlap(db, nil)
	for i := range writes {
		last = overlap(db, last)
		if err := db.PutDocument(ctx, ledger.Document{Bucket: "b", Kind: "kind", Body: bytes.Repeat([]byte{byte(i)}, body)}); err != nil {
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

// reading is a read under way, which ends when the next one has begun, or when
// reads are held off.
type reading struct{ next, ended chan struct{} }

// overlap begins a read, and lets the one before end.
func overlap(db *DB, before *reading) *reading {
	r := &reading{make(chan struct{}), make(chan struct{})}
	began := make(chan struct{})
	go func() {
		defer close(r.ended)
		_ = db.read(context.Background(), "overlap", func(x *tx) error {
			_, err := x.bucket("b")
			close(began)
			for len(db.r.slots) < maxReaders {
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
