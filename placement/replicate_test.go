package placement_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/test/clocktest"
)

func threeDisks() map[string]int64 {
	return map[string]int64{"a": 100 * kb, "b": 100 * kb, "c": 100 * kb}
}

func TestNewContentsAreReplicated(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.want("counts", w.replicate(), map[string]int64{"items": 2, "copies": 1, "copied_bytes": 3000, "fenced": 0})
	w.want("copies", w.copies("k"), "a b")
	w.whole("k", 3000)
	w.want("plans", w.told, []string{"copy segment 0 from a to b"})
	w.want("again", len(w.replicate()), 0)
}

func TestACopyIsMadeOfWhatCanBeRead(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.faults["b"] = blobtest.Fault{Kind: blobtest.Down}
	w.replicate()
	w.want("copies with b down", w.copies("k"), "a c")
	w.opt.Replicas = 3
	w.pass(placement.NewSurvey(w.opt))
	w.faults = map[string]blobtest.Fault{"a": {Kind: blobtest.Down}}
	w.replicate()
	w.want("copies with a down", w.copies("k"), "a b c")
	w.whole("k", 3000)
}

// What a client deletes or replaces while it is copied is no copy that failed.
func TestNoCopyFailsOfWhatIsDeletedMeanwhile(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.opt.Events.CopyFailed = func(_ ledger.Blob, to string, err error) { t.Errorf("a copy to %s failed: %v", to, err) }
	w.put("a", "k", 3000)
	w.opt.Stores["a"] = blobtest.NewFaulty(w.backends["a"], func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpGet {
			_, err := w.db.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "k"}}})
			w.must(err)
		}
		return blobtest.Fault{}
	})
	got := w.replicate()
	w.want("counts", []int64{got["items"], got["copies"], got["copies_failed"]}, []int64{1, 0, 0})
}

func TestALostCopyIsReplaced(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.replicate()
	lost := w.blob("k", "a")
	w.backends["a"].Lose(lethe.BlobKey(w.opt.Store, lost.ID))
	_, err := w.db.MarkSuspect(w.ctx, []lethe.ID{lost.ID}, "missing")
	w.must(err)
	w.replicate()
	w.want("copies", w.copies("k"), "a b")
	w.whole("k", 3000)
	rows, err := w.db.BlobsByID(w.ctx, []lethe.ID{lost.ID})
	w.must(err)
	w.want("the lost copy", []any{rows[0].State, rows[0].Reason}, []any{lethe.Condemned, lethe.ReasonDamaged})
}

func TestADamagedSourceIsFoundOut(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.replicate()
	bad := w.blob("k", "a")
	w.backends["a"].Set(lethe.BlobKey(w.opt.Store, bad.ID), []byte(body("x", 3000)))
	w.opt.Replicas = 3
	w.pass(placement.NewSurvey(w.opt))
	w.replicate()
	w.want("copies", w.copies("k"), "a b c")
	w.whole("k", 3000)
}

func TestTheOnlyCopyIsDamaged(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	bad := w.blob("k", "a")
	w.backends["a"].Set(lethe.BlobKey(w.opt.Store, bad.ID), []byte(body("x", 3000)))
	counts := w.replicate()
	w.want("copies", w.copies("k"), "a?")
	if counts["copies"] != 0 || counts["suspect"] != 1 {
		t.Errorf("counts %v", counts)
	}
	w.put("b", "k", 3000)
	w.replicate()
	w.want("copies once it was stored again", w.copies("k"), "a b")
	w.whole("k", 3000)
}

func TestASurplusCopyGoesBesideAVerifiedOne(t *testing.T) {
	w := newWorld(t, 3, threeDisks())
	w.put("b", "k", 3000)
	w.replicate()
	w.want("copies", w.copies("k"), "a b c")
	w.opt.Replicas = 1
	w.pass(placement.NewSurvey(w.opt))
	first := w.blob("k", "a")
	w.backends["a"].Set(lethe.BlobKey(w.opt.Store, first.ID), []byte(body("x", 3000)))
	w.replicate()
	w.want("copies", w.copies("k"), "b")
	w.whole("k", 3000)
	if w.blob("k", "b").VerifiedAt == 0 {
		t.Error("trimmed beside a copy that nobody has read")
	}
	w.clean()
	w.want("bytes left", w.backends["a"].Len()+w.backends["b"].Len()+w.backends["c"].Len(), 1)
}

