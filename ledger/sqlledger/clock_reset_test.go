package sqlledger

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/test/servers"
)

func TestResetClock(t *testing.T) {
	path := filePath(t)
	resetClock(t, func(o ledger.Options) *DB { return openTest(t, path, o) })
}

func TestResetClockOnPostgres(t *testing.T) {
	url := servers.Postgres(t)
	resetClock(t, func(o ledger.Options) *DB { return openServerAt(t, url, o) })
}

// resetClock: after a clock that was ten days ahead is corrected, and the ledger's with it,
// everything continues as if it had been right. Only objects that live for a time from the
// wrong instant live that much longer.
func resetClock(t *testing.T, open func(ledger.Options) *DB) {
	const ahead, movedGrace = 10 * 24 * time.Hour, 5 * time.Hour
	clock := newTestClock()
	o := ledger.Options{Clock: clock, ReadGrace: readGrace, LateWindow: lateWindow, MovedGrace: movedGrace}
	l := &fixture{DB: open(o), t: t, ctx: context.Background(), clock: clock}
	setUp(t, l.DB)
	for key, ttl := range map[string]time.Duration{"before": time.Hour, "gone": 0, "claimed": 0} {
		l.putTTL(key, key, ttl)
	}
	clock.Advance(ahead)
	l.putTTL("during", "dd", time.Hour)
	l.putIdle("read", 20*time.Hour)
	l.remove("claimed")
	clock.Advance(readGrace)
	for range 2 { // the second exceeds the hour's limit
		_, err := l.ClaimCondemned(l.ctx, ledger.ClaimRequest{Worker: "dies", Backend: "disk", Limit: 10, Deletes: ledger.Limit{PerHour: 1}})
		l.ok(err)
		l.condemnOne("another")
	}
	l.remove("gone")
	l.moves()
	silent := l.begin(100)
	clock.Advance(-ahead)

	s, err := l.Clock(l.ctx)
	l.ok(err)
	if s.Ahead != ahead || s.Wall != l.now() || s.Hidden != 1 || s.Longer != 1 || s.LongerBy > ahead || s.LongerBy < ahead-time.Hour {
		t.Errorf("the clock stands so: %+v", s)
	}
	l.hidden("before", true)
	l.ok(errorOf(l.ResetClock(l.ctx)))
	l.hidden("before", false)
	l.endsIdle("read", 22*time.Hour+ledger.IdleMargin)
	if d := l.ClockBehind(); d != 0 {
		t.Errorf("the ledger's clock is ahead by %s", d)
	}
	if _, err := l.ResetClock(l.ctx); err == nil {
		t.Error("there was something to reset again")
	}
	limits, err := l.LimitStates(l.ctx)
	l.ok(err)
	if g := limits[0]; g.Hour > ledger.HourOf(l.now()) || g.TrippedAt > l.now() || g.TrippedUntil.Sub(l.now()) > time.Hour || !g.Tripped(l.now()) {
		t.Errorf("the hour's limit: %+v", g)
	}
	clock.Advance(lateWindow)
	l.hidden("before", true)
	l.hidden("during", false)
	l.dies(silent)
	clock.Advance(movedGrace - lateWindow - time.Second)
	l.movedDue()
	sound(t, l.DB)
	l.ok(l.Close())
	l.DB = open(o)
	if d := l.ClockBehind(); d != 0 || nowOf(t, l.DB) != l.now() {
		t.Errorf("opened again, the ledger's clock is ahead by %s", d)
	}
}

// putIdle writes an object that ends once it was not read for so long.
func (l *fixture) putIdle(key string, idle time.Duration) {
	l.t.Helper()
	c := commitOf(l.DB, key, ledger.Uploaded{Blob: l.begin(100), Size: 100, Digest: "digest of " + key})
	c.Object.IdleFor = idle
	l.ok(errorOf(l.Commit(l.ctx, c)))
}

// endsIdle checks when an object ends by idleness.
func (l *fixture) endsIdle(key string, in time.Duration) {
	l.t.Helper()
	r, err := l.StatObject(l.ctx, "b", key)
	l.ok(err)
	if d := r.Object.IdleAt.Sub(l.now()); d != in {
		l.t.Errorf("%s ends in %s, not in %s", key, d, in)
	}
}

// movedDue checks that what was moved into the ledger is due in a second.
func (l *fixture) movedDue() {
	l.t.Helper()
	for want := range 2 {
		if n := len(l.claim(10).Blobs); n != want {
			l.t.Errorf("%d blobs of what was moved into the ledger are due, not %d", n, want)
		}
		l.clock.Advance(time.Second)
	}
}

// moves moves an object's bytes into the ledger.
func (l *fixture) moves() {
	l.t.Helper()
	body := strings.Repeat("m", 100)
	content := l.putTTL("moved", hexSum(body), 0).Object.ContentID
	_, err := l.MoveToLedger(l.ctx, content, ledger.NewBody(hexSum(body), []byte(body)))
	l.ok(err)
}

