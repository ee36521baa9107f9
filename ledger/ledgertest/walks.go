package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const orphanGrace = 48 * time.Hour

func walkTests() []test {
	return []test{
		{name: "a walk", run: walks},
		{name: "a walk that was cut off", run: walkCutOff},
		{name: "pages of blobs", run: stubs},
		{name: "findings", run: findings},
		{name: "findings are bounded", run: findingsBounded},
		{name: "findings that are not seen again", run: findingsForgotten},
		{name: "orphans", run: orphans},
		{name: "orphans are refused", run: orphansRefused},
		{name: "orphans that are not ripe", run: orphansUnripe},
		{name: "orphans with a row", run: orphansExplained},
		{name: "what depends on a blob", run: standings},
		{name: "walks over what is removed", run: walksRemoved},
	}
}

// walkOver begins a walk over the disk.
func (w *world) walkOver() ledger.Walk {
	w.Helper()
	return must(w.BeginWalk(w.ctx, ledger.WalkStart{ID: w.id(), Backend: disk, GiveUp: 24 * time.Hour}))(w)
}

// sees records findings of one kind.
func (w *world) sees(walk ledger.Walk, kind ledger.FindingKind, keys ...string) {
	w.Helper()
	s := ledger.Sighting{Walk: walk.ID}
	for _, k := range keys {
		s.Findings = append(s.Findings, ledger.Finding{Key: k, Kind: kind, Size: 7, Detail: "detail"})
	}
	equal(w, "recorded", must(w.Sight(w.ctx, s))(w), len(keys))
}

// whole ends the comparison of a walk.
func (w *world) whole(walk ledger.Walk) {
	w.Helper()
	w.ok(w.SaveWalk(w.ctx, ledger.WalkStep{ID: walk.ID, From: walk.Place, To: ledger.WalkDone}))
}

// walked is a whole walk that saw orphans.
func (w *world) walked(keys ...string) ledger.Walk {
	w.Helper()
	walk := w.walkOver()
	w.sees(walk, ledger.FoundOrphan, keys...)
	w.whole(walk)
	return walk
}

func (w *world) endWalk(walk ledger.Walk) ledger.WalkEnded {
	w.Helper()
	return must(w.FinishWalk(w.ctx, ledger.WalkEnd{ID: walk.ID, Outcome: "ok"}))(w)
}

func (w *world) findings(q ledger.FindingQuery) string {
	w.Helper()
	return plain(must(w.Findings(w.ctx, q))(w))
}

// orphanKey is the key of a blob that never had a row.
func (w *world) orphanKey() string { return lethe.BlobKey(must(w.Identity(w.ctx))(w).ID, w.id()) }

func (w *world) condemns(walk ledger.Walk) ledger.Orphans {
	w.Helper()
	return must(w.CondemnOrphans(w.ctx, ledger.OrphanRequest{Walk: walk.ID, Backend: disk, Grace: orphanGrace}))(w)
}

func walks(w *world) {
	walk := w.walkOver()
	equal(w, "walk", plain(walk), plain(ledger.Walk{ID: walk.ID, Backend: disk, StartedAt: w.now(), SavedAt: w.now()}))
	begun := w.now()
	w.later(time.Minute)
	place := w.id()
	w.ok(w.SaveWalk(w.ctx, ledger.WalkStep{ID: walk.ID, To: place, Counts: map[string]int64{"keys": 3}}))
	w.fails(w.SaveWalk(w.ctx, ledger.WalkStep{ID: walk.ID, To: ledger.WalkDone}), lethe.ErrFenced)
	again := w.walkOver()
	equal(w, "taken up", plain(again), plain(ledger.Walk{
		ID: walk.ID, Backend: disk, StartedAt: begun, SavedAt: w.now(), Place: place, Counts: map[string]int64{"keys": 3},
	}))
	ended := must(w.FinishWalk(w.ctx, ledger.WalkEnd{ID: walk.ID, Outcome: "ok", Counts: map[string]int64{"keys": 4}}))(w)
	equal(w, "ended", ended, ledger.WalkEnded{})
	w.fails(refused(w.FinishWalk(w.ctx, ledger.WalkEnd{ID: walk.ID})), lethe.ErrFenced)
	w.fails(w.SaveWalk(w.ctx, ledger.WalkStep{ID: walk.ID, From: place, To: ledger.WalkDone}), lethe.ErrFenced)
	list := must(w.Walks(w.ctx, disk, 1))(w)
	again.FinishedAt, again.Outcome, again.Counts = w.now(), "ok", map[string]int64{"keys": 4}
	equal(w, "walks", plain(list), plain([]ledger.Walk{again}))
	w.fails(refused(w.BeginWalk(w.ctx, ledger.WalkStart{ID: w.id(), Backend: "nowhere"})), lethe.ErrBackendMismatch)
	for range 40 {
		w.later(time.Minute)
		w.endWalk(w.walkOver())
	}
	equal(w, "kept", len(must(w.Walks(w.ctx, disk, 0))(w)), 31)
}

