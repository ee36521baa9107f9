package sqlledger

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// promise begins a write whose size and digest are fixed beforehand.
func (l *fixture) promise(key, digest string) (ledger.Commit, lethe.ID) {
	l.t.Helper()
	blob := l.id()
	c := commitOf(l.DB, key, ledger.Uploaded{Blob: blob, Size: 100, Digest: digest})
	_, err := l.Begin(l.ctx, ledger.Intent{ID: blob, Backend: "disk", Size: 100, Promotion: &ledger.Promotion{Commit: c}})
	l.ok(err)
	return c, blob
}

// silent claims all intents that had no heartbeat for an hour.
func (l *fixture) silent() ledger.ClaimedIntents {
	l.t.Helper()
	c, err := l.ClaimIntents(l.ctx, ledger.ClaimRequest{Worker: "w", Limit: 10, MinAge: time.Hour})
	l.ok(err)
	return c
}

// TestClaimIntents: only the silent are claimed, and their writers fail cleanly
// from then on.
func TestClaimIntents(t *testing.T) {
	l := newLedger(t)
	c, blob := l.promise("k", "d")
	beating := l.begin(5)
	l.clock.Advance(time.Hour)
	l.ok(l.Beat(l.ctx, beating, 6))
	got := l.silent()
	if len(got.Intents) != 1 || got.Intents[0].Blob.ID != blob || got.Now != l.now() {
		t.Fatalf("claimed %+v", got)
	}
	in := got.Intents[0]
	if in.Promotion == nil || in.Promotion.Commit.Op != c.Op || in.Promotion.Commit.Blobs[0].Digest != "d" {
		t.Errorf("promotion %+v", in.Promotion)
	}
	if in.Blob.Claim != (ledger.Claim{Worker: "w", Fence: got.Fence, At: l.now()}) {
		t.Errorf("claim %+v", in.Blob.Claim)
	}
	l.refused(l.Beat(l.ctx, blob, 100), lethe.ErrReaped)
	l.refused(l.Abandon(l.ctx, blob, false), lethe.ErrReaped)
	_, err := l.Commit(l.ctx, c)
	l.refused(err, lethe.ErrReaped)
	if again := l.silent(); len(again.Intents) != 0 {
		t.Errorf("claimed twice: %+v", again)
	}
}

// TestUnreadablePromotion: an intent whose promotion is unreadable is claimed like one
// without, along with the others.
func TestUnreadablePromotion(t *testing.T) {
	l := newLedger(t)
	_, broken := l.promise("a", "d")
	_, sound := l.promise("b", "e")
	l.ok(l.write(l.ctx, "break", func(x *tx) error {
		_, err := x.Exec("UPDATE promotions SET payload = '{' WHERE blob_id = ?1", broken)
		return err
	}))
	l.clock.Advance(time.Hour)
	got := l.silent()
	if len(got.Intents) != 2 {
		t.Fatalf("claimed %+v", got)
	}
	for _, in := range got.Intents {
		if proven := in.Promotion != nil; proven != (in.Blob.ID == sound) {
			t.Errorf("blob %s has promotion %+v", in.Blob.ID, in.Promotion)
		}
	}
	l.ok(l.CondemnIntent(l.ctx, got.Fence, broken))
	_, err := l.Promote(l.ctx, got.Fence, sound, lethe.BlockSums{})
	l.ok(err)
}

// TestPromote: the write is finished as its writer would have, under its
// operation, and its bytes are known to land late.
func TestPromote(t *testing.T) {
	l := newLedger(t)
	c, blob := l.promise("k", "d")
	l.clock.Advance(time.Hour)
	fence := l.silent().Fence
	_, err := l.Promote(l.ctx, fence+1, blob, lethe.BlockSums{})
	l.refused(err, lethe.ErrFenced)
	_, err = l.Promote(l.ctx, 0, blob, lethe.BlockSums{})
	l.refused(err, lethe.ErrFenced)
	made, err := l.Promote(l.ctx, fence, blob, lethe.BlockSums{})
	l.ok(err)
	if made.Object.ID != c.Op || made.Object.Key != "k" {
		t.Errorf("made %+v", made)
	}
	if out, found, err := l.Outcome(l.ctx, c.Op); err != nil || !found || out.ObjectID != c.Op {
		t.Errorf("the writer finds %+v, %v, %v", out, found, err)
	}
	if b, _ := l.blob(blob); b.State != lethe.Live || b.Claim != (ledger.Claim{}) || b.LateUntil != l.now().Add(lateWindow) {
		t.Errorf("blob %+v", b)
	}
	_, err = l.Promote(l.ctx, fence, blob, lethe.BlockSums{})
	l.refused(err, lethe.ErrFenced)
}