// TestEvictionsOfAResetClock: what a hold was found to keep while the clock was ahead is looked at
// again.
func TestEvictionsOfAResetClock(t *testing.T) {
	const ahead = 90 * 24 * time.Hour
	l := newLedger(t)
	l.clock.Advance(ahead)
	_, err := l.ConfigureBucket(l.ctx, "b", ledger.BucketSettings{QuotaObjects: 2, Evict: ledger.Eviction{Order: ledger.EvictByWrite, High: 50, Low: 50}}, nil)
	l.ok(err)
	_, err = l.ReapplyRules(l.ctx, 0)
	l.ok(err)
	_, err = l.AddHold(l.ctx, ledger.Hold{Bucket: "b", Scope: ledger.HoldPrefix, Reason: "a matter"})
	l.ok(err)
	l.putTTL("first", "aa", 0)
	l.putTTL("second", "bb", 0)
	l.clock.Advance(ledger.KeptAge + time.Second)
	kept := func() bool {
		out, err := l.Evict(l.ctx, ledger.EvictRequest{Bucket: "b"})
		l.ok(err)
		return out.KeptBefore
	}
	if first := kept(); first || !kept() {
		t.Error("nothing was passed over")
	}
	l.clock.Advance(-ahead - time.Hour)
	l.ok(errorOf(l.ResetClock(l.ctx)))
	l.clock.Advance(time.Second)
	if kept() {
		t.Error("what was found held before the reset is still passed over")
	}
}

// hidden checks whether clients see an object.
func (l *fixture) hidden(key string, want bool) {
	l.t.Helper()
	if _, err := l.Resolve(l.ctx, "b", key); (err != nil) != want {
		l.t.Errorf("%s: %v", key, err)
	}
}

// dies checks that nothing waits for the wrong time: claims go stale, condemned blobs are
// due, and the writer is silent.
func (l *fixture) dies(silent lethe.ID) {
	l.t.Helper()
	_, err := l.RecoverClaims(l.ctx, 5*time.Minute, 10)
	l.ok(err)
	got, err := l.ClaimCondemned(l.ctx, ledger.ClaimRequest{Worker: "lives", Backend: "disk", Limit: 10})
	l.ok(err)
	if len(got.Blobs) != 4 {
		l.t.Errorf("%d condemned blobs are due", len(got.Blobs))
	}
	intents, err := l.ClaimIntents(l.ctx, ledger.ClaimRequest{Worker: "lives", Backend: "disk", Limit: 10, MinAge: 5 * time.Minute})
	l.ok(err)
	if len(intents.Intents) != 1 || intents.Intents[0].Blob.ID != silent {
		l.t.Errorf("silent writers: %+v", intents.Intents)
	}
}

// TestReceiptsOfAResetClock: receipts from the time in which the clock was ahead are sealed
// and dropped in order after the reset, and block nothing.
func TestReceiptsOfAResetClock(t *testing.T) {
	const ahead, keep = 90 * 24 * time.Hour, 24 * time.Hour
	clock := newTestClock()
	l := &fixture{DB: openTest(t, Memory, ledger.Options{Clock: clock, ReadGrace: readGrace, LateWindow: lateWindow}), t: t, ctx: context.Background(), clock: clock}
	setUp(t, l.DB)
	clock.Advance(ahead)
	l.putTTL("sealed", "aa", 0)
	l.remove("sealed")
	l.seal()
	l.putTTL("waiting", "bb", 0)
	l.remove("waiting")
	clock.Advance(-ahead)
	l.ok(errorOf(l.ResetClock(l.ctx)))
	u, err := l.UnsealedReceipts(l.ctx, 10)
	l.ok(err)
	if u.Oldest > l.now() {
		t.Errorf("receipts wait since %d, it is %d", u.Oldest, l.now())
	}
	l.seal()
	n, err := l.DropReceipts(l.ctx, keep, 10)
	l.ok(err)
	if n != 0 {
		t.Errorf("%d segments were dropped before their time", n)
	}
	clock.Advance(keep)
	n, err = l.DropReceipts(l.ctx, keep, 10)
	l.ok(err)
	if n != 2 {
		t.Errorf("%d segments were dropped", n)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// seal seals all receipts.
func (l *fixture) seal() {
	l.t.Helper()
	u, err := l.UnsealedReceipts(l.ctx, 10)
	l.ok(err)
	s, err := receipt.Cut("store", u.Last, u.Batches, u.Now)
	l.ok(err)
	l.ok(l.SealReceipts(l.ctx, s))
}

// TestReadsOfAResetClock: what was read for the last time while the clock was ahead stays
// gone.
func TestReadsOfAResetClock(t *testing.T) {
	const ahead = 90 * 24 * time.Hour
	clock := newTestClock()
	l := &fixture{DB: openTest(t, Memory, ledger.Options{Clock: clock, ReadGrace: readGrace, LateWindow: lateWindow}), t: t, ctx: context.Background(), clock: clock}
	setUp(t, l.DB)
	clock.Advance(ahead)
	out, err := l.Commit(l.ctx, ledger.Commit{Op: l.id(), What: "put", Object: ledger.Object{Bucket: "b", Key: "once", ETag: "e", ReadsLeft: 1}})
	l.ok(err)
	_, err = l.CountRead(l.ctx, out.Object)
	l.ok(err)
	clock.Advance(-ahead)
	l.ok(errorOf(l.ResetClock(l.ctx)))
	l.hidden("once", true)
	list, err := l.List(l.ctx, ledger.ListQuery{Bucket: "b", Limit: 9})
	l.ok(err)
	if len(list.Objects) > 0 {
		t.Errorf("the listing shows %+v", list.Objects)
	}
	clock.Advance(time.Microsecond)
	gone, err := l.Expire(l.ctx, ledger.Batch{Limit: 9})
	l.ok(err)
	if gone.Objects != 1 {
		t.Errorf("expired %+v", gone)
	}
	sound(t, l.DB)
}
