package ledgertest

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	tape  = "tape" // the other backend
	lease = 5 * time.Minute
)

func placeTests() []test {
	two := func(o *ledger.Options) { o.Replicas = 2 }
	return []test{
		{name: "new contents are queued", run: placeQueued, options: two},
		{name: "one copy needs no queue", run: placeUnqueued},
		{name: "what is queued, and claims of what is named", run: placeNamed, options: two},
		{name: "claims end", run: placeClaims, options: two},
		{name: "claims of a process that is gone end", run: claimsEnded, options: two},
		{name: "what happens meanwhile is looked at again", run: placeAgain, options: two},
		{name: "retries", run: placeRetries, options: two},
		{name: "subjects are queued once", run: placeOnce},
		{name: "a copy", run: copied, options: two},
		{name: "a copy of what is gone", run: copyOfNothing, options: two},
		{name: "a copy of other bytes", run: copyOfOtherBytes, options: two},
		{name: "a copy without its claim", run: copyFenced, options: two},
		{name: "a copy that was reaped", run: copyReaped, options: two},
		{name: "copies die with their content", run: copyDies, options: two},
		{name: "a copy of a part", run: copyOfPart},
		{name: "a part stored again", run: copyOfOldPart},
		{name: "trim", run: trimmed, options: two},
		{name: "trim beside nothing", run: trimBesideNothing, options: two},
		{name: "a doubtful copy is queued", run: doubted},
		{name: "draining", run: draining},
		{name: "removal", run: removal},
	}
}

// tapes adds the other backend.
func (w *world) tapes() {
	w.Helper()
	must(w.AddBackend(w.ctx, ledger.Backend{ID: tape}))(w)
}

// placements claims the due subjects.
func (w *world) placements() ledger.Placements {
	w.Helper()
	return must(w.ClaimPlacements(w.ctx, ledger.PlacementClaim{Worker: "w", Lease: lease}))(w)
}

// misplaced claims the one due subject.
func (w *world) misplaced() (ledger.Placement, int64) {
	w.Helper()
	p := w.placements()
	if len(p.Items) != 1 {
		w.Fatalf("%d subjects are due, want 1", len(p.Items))
	}
	return p.Items[0], p.Fence
}

// copying begins a copy of a blob on the other backend.
func (w *world) copying(source lethe.ID, fence int64) ledger.Blob {
	w.Helper()
	return must(w.BeginCopy(w.ctx, ledger.CopyIntent{ID: w.id(), Backend: tape, Source: source, Fence: fence, Lease: lease}))(w)
}

// commitCopy commits a copy.
func (w *world) commitCopy(b ledger.Blob, source lethe.ID, fence int64) error {
	return w.CommitCopy(w.ctx, ledger.CopyCommit{Blob: b.ID, Source: source, Digest: b.Digest, Blocks: w.sumsOf(source), Fence: fence, Lease: lease})
}

// sumsOf returns the sums of a blob's blocks.
func (w *world) sumsOf(blob lethe.ID) lethe.BlockSums {
	b := w.row(blob)
	if b.Block == 0 {
		return lethe.BlockSums{}
	}
	return lethe.BlockSums{Size: b.Block, Sums: must(w.BlockSums(w.ctx, blob, 0, lethe.Blocks(b.Size, b.Block)-1))(w)}
}

// twice makes an object with two copies, and claims its subject.
func (w *world) twice(key, body string) (first, second ledger.Blob, fence int64) {
	w.Helper()
	w.tapes()
	w.put(key, body)
	p, fence := w.misplaced()
	second = w.copying(p.Blobs[0].ID, fence)
	equal(w, "CRC of the copy", second.CRC32C, crc(body))
	w.ok(w.commitCopy(second, p.Blobs[0].ID, fence))
	return p.Blobs[0], w.row(second.ID), fence
}

func placeQueued(w *world) {
	w.put("k", "body")
	u := w.open("m")
	w.finish(u, "whole", w.part(u, 1, "part"))
	w.put("empty", "")
	w.put("again", "body")
	b := must(w.PlaceBacklog(w.ctx))(w)
	equal(w, "due", b.Count, 2)
	for _, p := range w.placements().Items {
		if p.Part || p.Content.ID != p.ID || len(p.Blobs) != 1 || p.Blobs[0].ContentID != p.ID {
			w.Errorf("subject %+v", p)
		}
	}
}