// TestPromoteSuperseded: what wrote, removed or expired the key since wins.
func TestPromoteSuperseded(t *testing.T) {
	for name, since := range map[string]func(*fixture){
		"written": func(l *fixture) { l.putTTL("k", "newer", 0) },
		"removed": func(l *fixture) { l.remove("k") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(t)
			l.putTTL("k", "older", 0)
			_, blob := l.promise("k", "d")
			l.clock.Advance(time.Hour)
			got := l.silent()
			since(l)
			_, err := l.Promote(l.ctx, got.Fence, blob, lethe.BlockSums{})
			l.refused(err, lethe.ErrPreconditionFailed)
			if b, _ := l.blob(blob); b.State != lethe.Pending || b.Claim.Fence != got.Fence {
				t.Errorf("a refusal changes nothing: %+v", b)
			}
			l.ok(l.CondemnIntent(l.ctx, got.Fence, blob))
		})
	}
}

// TestPromoteDuplicate: bytes whose content exists already are not kept twice.
func TestPromoteDuplicate(t *testing.T) {
	l := newLedger(t)
	l.putTTL("other", "d", 0)
	_, blob := l.promise("k", "d")
	l.clock.Advance(time.Hour)
	made, err := l.Promote(l.ctx, l.silent().Fence, blob, lethe.BlockSums{})
	l.ok(err)
	b, _ := l.blob(blob)
	if !made.Duplicate || b.State != lethe.Condemned || b.Reason != lethe.ReasonDuplicate || b.LateUntil != l.now().Add(lateWindow) {
		t.Errorf("made %+v, blob %+v", made, b)
	}
}

func TestCondemnIntent(t *testing.T) {
	l := newLedger(t)
	blob := l.begin(7)
	l.refused(l.CondemnIntent(l.ctx, 0, blob), lethe.ErrFenced)
	l.clock.Advance(time.Hour)
	fence := l.silent().Fence
	l.refused(l.CondemnIntent(l.ctx, fence+1, blob), lethe.ErrFenced)
	l.ok(l.CondemnIntent(l.ctx, fence, blob))
	b, _ := l.blob(blob)
	until := l.now().Add(lateWindow)
	if b.State != lethe.Condemned || b.Reason != lethe.ReasonUploadOrphan || b.DueAt != until || b.LateUntil != until || b.DiedAt != l.now() {
		t.Errorf("blob %+v", b)
	}
	if n, bytes := l.total(lethe.Condemned); n != 1 || bytes != 7 {
		t.Errorf("condemned %d, %d bytes", n, bytes)
	}
	l.refused(l.CondemnIntent(l.ctx, fence, blob), lethe.ErrFenced)
}

// TestReleaseIntent: a released intent can be claimed again; the former claim is void.
func TestReleaseIntent(t *testing.T) {
	l := newLedger(t)
	blob := l.begin(7)
	l.clock.Advance(time.Hour)
	fence := l.silent().Fence
	l.ok(l.ReleaseIntent(l.ctx, fence, blob))
	l.refused(l.ReleaseIntent(l.ctx, fence, blob), lethe.ErrFenced)
	l.refused(l.ReleaseIntent(l.ctx, 0, blob), lethe.ErrFenced)
	if again := l.silent(); len(again.Intents) != 1 || again.Fence <= fence {
		t.Errorf("claimed %+v", again)
	}
	l.refused(l.CondemnIntent(l.ctx, fence, blob), lethe.ErrFenced)
}

// TestRecoverIntents: the watchdog releases stale claims of intents too.
func TestRecoverIntents(t *testing.T) {
	l := newLedger(t)
	l.begin(7)
	l.clock.Advance(time.Hour)
	l.silent()
	l.clock.Advance(time.Minute)
	r, err := l.RecoverClaims(l.ctx, time.Minute, 10)
	l.ok(err)
	if len(r) != 1 || r[0] != (ledger.Recovered{Backend: "disk", State: lethe.Pending, Claims: 1}) {
		t.Fatalf("recovered %+v", r)
	}
	if again := l.silent(); len(again.Intents) != 1 {
		t.Errorf("claimed %+v", again)
	}
}

func TestReapBacklog(t *testing.T) {
	l := newLedger(t)
	first := l.now()
	l.begin(7)
	l.clock.Advance(time.Hour)
	l.begin(8)
	b, err := l.ReapBacklog(l.ctx, time.Hour)
	l.ok(err)
	want := ledger.Backlog{Count: 1, Bytes: 7, Oldest: first.Add(time.Hour), NextDue: l.now().Add(time.Hour), Scheduled: 1}
	if b != want {
		t.Errorf("backlog %+v, want %+v", b, want)
	}
}