func walkCutOff(w *world) {
	old := w.walkOver()
	w.later(24*time.Hour - time.Second)
	equal(w, "taken up", w.walkOver().ID, old.ID)
	w.later(time.Second)
	fresh := w.walkOver()
	if fresh.ID == old.ID {
		w.Fatal("it was taken up after a day")
	}
	w.fails(w.SaveWalk(w.ctx, ledger.WalkStep{ID: old.ID, To: ledger.WalkDone}), lethe.ErrFenced)
	list := must(w.Walks(w.ctx, disk, 0))(w)
	equal(w, "walks", names(list, func(m ledger.Walk) string { return string(m.ID) }), string(fresh.ID+";"+old.ID+";"))
	equal(w, "given up", list[1].FinishedAt, w.now())
}

func stubs(w *world) {
	w.put("k", "live")
	w.later(time.Second)
	w.begin("pending")
	all := must(w.BlobStubs(w.ctx, "", 10))(w)
	equal(w, "stubs", len(all), 2)
	equal(w, "first", all[0], ledger.Stub{ID: w.onlyBlob("k").ID, Backend: disk, State: lethe.Live, Size: 4})
	equal(w, "page", plain(must(w.BlobStubs(w.ctx, "", 1))(w)), plain(all[:1]))
	equal(w, "next page", plain(must(w.BlobStubs(w.ctx, all[0].ID, 1))(w)), plain(all[1:]))
}

func findings(w *world) {
	walk := w.walkOver()
	w.sees(walk, ledger.FoundOrphan, "b", "a")
	first := w.now()
	w.sees(walk, ledger.FoundForeign, "c")
	want := func(key string, kind ledger.FindingKind, at lethe.Time) ledger.Finding {
		return ledger.Finding{
			Backend: disk, Key: key, Kind: kind, Size: 7, Detail: "detail",
			FirstAt: at, LastAt: w.now(), FirstWalk: walk.ID, LastWalk: walk.ID,
		}
	}
	a, b, c := want("a", ledger.FoundOrphan, first), want("b", ledger.FoundOrphan, first), want("c", ledger.FoundForeign, first)
	equal(w, "findings", w.findings(ledger.FindingQuery{}), plain([]ledger.Finding{a, b, c}))
	equal(w, "of a kind", w.findings(ledger.FindingQuery{Kind: ledger.FoundForeign, Backend: disk}), plain([]ledger.Finding{c}))
	equal(w, "page", w.findings(ledger.FindingQuery{AfterBackend: disk, AfterKey: "a", Limit: 1}), plain([]ledger.Finding{b}))
	equal(w, "elsewhere", w.findings(ledger.FindingQuery{Backend: "tape"}), plain([]ledger.Finding(nil)))
	w.later(time.Minute)
	w.sees(walk, ledger.FoundOrphan, "a", "c")
	a, c = want("a", ledger.FoundOrphan, first), want("c", ledger.FoundOrphan, w.now())
	equal(w, "seen again", w.findings(ledger.FindingQuery{}), plain([]ledger.Finding{a, b, c}))
	w.endWalk(walk)
	w.fails(refused(w.Sight(w.ctx, ledger.Sighting{Walk: walk.ID, Findings: []ledger.Finding{a}})), lethe.ErrFenced)
}

func findingsBounded(w *world) {
	walk := w.walkOver()
	s := ledger.Sighting{Walk: walk.ID, Limit: 3}
	for i := range 5 {
		s.Findings = append(s.Findings, ledger.Finding{Key: fmt.Sprint(i), Kind: ledger.FoundForeign})
	}
	equal(w, "recorded", must(w.Sight(w.ctx, s))(w), 3)
	equal(w, "recorded again", must(w.Sight(w.ctx, s))(w), 3)
	equal(w, "findings", len(must(w.Findings(w.ctx, ledger.FindingQuery{}))(w)), 3)
	equal(w, "nothing", must(w.Sight(w.ctx, ledger.Sighting{Walk: walk.ID}))(w), 0)
}