func placeUnqueued(w *world) {
	w.put("k", "body")
	equal(w, "due", len(w.placements().Items), 0)
	all := must(w.PlacedContents(w.ctx, "", 10))(w)
	equal(w, "all", len(all), 1)
	part := w.part(w.open("m"), 1, "part")
	named := must(w.Placed(w.ctx, []ledger.Subject{{ID: part.BlobID, Part: true, Leave: "a"}, {ID: all[0].ID}, {ID: w.id()}}))(w)
	if len(named) != 3 || len(named[0].Blobs) != 1 || named[0].Leave != "a" || named[1].Content.ID != all[0].ID || len(named[1].Blobs) != 1 || len(named[2].Blobs) != 0 {
		w.Errorf("subjects %+v", named)
	}
	equal(w, "due", len(w.placements().Items), 0)
}

func placeNamed(w *world) {
	w.put("k", "body")
	w.put("l", "other body")
	w.put("m", "one more body")
	queued := func(q ledger.PlacementQuery) []ledger.QueuedPlacement { return must(w.QueuedPlacements(w.ctx, q))(w) }
	all := queued(ledger.PlacementQuery{Limit: 10})
	equal(w, "queued", len(all), 3)
	first := queued(ledger.PlacementQuery{Limit: 2})
	rest := queued(ledger.PlacementQuery{Limit: 2, After: ledger.DueMark{Due: first[1].DueAt, Name: string(first[1].ID)}})
	equal(w, "in pages", slices.Equal(slices.Concat(first, rest), all), true)
	claimed := must(w.ClaimPlacements(w.ctx, ledger.PlacementClaim{Worker: "w", Limit: 10, Lease: lease, Only: []lethe.ID{all[1].ID, w.id()}}))(w)
	if len(claimed.Items) != 1 || claimed.Items[0].ID != all[1].ID || len(claimed.Items[0].Blobs) != 1 {
		w.Errorf("claimed %+v", claimed.Items)
	}
	equal(w, "due", len(queued(ledger.PlacementQuery{Limit: 10})), 2)
	named := queued(ledger.PlacementQuery{Only: []lethe.ID{all[1].ID, w.id()}})
	if len(named) != 1 || named[0].Fence != claimed.Fence || named[0].DueAt != claimed.Now.Add(lease) {
		w.Errorf("named %+v", named)
	}
	none := must(w.ClaimPlacements(w.ctx, ledger.PlacementClaim{Worker: "w", Limit: 10, Lease: lease, Only: []lethe.ID{}}))(w)
	equal(w, "of none", len(none.Items), 0)
	equal(w, "none named", len(queued(ledger.PlacementQuery{Only: []lethe.ID{}})), 0)
	equal(w, "left", len(w.placements().Items), 2)
}

func placeClaims(w *world) {
	w.put("k", "body")
	p, fence := w.misplaced()
	equal(w, "due", len(w.placements().Items), 0)
	equal(w, "scheduled", must(w.PlaceBacklog(w.ctx))(w).Scheduled, 1)
	w.later(lease - time.Second)
	w.ok(w.KeepPlacement(w.ctx, p.ID, fence, lease))
	w.later(lease - time.Second)
	equal(w, "due while kept", len(w.placements().Items), 0)
	w.later(time.Second)
	q, other := w.misplaced()
	w.fails(w.KeepPlacement(w.ctx, p.ID, fence, lease), lethe.ErrFenced)
	w.fails(w.KeepPlacement(w.ctx, p.ID, 0, lease), lethe.ErrFenced)
	if q.ID != p.ID || other <= fence {
		w.Fatalf("claimed %s under %d, then %s under %d", p.ID, fence, q.ID, other)
	}
	done := []ledger.PlacementResult{{ID: p.ID, Done: true}}
	equal(w, "fenced", must(w.SettlePlacements(w.ctx, fence, done))(w), 1)
	equal(w, "fenced", must(w.SettlePlacements(w.ctx, 0, done))(w), 1)
	equal(w, "fenced", must(w.SettlePlacements(w.ctx, other, done))(w), 0)
	w.later(24 * time.Hour)
	equal(w, "left", len(w.placements().Items), 0)
}

