package sqlledger

import (
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func TestClaimCondemned(t *testing.T) {
	l := newLedger(t)
	if c := l.claim(10); len(c.Blobs) != 0 || c.Fence != 0 || c.Now != l.now() {
		t.Fatalf("nothing is condemned: %+v", c)
	}
	first, second := l.condemnOne("a"), l.condemnOne("b")
	l.remove(string(l.putTTL("not due", "d", 0).Object.Key))
	c := l.claim(1)
	if len(c.Blobs) != 1 || c.Blobs[0].ID != first.ID || c.LastDue != first.DueAt {
		t.Fatalf("oldest first: %+v", c)
	}
	if b := c.Blobs[0]; b.Claim != (ledger.Claim{Worker: "w", Fence: c.Fence, At: l.now()}) {
		t.Errorf("claim %+v", b.Claim)
	}
	next := l.claim(10)
	if len(next.Blobs) != 1 || next.Blobs[0].ID != second.ID || next.Fence <= c.Fence {
		t.Fatalf("what is claimed is not handed out: %+v", next)
	}
	l.ok(l.HoldBackend(l.ctx, "disk", "clock ran back"))
	_, err := l.ClaimCondemned(l.ctx, ledger.ClaimRequest{Backend: "disk", Limit: 1})
	l.refused(err, lethe.ErrBackendMismatch)
	_, err = l.ClaimCondemned(l.ctx, ledger.ClaimRequest{Backend: "nowhere", Limit: 1})
	l.refused(err, lethe.ErrBackendMismatch)
}

// TestClaimResumes: After leaves out rows due before.
func TestClaimResumes(t *testing.T) {
	l := newLedger(t)
	first := l.condemnOne("a")
	second := l.condemnOne("b")
	c, err := l.ClaimCondemned(l.ctx, ledger.ClaimRequest{Backend: "disk", After: first.DueAt + 1})
	l.ok(err)
	if len(c.Blobs) != 1 || c.Blobs[0].ID != second.ID {
		t.Errorf("claimed %+v", c.Blobs)
	}
}

// TestSettleGone: the row is removed, with its bytes, once.
func TestSettleGone(t *testing.T) {
	l := newLedger(t)
	a, b := l.condemnOne("a"), l.condemnOne("b")
	c := l.claim(10)
	s := l.settle(c.Fence, ledger.SettleItem{ID: a.ID, Result: ledger.Gone}, ledger.SettleItem{ID: b.ID, Result: ledger.Absent}, ledger.SettleItem{ID: a.ID, Result: ledger.Gone})
	if s.Gone != 2 || s.GoneBytes != 200 || s.Fenced != 1 || len(s.DiedAt) != 2 || s.DiedAt[0] != a.DiedAt || s.Now != l.now() {
		t.Errorf("settled %+v", s)
	}
	if _, found := l.blob(a.ID); found {
		t.Error("the row is still there")
	}
	if n, bytes := l.total(lethe.Condemned); n != 0 || bytes != 0 {
		t.Errorf("condemned %d, %d bytes", n, bytes)
	}
}

func TestSettleFailure(t *testing.T) {
	l := newLedger(t)
	id := l.condemnOne("a").ID
	retry := l.now().Add(time.Minute)
	s := l.settle(l.claim(1).Fence, ledger.SettleItem{ID: id, Result: ledger.Waits, Error: "down", RetryAt: retry})
	b, _ := l.blob(id)
	if s.Retried != 1 || b.Attempts != 0 || b.DueAt != retry || b.LastError != "down" || b.Claim != (ledger.Claim{}) {
		t.Fatalf("an outage burns no attempt: %+v, %+v", s, b)
	}
	if c := l.claim(1); len(c.Blobs) != 0 {
		t.Fatal("claimed before its time")
	}
	l.clock.Advance(time.Minute)
	s = l.settle(l.claim(1).Fence, ledger.SettleItem{ID: id, Result: ledger.Failed, Error: "denied", RetryAt: l.now()})
	if b, _ = l.blob(id); s.Retried != 1 || b.Attempts != 1 || b.State != lethe.Condemned {
		t.Fatalf("a failure burns one: %+v, %+v", s, b)
	}
	s = l.settle(l.claim(1).Fence, ledger.SettleItem{ID: id, Result: ledger.Failed, Error: "denied again", Dead: true})
	b, _ = l.blob(id)
	if s.Dead != 1 || b.Attempts != 2 || b.State != lethe.Dead || b.LastError != "denied again" || b.Reason != lethe.ReasonDelete {
		t.Fatalf("the last one is final: %+v, %+v", s, b)
	}
	if n, bytes := l.total(lethe.Dead); n != 1 || bytes != 100 {
		t.Errorf("dead %d, %d bytes", n, bytes)
	}
}

// TestSettleLate: bytes that may land late keep their row until a delete that was
// issued after the late window has succeeded (docs/protocol.md, rule 9).
func TestSettleLate(t *testing.T) {
	l := newLedger(t)
	id := l.begin(100)
	l.ok(l.Abandon(l.ctx, id, true))
	until := l.now().Add(lateWindow)
	c := l.claim(1)
	l.clock.Advance(2 * lateWindow) // the worker was asleep: its delete is older
	s := l.settle(c.Fence, ledger.SettleItem{ID: id, Result: ledger.Gone})
	b, _ := l.blob(id)
	if s.Kept != 1 || s.Gone != 0 || b.DueAt != until || b.Claim != (ledger.Claim{}) || b.Attempts != 0 {
		t.Fatalf("settled %+v, blob %+v", s, b)
	}
	if n, _ := l.total(lethe.Condemned); n != 1 {
		t.Errorf("%d condemned", n)
	}
	if s := l.settle(l.claim(1).Fence, ledger.SettleItem{ID: id, Result: ledger.Absent}); s.Gone != 1 {
		t.Errorf("settled %+v", s)
	}
}

// TestSettleFenced: a worker that was believed dead changes nothing any more.
func TestSettleFenced(t *testing.T) {
	l := newLedger(t)
	id := l.condemnOne("a").ID
	c := l.claim(1)
	l.clock.Advance(time.Minute)
	if r, err := l.RecoverClaims(l.ctx, 2*time.Minute, 10); err != nil || len(r) != 0 {
		t.Fatalf("recovered too early: %v, %v", r, err)
	}
	r, err := l.RecoverClaims(l.ctx, time.Minute, 10)
	l.ok(err)
	if len(r) != 1 || r[0] != (ledger.Recovered{Backend: "disk", State: lethe.Condemned, Claims: 1}) {
		t.Fatalf("recovered %+v", r)
	}
	if s := l.settle(c.Fence, ledger.SettleItem{ID: id, Result: ledger.Gone}); s.Fenced != 1 || s.Gone != 0 {
		t.Fatalf("settled %+v", s)
	}
	if s := l.settle(0, ledger.SettleItem{ID: id, Result: ledger.Gone}); s.Fenced != 1 {
		t.Fatalf("no claim is no fence: %+v", s)
	}
	if again := l.claim(1); len(again.Blobs) != 1 || again.Fence <= c.Fence {
		t.Errorf("claimed again %+v", again)
	}
}

// TestConcurrentClaims: workers never hold the same blob.
func TestConcurrentClaims(t *testing.T) {
	l := newLedger(t)
	const n = 40
	for i := range n {
		l.condemnOne(string(rune('a' + i)))
	}
	var mu sync.Mutex
	seen := map[lethe.ID]bool{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				c, err := l.ClaimCondemned(l.ctx, ledger.ClaimRequest{Backend: "disk", Limit: 3})
				if err != nil || len(c.Blobs) == 0 {
					return
				}
				mu.Lock()
				for _, b := range c.Blobs {
					if seen[b.ID] {
						t.Errorf("blob %s claimed twice", b.ID)
					}
					seen[b.ID] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != n {
		t.Errorf("%d of %d claimed", len(seen), n)
	}
}

func TestCleanBacklog(t *testing.T) {
	l := newLedger(t)
	first := l.condemnOne("a")
	l.condemnOne("b")
	l.claim(1)
	l.putTTL("c", "c", 0)
	l.remove("c")
	b, err := l.CleanBacklog(l.ctx, "disk")
	l.ok(err)
	want := ledger.Backlog{Count: 1, Bytes: 100, Oldest: first.DueAt.Add(readGrace), NextDue: l.now().Add(readGrace), Scheduled: 1}
	if b != want {
		t.Errorf("backlog %+v, want %+v", b, want)
	}
}
