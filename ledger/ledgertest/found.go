package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func foundTests() []test {
	return []test{
		{name: "an orphan that is a lost blob", run: foundTaken},
		{name: "an orphan that is a lost part", run: foundPart},
		{name: "orphans that are no lost blob", run: foundRefused},
	}
}

// found is a lost blob whose bytes lie on the other backend, under the name of an orphan.
func (w *world) found(lost lethe.ID) ledger.Found {
	w.Helper()
	w.tapes()
	w.ok(w.SetEpoch(w.ctx, tape, 4, 4))
	equal(w, "suspect", must(w.MarkSuspect(w.ctx, []lethe.ID{lost}, "missing"))(w), 1)
	b := w.row(lost)
	return ledger.Found{Lost: lost, Orphan: w.id(), Backend: tape, Epoch: 4, Size: b.Size, Digest: b.Digest, Blocks: w.sumsOf(lost), Ago: time.Second}
}

func foundTaken(w *world) {
	w.put("k", "body")
	f := w.found(w.onlyBlob("k").ID)
	walk := must(w.BeginWalk(w.ctx, ledger.WalkStart{ID: w.id(), Backend: tape, GiveUp: time.Hour}))(w)
	w.sees(walk, ledger.FoundOrphan, lethe.BlobKey(must(w.Identity(w.ctx))(w).ID, f.Orphan), w.orphanKey())
	w.placements()
	lost := w.row(f.Lost)
	b := must(w.TakeOrphan(w.ctx, f))(w)
	want := lost
	want.ID, want.Backend, want.Replica, want.Suspect, want.LastError = f.Orphan, tape, 1, false, ""
	want.CreatedAt, want.BeatAt, want.VerifiedAt = w.now(), w.now(), w.now().Add(-time.Second)
	equal(w, "the copy", w.row(f.Orphan), want)
	equal(w, "answered", b, want)
	equal(w, "sums", w.sumsOf(f.Orphan), w.sumsOf(f.Lost))
	w.sound()
	w.totals(0, 2, 0, 0)
	equal(w, "read first", w.get("k").Segments[0].Blobs[0].ID, f.Orphan)
	equal(w, "findings", len(must(w.Findings(w.ctx, ledger.FindingQuery{}))(w)), 1)
	equal(w, "looked at by placement", must(w.QueuedPlacements(w.ctx, ledger.PlacementQuery{Only: []lethe.ID{b.ContentID}}))(w)[0].DueAt <= w.now(), true)
	f.Orphan = w.id()
	w.unchanged(func() { w.fails(refused(w.TakeOrphan(w.ctx, f)), lethe.ErrContentGone) }) // there is a sound copy
	w.remove("k")
	w.condemned(b.ID, lethe.ReasonDelete, w.row(f.Lost).DueAt)
}

func foundPart(w *world) {
	u := w.open("m")
	p := w.part(u, 1, "part")
	lost := p.BlobID
	f := w.found(lost)
	must(w.TakeOrphan(w.ctx, f))(w)
	w.in(lost, lethe.Condemned)
	w.sound()
	w.finish(u, "whole", p)
	equal(w, "the object's", w.onlyBlob("m").ID, f.Orphan)
}

func foundRefused(w *world) {
	w.put("k", "body")
	good := w.found(w.onlyBlob("k").ID)
	try := func(kind error, change func(*ledger.Found)) {
		w.Helper()
		f := good
		change(&f)
		w.unchanged(func() { w.fails(refused(w.TakeOrphan(w.ctx, f)), kind) })
	}
	as := func(*ledger.Found) {}
	try(lethe.ErrDigestMismatch, func(f *ledger.Found) { f.Size++ })
	try(lethe.ErrDigestMismatch, func(f *ledger.Found) { f.Digest = f.Digest[1:] + "0" })
	try(lethe.ErrContentGone, func(f *ledger.Found) { f.Lost = w.id() })
	try(lethe.ErrFenced, func(f *ledger.Found) { f.Orphan = f.Lost })
	try(lethe.ErrFenced, func(f *ledger.Found) { f.Orphan = w.begin("other") })
	try(lethe.ErrFenced, func(f *ledger.Found) { f.Epoch++ })
	try(lethe.ErrBackendMismatch, func(f *ledger.Found) { f.Backend = "nowhere" })
	w.ok(w.HoldBackend(w.ctx, tape, "why"))
	try(lethe.ErrBackendMismatch, as)
	w.ok(w.HoldBackend(w.ctx, tape, ""))
	must(w.DoubtClock(w.ctx, tape, "differs"))(w)
	try(lethe.ErrClock, as)
	must(w.DoubtClock(w.ctx, tape, ""))(w)
	w.ok(w.IntendEpoch(w.ctx, w.backendRow(tape), 9))
	w.ok(w.AcceptEpoch(w.ctx, tape, 9))
	good.Epoch, good.Wait = 9, time.Hour
	w.later(time.Hour)
	try(lethe.ErrFenced, as) // the read began a second before the wait was over
	must(w.MarkSound(w.ctx, []lethe.ID{good.Lost}, 0))(w)
	try(lethe.ErrContentGone, as)
}