func placeAgain(w *world) {
	w.put("k", "body")
	p, fence := w.misplaced()
	must(w.MarkSuspect(w.ctx, []lethe.ID{p.Blobs[0].ID}, "missing"))(w)
	equal(w, "fenced", must(w.SettlePlacements(w.ctx, fence, []ledger.PlacementResult{{ID: p.ID, Done: true}}))(w), 1)
	q, _ := w.misplaced()
	if q.ID != p.ID || !q.Blobs[0].Suspect {
		w.Fatalf("subject %+v", q)
	}
}

func placeRetries(w *world) {
	w.put("k", "body")
	p, fence := w.misplaced()
	at := w.now().Add(time.Minute)
	equal(w, "fenced", must(w.SettlePlacements(w.ctx, fence, []ledger.PlacementResult{{ID: p.ID, RetryAt: at, Error: "no room"}}))(w), 0)
	equal(w, "due", len(w.placements().Items), 0)
	w.later(time.Minute)
	p, fence = w.misplaced()
	equal(w, "attempts", p.Attempts, 1)
	must(w.SettlePlacements(w.ctx, fence, []ledger.PlacementResult{{ID: p.ID, RetryAt: w.now()}}))(w)
	p, _ = w.misplaced()
	equal(w, "attempts", p.Attempts, 1)
	w.remove("k")
	w.later(lease)
	p, _ = w.misplaced()
	if p.Content.ID != "" || len(p.Blobs) != 0 {
		w.Fatalf("the content is gone, but there is %+v", p)
	}
}

func placeOnce(w *world) {
	w.put("k", "body")
	id := w.onlyBlob("k").ContentID
	equal(w, "queued", must(w.QueuePlacements(w.ctx, []ledger.Subject{{ID: id, Leave: disk}}))(w), 1)
	equal(w, "queued", must(w.QueuePlacements(w.ctx, []ledger.Subject{{ID: id}}))(w), 0)
	p, _ := w.misplaced()
	equal(w, "leave", p.Leave, disk)
	equal(w, "queued", must(w.QueuePlacements(w.ctx, []ledger.Subject{{ID: id}}))(w), 0)
}

func copied(w *world) {
	a, b, _ := w.twice("k", "body")
	if b.State != lethe.Live || b.Backend != tape || b.ContentID != a.ContentID || b.Digest != a.Digest || b.Replica == a.Replica || b.VerifiedAt != 0 {
		w.Fatalf("copy %+v of %+v", b, a)
	}
	equal(w, "copies", len(must(w.Resolve(w.ctx, bucketName, "k"))(w).Segments[0].Blobs), 2)
	w.sound()
	w.remove("k")
	for _, id := range []lethe.ID{a.ID, b.ID} {
		equal(w, "state", w.row(id).State, lethe.Condemned)
	}
}

func copyOfNothing(w *world) {
	w.tapes()
	w.put("k", "body")
	p, fence := w.misplaced()
	src := p.Blobs[0].ID
	b := w.copying(src, fence)
	w.remove("k")
	w.unchanged(func() {
		w.fails(w.commitCopy(b, src, fence), lethe.ErrContentGone)
		again := ledger.CopyIntent{ID: w.id(), Backend: tape, Source: src, Fence: fence, Lease: lease}
		w.fails(refused(w.BeginCopy(w.ctx, again)), lethe.ErrContentGone)
	})
}

func copyOfOtherBytes(w *world) {
	w.tapes()
	w.put("k", "body")
	p, fence := w.misplaced()
	b := w.copying(p.Blobs[0].ID, fence)
	b.Digest = sum("other")
	w.unchanged(func() { w.fails(w.commitCopy(b, p.Blobs[0].ID, fence), lethe.ErrDigestMismatch) })
}