// findingsForgotten: a whole walk forgets what it did not come upon; what it had
// found missing, and of which there is a sound copy, is healed.
func findingsForgotten(w *world) {
	w.put("k", "body")
	content, id := w.get("k").Object.ContentID, w.onlyBlob("k").ID
	walk := w.walkOver()
	w.sees(walk, ledger.FoundForeign, "f")
	missing := []ledger.Finding{
		{Key: "m", Kind: ledger.FoundMissing, Content: content}, {Key: "n", Kind: ledger.FoundSize, Content: content, Segment: 1},
		{Key: "o", Kind: ledger.FoundMissing},
	}
	must(w.Sight(w.ctx, ledger.Sighting{Walk: walk.ID, Findings: missing}))(w)
	w.whole(walk)
	equal(w, "ended", w.endWalk(walk), ledger.WalkEnded{})
	w.later(time.Second)
	cut := w.walkOver()
	equal(w, "not whole", w.endWalk(cut), ledger.WalkEnded{})
	must(w.MarkSuspect(w.ctx, []lethe.ID{id}, "x"))(w)
	w.later(time.Second)
	again := w.walkOver()
	must(w.Sight(w.ctx, ledger.Sighting{Walk: again.ID, Findings: missing}))(w)
	w.whole(again)
	equal(w, "seen again", w.endWalk(again), ledger.WalkEnded{Gone: 1})
	must(w.MarkSound(w.ctx, []lethe.ID{id}, 0))(w)
	w.later(time.Second)
	last := w.walkOver()
	w.whole(last)
	equal(w, "healed", w.endWalk(last), ledger.WalkEnded{Healed: 1, Gone: 2})
	equal(w, "counted", must(w.Walks(w.ctx, disk, 1))(w)[0].Counts["healed"], 1)
	equal(w, "findings", len(must(w.Findings(w.ctx, ledger.FindingQuery{}))(w)), 0)
}

func orphans(w *world) {
	w.ok(w.SetEpoch(w.ctx, disk, 4, 4))
	keys := []string{w.orphanKey(), w.orphanKey(), w.orphanKey()}
	w.endWalk(w.walked(keys...))
	w.later(orphanGrace)
	walk := w.walked(keys...)
	r := ledger.OrphanRequest{Walk: walk.ID, Backend: disk, Epoch: 4, Grace: orphanGrace, Limit: 2}
	r.Only = []string{}
	equal(w, "none of them", must(w.CondemnOrphans(w.ctx, r))(w).Seen, 0)
	r.Only = []string{keys[1], w.orphanKey()}
	only := must(w.CondemnOrphans(w.ctx, r))(w)
	equal(w, "only this", only.Seen, 1)
	equal(w, "only this", lethe.BlobKey(must(w.Identity(w.ctx))(w).ID, only.Blobs[0].ID), keys[1])
	r.Only, r.Limit = nil, 1
	one := must(w.CondemnOrphans(w.ctx, r))(w)
	equal(w, "seen", one.Seen, 1)
	r.After = one.Last
	two := must(w.CondemnOrphans(w.ctx, r))(w)
	equal(w, "condemned", len(only.Blobs)+len(one.Blobs)+len(two.Blobs), 3)
	b := w.row(two.Blobs[0].ID)
	equal(w, "row", b, ledger.Blob{
		ID: b.ID, Backend: disk, State: lethe.Condemned, Size: 7, Reason: lethe.ReasonOrphan,
		CreatedAt: w.now(), BeatAt: w.now(), DiedAt: w.now(), DueAt: w.now(),
	})
	equal(w, "answered", two.Blobs[0], b)
	w.sound()
	w.totals(0, 0, 3, 0)
	equal(w, "findings", len(must(w.Findings(w.ctx, ledger.FindingQuery{}))(w)), 0)
	equal(w, "no more", w.orphansLeft(r), 0)
	equal(w, "deleted", w.clean().Gone, 3)
	w.totals(0, 0, 0, 0)
}

func (w *world) orphansLeft(r ledger.OrphanRequest) int {
	w.Helper()
	r.After = ""
	return must(w.CondemnOrphans(w.ctx, r))(w).Seen
}

func orphansRefused(w *world) {
	w.ok(w.SetEpoch(w.ctx, disk, 4, 4))
	key := w.orphanKey()
	w.endWalk(w.walked(key))
	w.later(orphanGrace)
	walk := w.walkOver()
	w.sees(walk, ledger.FoundOrphan, key)
	r := ledger.OrphanRequest{Walk: walk.ID, Backend: disk, Epoch: 4, Grace: orphanGrace}
	try := func() error { return refused(w.CondemnOrphans(w.ctx, r)) }
	w.unchanged(func() { w.fails(try(), lethe.ErrFenced) }) // not all was compared
	w.whole(walk)
	w.ok(w.HoldBackend(w.ctx, disk, "why"))
	w.unchanged(func() { w.fails(try(), lethe.ErrBackendMismatch) })
	w.ok(w.HoldBackend(w.ctx, disk, ""))
	w.ok(w.SetEpoch(w.ctx, disk, 5, 4))
	w.unchanged(func() { w.fails(try(), lethe.ErrFenced) })
	w.ok(w.SetEpoch(w.ctx, disk, 5, 5))
	w.unchanged(func() { w.fails(try(), lethe.ErrFenced) })
	r.Epoch = 5
	w.later(-2 * time.Minute)
	w.unchanged(func() { w.fails(try(), lethe.ErrClock) }) // the machine's clock ran back
	w.later(2 * time.Minute)
	must(w.AddBackend(w.ctx, ledger.Backend{ID: "tape"}))(w)
	r.Backend = "tape"
	w.unchanged(func() { w.fails(try(), lethe.ErrFenced) })
	r.Backend = "nowhere"
	w.unchanged(func() { w.fails(try(), lethe.ErrBackendMismatch) })
	r.Backend = disk
	w.endWalk(walk)
	w.unchanged(func() { w.fails(try(), lethe.ErrFenced) })
}