func TestNothingIsTrimmedBesideWhatCannotBeRead(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.replicate()
	w.opt.Replicas = 1
	w.pass(placement.NewSurvey(w.opt))
	w.faults["a"], w.faults["b"] = blobtest.Fault{Kind: blobtest.Down}, blobtest.Fault{Kind: blobtest.Down}
	w.replicate()
	w.want("copies", w.copies("k"), "a b")
	clear(w.faults)
	w.clock.Advance(time.Hour)
	w.replicate()
	w.want("copies", w.copies("k"), "a")
}

func TestNoRoomForCopiesWaits(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 100 * kb, "b": 1 * kb})
	w.put("a", "k", 3000)
	counts := w.replicate()
	w.want("stuck", counts["stuck"], 1)
	w.want("at once", len(w.replicate()), 0)
	_, err := w.db.AddBackend(w.ctx, ledger.Backend{ID: "b", Quota: 100 * kb})
	w.must(err)
	w.clock.Advance(time.Minute)
	w.replicate()
	w.want("copies", w.copies("k"), "a b")
}

func TestACopyThatMayLandLateKeepsItsRow(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 0, "b": 0})
	w.put("a", "k", 3000)
	w.faults["b"] = blobtest.Fault{Kind: blobtest.DoneError}
	w.replicate()
	var found bool
	for b := range w.db.EachBlob() {
		if b.State == lethe.Condemned {
			found = true
			w.want("late until", b.LateUntil, w.clock.Now().Add(time.Hour))
		}
	}
	if !found {
		t.Error("the copy of unknown outcome left no row")
	}
}

// slow is a clock that moves on whenever it is asked.
type slow struct{ *clocktest.Clock }

func (s slow) Now() lethe.Time {
	s.Advance(time.Minute)
	return s.Clock.Now()
}

func TestALongCopyKeepsItsClaim(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 90*kb)
	w.opt.Clock = slow{w.clock}
	w.opt.Lease = 3 * time.Minute
	w.want("copies made", w.replicate()["copies"], 1)
}

// A rate limit makes a large content wait for longer than a claim: other instances leave
// it alone, else each would wait in vain, and the next one again.
func TestAClaimIsKeptWhileTheRateWaits(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 0, "b": 0})
	const size = 8 << 20
	w.put("a", "k", size)
	w.opt.Lease = 3 * time.Minute
	w.opt.Throttle = func(_ context.Context, bytes int64) error {
		for ; bytes > 0; bytes -= 1 << 20 {
			w.clock.Advance(time.Minute)
			other, err := w.db.ClaimPlacements(w.ctx, ledger.PlacementClaim{Worker: "other", Limit: 1, Lease: w.opt.Lease})
			w.must(err)
			w.want("taken over", len(other.Items), 0)
		}
		return nil
	}
	w.replicate()
	w.want("copies", w.copies("k"), "a b")
}

// What a stopped pass has claimed and not begun, or not ended, is due at once.
func TestAStopGivesClaimsBack(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 0, "b": 0})
	for _, key := range []string{"k", "l", "m"} {
		w.put("a", key, 3000)
	}
	ctx, stop := context.WithCancel(w.ctx)
	w.opt.Throttle = func(ctx context.Context, _ int64) error {
		stop()
		return ctx.Err()
	}
	w.opt.Events.Stuck = func(_ ledger.Subject, why string, _ lethe.Time) { t.Errorf("stuck: %s", why) }
	_, err := placement.NewReplicate(w.opt).Pass("w")(ctx, func(string, int64) {})
	w.must(err)
	w.opt.Throttle = nil
	w.want("copies made", w.replicate()["copies"], int64(3))
}

func TestPlansAreInWords(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.replicate()
	w.must(w.db.SetDraining(w.ctx, "a", true))
	w.pass(placement.NewDrain(w.opt))
	w.told = nil
	w.replicate()
	if len(w.told) != 2 || !strings.HasPrefix(w.told[0], "copy segment 0 from ") || !strings.Contains(w.told[1], "on a (rebalance)") {
		t.Errorf("told %q", w.told)
	}
}