func copyFenced(w *world) {
	w.tapes()
	w.put("k", "body")
	p, fence := w.misplaced()
	src := p.Blobs[0].ID
	b := w.copying(src, fence)
	w.later(lease)
	w.misplaced()
	w.unchanged(func() {
		w.fails(w.commitCopy(b, src, fence), lethe.ErrFenced)
		w.fails(refused(w.BeginCopy(w.ctx, ledger.CopyIntent{ID: w.id(), Backend: tape, Source: src, Fence: fence, Lease: lease})), lethe.ErrFenced)
		w.fails(refused(w.TrimCopies(w.ctx, ledger.Trim{Content: p.ID, Reason: lethe.ReasonSurplus, Fence: fence, Lease: lease})), lethe.ErrFenced)
		w.fails(refused(w.TrimCopies(w.ctx, ledger.Trim{Content: p.ID, Reason: lethe.ReasonSurplus, Lease: lease})), lethe.ErrFenced)
	})
}

func copyReaped(w *world) {
	w.tapes()
	w.put("k", "body")
	p, fence := w.misplaced()
	b := w.copying(p.Blobs[0].ID, fence)
	w.later(2 * time.Minute)
	in := must(w.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "r", MinAge: time.Minute}))(w)
	equal(w, "silent", len(in.Intents), 1)
	w.unchanged(func() { w.fails(w.commitCopy(b, p.Blobs[0].ID, fence), lethe.ErrReaped) })
	w.ok(w.CondemnIntent(w.ctx, in.Fence, b.ID))
	w.sound()
}

func copyDies(w *world) {
	w.tapes()
	w.put("k", "body")
	p, fence := w.misplaced()
	b := w.copying(p.Blobs[0].ID, fence)
	w.remove("k")
	row := w.row(b.ID)
	if row.State != lethe.Condemned || row.LateUntil != w.now().Add(lateWindow) {
		w.Fatalf("the copy is %+v", row)
	}
}

func copyOfPart(w *world) {
	w.tapes()
	u := w.open("m")
	name := w.part(u, 1, "part")
	old := must(w.Parts(w.ctx, u.ID, 0, 0))(w)[0].BlobID
	must(w.QueuePlacements(w.ctx, []ledger.Subject{{ID: old, Part: true}}))(w)
	p, fence := w.misplaced()
	if !p.Part || len(p.Blobs) != 1 || p.Blobs[0].ID != old {
		w.Fatalf("subject %+v", p)
	}
	b := w.copying(old, fence)
	w.sound()
	w.ok(w.commitCopy(b, old, fence))
	equal(w, "state", w.row(old).State, lethe.Condemned)
	equal(w, "reason", w.row(old).Reason, lethe.ReasonRebalance)
	w.sound()
	w.finish(u, "whole", name)
	equal(w, "bytes of", w.onlyBlob("m").ID, b.ID)
}

func copyOfOldPart(w *world) {
	w.tapes()
	u := w.open("m")
	w.part(u, 1, "part")
	old := must(w.Parts(w.ctx, u.ID, 0, 0))(w)[0].BlobID
	must(w.QueuePlacements(w.ctx, []ledger.Subject{{ID: old, Part: true}}))(w)
	_, fence := w.misplaced()
	b := w.copying(old, fence)
	w.part(u, 1, "another part")
	w.unchanged(func() { w.fails(w.commitCopy(b, old, fence), lethe.ErrContentGone) })
	w.ok(w.AbortUpload(w.ctx, w.id(), bucketName, "m", u.ID))
	equal(w, "state", w.row(b.ID).State, lethe.Condemned)
}

func trimmed(w *world) {
	a, b, fence := w.twice("k", "body")
	must(w.MarkSound(w.ctx, []lethe.ID{b.ID}, 0))(w)
	trim := ledger.Trim{Content: a.ContentID, Blobs: []lethe.ID{a.ID, w.id()}, Reason: lethe.ReasonSurplus, Fence: fence, Lease: lease}
	equal(w, "trimmed", must(w.TrimCopies(w.ctx, trim))(w), 1)
	row := w.row(a.ID)
	if row.State != lethe.Condemned || row.Reason != lethe.ReasonSurplus || row.DueAt != w.now().Add(readGrace) {
		w.Fatalf("trimmed copy %+v", row)
	}
	equal(w, "left", w.onlyBlob("k").ID, b.ID)
	equal(w, "trimmed", must(w.TrimCopies(w.ctx, trim))(w), 0)
	w.sound()
}