// orphansUnripe: too young, seen by one walk only, not seen by this one, of a name
// that is too young, or no orphan's.
func orphansUnripe(w *world) {
	old, unseen := w.orphanKey(), w.orphanKey()
	first := w.walkOver()
	w.sees(first, ledger.FoundOrphan, old, unseen)
	w.sees(first, ledger.FoundForeign, "foreign")
	w.whole(first)
	equal(w, "seen once", w.condemns(first).Seen, 0)
	w.later(orphanGrace)
	equal(w, "seen by one walk", w.condemns(first).Seen, 0)
	w.endWalk(first)
	young, late := w.orphanKey(), w.orphanKey()
	second := w.walkOver()
	w.sees(second, ledger.FoundOrphan, old, young)
	w.sees(second, ledger.FoundForeign, "foreign")
	w.whole(second)
	got := w.condemns(second)
	equal(w, "condemned", len(got.Blobs), 1)
	equal(w, "the old one", lethe.BlobKey(must(w.Identity(w.ctx))(w).ID, got.Blobs[0].ID), old)
	w.endWalk(second)
	w.later(orphanGrace - time.Second)
	third := w.walked(young, late)
	equal(w, "condemned", len(w.condemns(third).Blobs), 0)
	w.endWalk(third)
	w.totals(0, 0, 1, 0)
}

func orphansExplained(w *world) {
	id := w.begin("written after all")
	key := lethe.BlobKey(must(w.Identity(w.ctx))(w).ID, id)
	w.endWalk(w.walked(key))
	w.later(orphanGrace)
	walk := w.walked(key)
	got := w.condemns(walk)
	equal(w, "condemned", len(got.Blobs), 0)
	equal(w, "explained", got.Explained, 1)
	w.in(id, lethe.Pending)
	equal(w, "findings", len(must(w.Findings(w.ctx, ledger.FindingQuery{}))(w)), 0)
}

func standings(w *world) {
	w.put("a", "shared")
	w.put("b", "shared")
	w.bucket("kept", ledger.BucketSettings{Undo: time.Hour})
	c := w.written("c", "shared")
	c.Object.Bucket = "kept"
	w.commit(c)
	d := ledger.Deletion{Op: w.id(), Bucket: "kept", Items: []ledger.DeleteItem{{Key: "c"}}}
	must(w.Delete(w.ctx, d))(w)
	u := w.open("m")
	part := w.part(u, 1, "part")
	id := w.onlyBlob("a").ID
	all := must(w.Standings(w.ctx, []lethe.ID{part.BlobID, id, w.begin("pending"), w.id()}, 9))(w)
	equal(w, "live", len(all), 2)
	for _, s := range all {
		want := "[bucket/a bucket/b kept/c (in the trash)]"
		if s.Blob.ID == part.BlobID {
			want = "[bucket/m (an upload under way)]"
		}
		equal(w, "objects", fmt.Sprint(s.Objects), want)
		equal(w, "copies", s.Copies, 0)
		equal(w, "more", s.More, false)
	}
	few := must(w.Standings(w.ctx, []lethe.ID{id}, 1))(w)
	equal(w, "objects", fmt.Sprint(few[0].Objects, few[0].More), "[bucket/a] true")
	w.broken(refused(w.Standings(w.ctx, nil, 0)))
}

func walksRemoved(w *world) {
	w.tapes()
	walk := must(w.BeginWalk(w.ctx, ledger.WalkStart{ID: w.id(), Backend: tape}))(w)
	w.sees(walk, ledger.FoundForeign, "f")
	w.ok(w.SetDraining(w.ctx, tape, true))
	w.ok(w.RemoveBackend(w.ctx, tape))
	equal(w, "walks", len(must(w.Walks(w.ctx, tape, 0))(w)), 0)
	equal(w, "findings", len(must(w.Findings(w.ctx, ledger.FindingQuery{}))(w)), 0)
}
