package sqlledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// fixture is a ledger under test, with a clock set by the test.
type fixture struct {
	*DB
	t     testing.TB
	ctx   context.Context
	clock *clocktest.Clock
}

const (
	readGrace  = 10 * time.Minute
	lateWindow = time.Hour
)

// newLedger opens a ledger in memory with the backend "disk" and the bucket "b".
// The books are recounted at the end of the test.
func newLedger(t testing.TB) *fixture {
	t.Helper()
	clock := newTestClock()
	db := openTest(t, Memory, ledger.Options{Clock: clock, ReadGrace: readGrace, LateWindow: lateWindow})
	setUp(t, db)
	t.Cleanup(func() { sound(t, db) })
	return &fixture{DB: db, t: t, ctx: context.Background(), clock: clock}
}

func (l *fixture) now() lethe.Time { return l.clock.Now() }
func (l *fixture) id() lethe.ID    { return lethe.RandomID(l.now()) }

// ok fails the test on an error.
func (l *fixture) ok(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// refused fails the test unless err is want.
func (l *fixture) refused(err, want error) {
	l.t.Helper()
	if !errors.Is(err, want) {
		l.t.Fatalf("error %v, want %v", err, want)
	}
}

// begin makes an intent of size bytes.
func (l *fixture) begin(size int64) lethe.ID {
	l.t.Helper()
	id := l.id()
	_, err := l.Begin(l.ctx, ledger.Intent{ID: id, Backend: "disk", Size: size})
	l.ok(err)
	return id
}

// putTTL stores 100 bytes that live so long; 0: forever.
func (l *fixture) putTTL(key, digest string, ttl time.Duration) ledger.Committed {
	l.t.Helper()
	c := commitOf(l.DB, key, ledger.Uploaded{Blob: l.begin(100), Size: 100, Digest: digest})
	c.TTL = ttl
	out, err := l.Commit(l.ctx, c)
	l.ok(err)
	return out
}

// remove deletes an object.
func (l *fixture) remove(key string) ledger.Deletions {
	l.t.Helper()
	out, err := l.Delete(l.ctx, ledger.Deletion{Op: l.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: key}}})
	l.ok(err)
	return out
}

// condemnOne stores an object, deletes it, and returns its blob once that is due.
func (l *fixture) condemnOne(key string) ledger.Blob {
	l.t.Helper()
	o := l.putTTL(key, "digest of "+key, 0)
	l.remove(key)
	l.clock.Advance(readGrace)
	blobs, err := l.ContentBlobs(l.ctx, o.Object.ContentID)
	l.ok(err)
	if len(blobs) != 1 || blobs[0].State != lethe.Condemned || blobs[0].DueAt != l.now() {
		l.t.Fatalf("blobs %+v", blobs)
	}
	return blobs[0]
}

// blob reads a row; ok is false if it is gone.
func (l *fixture) blob(id lethe.ID) (ledger.Blob, bool) {
	l.t.Helper()
	list, err := l.BlobsByID(l.ctx, []lethe.ID{id})
	l.ok(err)
	if len(list) == 0 {
		return ledger.Blob{}, false
	}
	return list[0], true
}

// claim takes up to limit due blobs of "disk".
func (l *fixture) claim(limit int) ledger.Claimed {
	l.t.Helper()
	c, err := l.ClaimCondemned(l.ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk", Limit: limit})
	l.ok(err)
	return c
}

func (l *fixture) settle(fence int64, items ...ledger.SettleItem) ledger.Settled {
	l.t.Helper()
	s, err := l.Settle(l.ctx, ledger.Settlement{Fence: fence, Items: items})
	l.ok(err)
	return s
}

// total returns the counters of a state on "disk".
func (l *fixture) total(s lethe.State) (n, bytes int64) {
	l.t.Helper()
	totals, err := l.Totals(l.ctx)
	l.ok(err)
	for _, x := range totals {
		if x.Backend == "disk" && x.State == s {
			return x.Blobs, x.Bytes
		}
	}
	return 0, 0
}

// hexSum is the SHA-256 of a text, for digests that are checked.
func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