func TestLedgerFailuresEndThePass(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	f := &failing{PlacementLedger: w.db}
	w.opt.Ledger = ledgertest.ForPlacement(f)
	_, err := placement.NewReplicate(w.opt).Pass("w")(w.ctx, func(string, int64) {})
	if !errors.Is(err, lethe.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

// away is a ledger that a copy's end does not reach.
type away struct {
	ledgertest.PlacementLedger
	commit, abandon []error // in turn, the last forever; nil: it does
}

func next(list *[]error) (err error) {
	if len(*list) > 0 {
		if err = (*list)[0]; len(*list) > 1 {
			*list = (*list)[1:]
		}
	}
	return err
}

func (a *away) CommitCopy(ctx context.Context, c ledger.CopyCommit) error {
	if err := next(&a.commit); err != nil {
		return err
	}
	return a.PlacementLedger.CommitCopy(ctx, c)
}

func (a *away) Abandon(ctx context.Context, id lethe.ID, late bool) error {
	if err := next(&a.abandon); err != nil {
		return err
	}
	return a.PlacementLedger.Abandon(ctx, id, late)
}

// Bytes of a copy for which the ledger recorded neither the copy nor its
// abandonment are reported, once.
func TestUnrecordedCopies(t *testing.T) {
	for name, c := range map[string]struct {
		ledger away
		want   int
	}{
		"away":                     {away{commit: []error{lethe.ErrUnavailable}, abandon: []error{lethe.ErrUnavailable}}, 1},
		"given up":                 {away{commit: []error{lethe.ErrUnavailable}}, 0},
		"given up when asked anew": {away{commit: []error{lethe.ErrUnavailable}, abandon: []error{lethe.ErrUnknownOutcome, nil}}, 0},
		"reaped meanwhile":         {away{commit: []error{lethe.ErrReaped}, abandon: []error{lethe.ErrReaped}}, 0},
		"never answered":           {away{commit: []error{lethe.ErrUnknownOutcome}, abandon: []error{lethe.ErrUnknownOutcome}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, map[string]int64{"a": 100 * kb, "b": 100 * kb})
			w.put("a", "k", 3000)
			var told []ledger.Blob
			w.opt.Events.Unrecorded = func(b ledger.Blob, _ string, err error) { told = append(told, b) }
			c.ledger.PlacementLedger = w.db
			w.opt.Ledger = ledgertest.ForPlacement(&c.ledger)
			w.replicate()
			w.want("told", len(told), c.want)
			for _, b := range told {
				w.want("the copy", []any{b.Backend, b.Size}, []any{"b", int64(3000)})
			}
		})
	}
}

// A copy has the sums of its blocks, whether its source has them or not: all of it was
// read, and had its digest.
func TestACopyHasTheSumsOfItsBlocks(t *testing.T) {
	w := newWorld(t, 2, map[string]int64{"a": 0, "b": 0})
	w.put("a", "k", 600*kb)
	w.want("blocks of the source", w.blob("k", "a").Block, int64(0))
	w.replicate()
	second := w.blob("k", "b")
	w.want("blocks of the copy", second.Block, int64(lethe.BlockSize))
	h := lethe.NewBlockHash(lethe.BlockSize)
	data, _ := w.backends["b"].Bytes(lethe.BlobKey(w.opt.Store, second.ID))
	h.Write(data)
	sums, err := w.db.BlockSums(w.ctx, second.ID, 0, lethe.Blocks(second.Size, lethe.BlockSize)-1)
	w.must(err)
	w.want("sums", sums, h.Sums().Sums)
}

// A copy beside which another one goes is verified since its read began, however long
// that took.
func TestACopyIsVerifiedSinceItsReadBegan(t *testing.T) {
	w := newWorld(t, 2, threeDisks())
	w.put("a", "k", 3000)
	w.replicate()
	began := w.clock.Now()
	for id, disk := range w.backends {
		w.opt.Stores[id] = blobtest.NewFaulty(disk, func(blobtest.Call) blobtest.Fault {
			w.clock.Advance(time.Minute)
			return blobtest.Fault{}
		})
	}
	w.opt.Replicas = 1
	w.pass(placement.NewSurvey(w.opt))
	w.replicate()
	w.want("copies", w.copies("k"), "a")
	w.want("verified", w.blob("k", "a").VerifiedAt, began)
	w.want("time has passed", w.clock.Now() > began, true)
}