func trimBesideNothing(w *world) {
	a, b, fence := w.twice("k", "body")
	trim := ledger.Trim{Content: a.ContentID, Blobs: []lethe.ID{a.ID}, Reason: lethe.ReasonSurplus, Fence: fence, Lease: lease}
	w.unchanged(func() { w.fails(refused(w.TrimCopies(w.ctx, trim)), lethe.ErrPreconditionFailed) })
	must(w.MarkSound(w.ctx, []lethe.ID{a.ID, b.ID}, 0))(w)
	both := trim
	both.Blobs = []lethe.ID{a.ID, b.ID}
	w.unchanged(func() { w.fails(refused(w.TrimCopies(w.ctx, both)), lethe.ErrPreconditionFailed) })
	must(w.MarkSuspect(w.ctx, []lethe.ID{b.ID}, "missing"))(w)
	w.unchanged(func() { w.fails(refused(w.TrimCopies(w.ctx, trim)), lethe.ErrPreconditionFailed) })
}

func doubted(w *world) {
	w.put("k", "body")
	id := []lethe.ID{w.onlyBlob("k").ID}
	suspect := func() int {
		must(w.MarkSuspect(w.ctx, id, "x"))(w)
		return len(w.placements().Items)
	}
	sound := func() int {
		must(w.MarkSound(w.ctx, id, 0))(w)
		return len(w.placements().Items)
	}
	equal(w, "due when sound as before", sound(), 0)
	equal(w, "due when suspect", suspect(), 1)
	equal(w, "due when suspect as before", suspect(), 0)
	equal(w, "due when sound again", sound(), 1)
	must(w.MarkSuspect(w.ctx, id, "x"))(w)
	w.placements()
	w.put("again", "body")
	equal(w, "due when joined", len(w.placements().Items), 1)
}

func draining(w *world) {
	u := w.begin("begun before")
	w.fails(w.SetDraining(w.ctx, "nowhere", true), lethe.ErrBackendMismatch)
	w.ok(w.SetDraining(w.ctx, disk, true))
	equal(w, "draining", must(w.Backends(w.ctx))(w)[0].Draining, true)
	w.unchanged(func() {
		w.fails(refused(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: disk, Size: 1})), lethe.ErrNoRoom)
	})
	w.ok(w.Beat(w.ctx, u, 100))
	must(w.AddBackend(w.ctx, ledger.Backend{ID: disk, Quota: 1000}))(w)
	equal(w, "draining", must(w.Backends(w.ctx))(w)[0].Draining, true)
	w.ok(w.SetDraining(w.ctx, disk, false))
	w.begin("after")
}

func removal(w *world) {
	w.put("k", "body")
	w.fails(w.RemoveBackend(w.ctx, "nowhere"), lethe.ErrBackendMismatch)
	w.unchanged(func() { w.fails(w.RemoveBackend(w.ctx, disk), lethe.ErrBackendInUse) })
	w.ok(w.SetDraining(w.ctx, disk, true))
	w.unchanged(func() { w.fails(w.RemoveBackend(w.ctx, disk), lethe.ErrBackendInUse) })
	w.remove("k")
	w.unchanged(func() { w.fails(w.RemoveBackend(w.ctx, disk), lethe.ErrBackendInUse) })
	w.later(2 * lateWindow)
	w.clean()
	must(w.DoubtClock(w.ctx, disk, "it is an hour ahead"))(w)
	w.ok(w.AllowBeyondLimit(w.ctx, ledger.Allowance{Kind: ledger.LimitDeletes, Subject: disk, Until: w.now().Add(time.Hour), N: 1}))
	w.ok(w.RemoveBackend(w.ctx, disk))
	equal(w, "backends", len(must(w.Backends(w.ctx))(w)), 0)
	equal(w, "totals", len(must(w.Totals(w.ctx))(w)), 0)
	equal(w, "what was stopped and doubted", len(must(w.LimitStates(w.ctx))(w)), 0)
}
