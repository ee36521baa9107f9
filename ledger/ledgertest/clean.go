package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func cleanTests() []test {
	return []test{
		{name: "claims what is due", run: claimDue},
		{name: "claims are disjoint", run: claimsDisjoint},
		{name: "claims resume", run: claimsResume},
		{name: "held backends", run: claimHeld},
		{name: "gone and absent", run: settleGone},
		{name: "failed", run: settleFailed},
		{name: "waits", run: settleWaits},
		{name: "fenced", run: settleFenced},
		{name: "no result", run: settleNothing},
		{name: "a delete before the late window ended", run: settleLate},
		{name: "taken back", run: recoverClaims},
		{name: "backlog", run: cleanBacklog},
		{name: "dead letters", run: deadLetters},
		{name: "dead letters are chosen", run: chosenLetters},
		{name: "requeue", run: requeue},
		{name: "write off", run: writeOff},
		{name: "write off what may land", run: writeOffLate},
	}
}

// corpses returns abandoned blobs, due a second apart from now on.
func (w *world) corpses(n int) []lethe.ID {
	w.Helper()
	var ids []lethe.ID
	for i := range n {
		id := w.begin(fmt.Sprint("corpse ", i))
		w.ok(w.Abandon(w.ctx, id, false))
		w.later(time.Second)
		ids = append(ids, id)
	}
	return ids
}

func blobIDs(list []ledger.Blob) (ids []lethe.ID) {
	for _, b := range list {
		ids = append(ids, b.ID)
	}
	return ids
}

func claimDue(w *world) {
	w.put("k", "body")
	id := w.onlyBlob("k").ID
	w.remove("k")
	died, due := w.now(), w.now().Add(readGrace)
	w.later(readGrace - time.Microsecond)
	c := w.claim()
	if len(c.Blobs) != 0 || c.Fence != 0 || c.Now != w.now() {
		w.Fatalf("claimed %+v", c)
	}
	w.later(time.Second)
	c = w.claim()
	if len(c.Blobs) != 1 || c.Blobs[0].ID != id || c.Fence == 0 || c.LastDue != due || c.Now != w.now() {
		w.Fatalf("claimed %+v", c)
	}
	equal(w, "row", w.row(id), c.Blobs[0])
	equal(w, "claim", c.Blobs[0].Claim, ledger.Claim{Worker: "cleaner", Fence: c.Fence, At: w.now()})
	s := w.settle(c, ledger.SettleItem{Result: ledger.Gone})
	equal(w, "settled", plain(s), plain(ledger.Settled{Gone: 1, GoneBytes: 4, DiedAt: []lethe.Time{died}, Now: w.now()}))
	w.in(id, 0)
	w.totals(0, 0, 0, 0)
}

func claimsDisjoint(w *world) {
	w.corpses(5)
	seen := map[lethe.ID]bool{}
	last := int64(0)
	for _, want := range []int{2, 2, 1, 0} {
		c := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 2}))(w)
		equal(w, "claimed", len(c.Blobs), want)
		if want > 0 && c.Fence <= last {
			w.Fatalf("fence %d after %d", c.Fence, last)
		}
		last = c.Fence
		for _, id := range blobIDs(c.Blobs) {
			seen[id] = true
		}
	}
	equal(w, "claimed", len(seen), 5)
}

func claimsResume(w *world) {
	ids := w.corpses(4)
	c := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 2}))(w)
	equal(w, "claimed", fmt.Sprint(blobIDs(c.Blobs)), fmt.Sprint(ids[:2]))
	w.ok(refused(w.RecoverClaims(w.ctx, 0, 9)))
	c = must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 9, After: c.LastDue + 1}))(w)
	equal(w, "claimed", fmt.Sprint(blobIDs(c.Blobs)), fmt.Sprint(ids[2:]))
	after := c.LastDue + 1
	c = must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 9, After: after}))(w)
	equal(w, "last due", c.LastDue, after)
}

func claimHeld(w *world) {
	w.corpses(1)
	w.ok(w.HoldBackend(w.ctx, disk, "restored"))
	r := ledger.ClaimRequest{Worker: "w", Backend: disk, Limit: 1}
	w.unchanged(func() {
		w.fails(refused(w.ClaimCondemned(w.ctx, r)), lethe.ErrBackendMismatch)
		w.fails(refused(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: "nowhere", Limit: 1})), lethe.ErrBackendMismatch)
	})
	w.ok(w.HoldBackend(w.ctx, disk, ""))
	equal(w, "claimed", len(w.claim().Blobs), 1)
}

func settleGone(w *world) {
	ids := w.corpses(2)
	c := w.claim()
	s := must(w.Settle(w.ctx, ledger.Settlement{Fence: c.Fence, Items: []ledger.SettleItem{
		{ID: ids[1], Result: ledger.Absent}, {ID: ids[0], Result: ledger.Gone}, {ID: ids[0], Result: ledger.Gone},
	}}))(w)
	if s.Gone != 2 || s.Fenced != 1 || s.GoneBytes != 16 || len(s.DiedAt) != 2 || s.DiedAt[0] != s.DiedAt[1].Add(time.Second) {
		w.Fatalf("settled %+v", s)
	}
}

func settleFailed(w *world) {
	id := w.corpses(1)[0]
	retry := w.now().Add(time.Minute)
	s := w.settle(w.claim(), ledger.SettleItem{Result: ledger.Failed, Error: "no", RetryAt: retry})
	equal(w, "retried", s.Retried, 1)
	b := w.row(id)
	if b.Attempts != 1 || b.LastError != "no" || b.DueAt != retry || b.Claim != (ledger.Claim{}) || b.State != lethe.Condemned {
		w.Fatalf("blob is %+v", b)
	}
	equal(w, "claimed", len(w.claim().Blobs), 0)
	w.later(time.Minute)
	s = w.settle(w.claim(), ledger.SettleItem{Result: ledger.Failed, Error: "never", Dead: true, RetryAt: retry.Add(time.Hour)})
	equal(w, "dead", s.Dead, 1)
	b = w.row(id)
	if b.Attempts != 2 || b.LastError != "never" || b.State != lethe.Dead || b.Reason != lethe.ReasonUploadOrphan || b.Claim != (ledger.Claim{}) {
		w.Fatalf("blob is %+v", b)
	}
	w.totals(0, 0, 0, 1)
}

func settleWaits(w *world) {
	id := w.corpses(1)[0]
	retry := w.now().Add(time.Minute)
	s := w.settle(w.claim(), ledger.SettleItem{Result: ledger.Waits, Error: "down", RetryAt: retry})
	equal(w, "retried", s.Retried, 1)
	b := w.row(id)
	if b.Attempts != 0 || b.LastError != "down" || b.DueAt != retry || b.Claim != (ledger.Claim{}) {
		w.Fatalf("blob is %+v", b)
	}
	w.later(time.Minute)
	w.settle(w.claim(), ledger.SettleItem{Result: ledger.Waits, RetryAt: w.now()})
	equal(w, "error", w.row(id).LastError, "down")
}

// settleFenced: a worker that lost the claim, or never had it, changes nothing.
func settleFenced(w *world) {
	w.corpses(1)
	w.put("k", "live")
	old := w.claim()
	zombie := ledger.Claimed{Blobs: append(old.Blobs, ledger.Blob{ID: w.onlyBlob("k").ID}, ledger.Blob{ID: w.begin("pending")}, ledger.Blob{ID: w.id()})}
	w.later(time.Minute)
	must(w.RecoverClaims(w.ctx, time.Minute, 9))(w)
	check := func(fence int64) {
		w.Helper()
		zombie.Fence = fence
		w.unchanged(func() {
			for _, r := range []ledger.Result{ledger.Gone, ledger.Absent, ledger.Failed, ledger.Waits} {
				s := w.settle(zombie, ledger.SettleItem{Result: r, RetryAt: w.now(), Dead: true})
				equal(w, "settled", plain(s), plain(ledger.Settled{Fenced: 4, Now: w.now()}))
			}
		})
	}
	check(old.Fence)
	check(0)
	now := w.claim()
	check(old.Fence)
	check(now.Fence + 1)
	equal(w, "gone", w.settle(now, ledger.SettleItem{Result: ledger.Gone}).Gone, 1)
}

func settleNothing(w *world) {
	w.corpses(1)
	c := w.claim()
	w.unchanged(func() {
		w.broken(refused(w.Settle(w.ctx, ledger.Settlement{Fence: c.Fence, Items: []ledger.SettleItem{{ID: c.Blobs[0].ID}}})))
	})
	equal(w, "nothing", plain(must(w.Settle(w.ctx, ledger.Settlement{Fence: c.Fence}))(w)), plain(ledger.Settled{Now: w.now()}))
}

// settleLate: an upload may land after a delete that was issued within the late window,
// whenever that delete is settled (docs/protocol.md, rule 9).
func settleLate(w *world) {
	id := w.begin("body")
	w.ok(w.Abandon(w.ctx, id, true))
	until := w.now().Add(lateWindow)
	w.later(lateWindow - time.Second)
	c := w.claim()
	w.later(time.Hour)
	s := w.settle(c, ledger.SettleItem{Result: ledger.Gone})
	if s.Kept != 1 || s.Gone != 0 {
		w.Fatalf("settled %+v", s)
	}
	w.condemned(id, lethe.ReasonUploadOrphan, until)
	equal(w, "gone", w.clean().Gone, 1)
}

func recoverClaims(w *world) {
	w.corpses(3)
	silent := w.begin("silent")
	w.later(time.Minute)
	w.silent()
	c := w.claim()
	w.later(time.Minute - time.Microsecond)
	equal(w, "recovered", len(must(w.RecoverClaims(w.ctx, time.Minute, 9))(w)), 0)
	w.later(time.Microsecond)
	r := must(w.RecoverClaims(w.ctx, time.Minute, 2))(w)
	equal(w, "recovered", plain(r), plain([]ledger.Recovered{{Backend: disk, State: lethe.Pending, Claims: 1}, {Backend: disk, State: lethe.Condemned, Claims: 1}}))
	w.ok(w.Beat(w.ctx, silent, 0))
	r = must(w.RecoverClaims(w.ctx, time.Minute, 9))(w)
	equal(w, "recovered", plain(r), plain([]ledger.Recovered{{Backend: disk, State: lethe.Condemned, Claims: 2}}))
	again := w.claim()
	equal(w, "claimed", len(again.Blobs), 3)
	if again.Fence <= c.Fence {
		w.Fatalf("fence %d after %d", again.Fence, c.Fence)
	}
}

func cleanBacklog(w *world) {
	first := w.now()
	w.corpses(2)
	w.put("k", "body")
	w.remove("k")
	later := w.now().Add(readGrace)
	equal(w, "backlog", must(w.CleanBacklog(w.ctx, disk))(w), ledger.Backlog{Count: 2, Bytes: 16, Oldest: first, NextDue: later, Scheduled: 1})
	equal(w, "backlog", must(w.CleanBacklog(w.ctx, "nowhere"))(w), ledger.Backlog{})
	due := func(what, backend string, after lethe.Time, want bool) {
		w.Helper()
		equal(w, "due "+what, must(w.CondemnedDue(w.ctx, backend, after))(w), want)
	}
	due("at once", disk, 0, true)
	due("from then on", disk, first, true)
	due("since", disk, w.now()+1, false)
	due("nowhere", "nowhere", 0, false)
	c := w.claim()
	due("once claimed", disk, 0, false)
	equal(w, "backlog", must(w.CleanBacklog(w.ctx, disk))(w), ledger.Backlog{NextDue: later, Scheduled: 1})
	w.settle(c, ledger.SettleItem{Result: ledger.Failed, Dead: true})
	equal(w, "backlog", must(w.CleanBacklog(w.ctx, disk))(w), ledger.Backlog{NextDue: later, Scheduled: 1})
}

// letters returns dead letters.
func (w *world) letters(n int) []lethe.ID {
	w.Helper()
	ids := w.corpses(n)
	w.settle(w.claim(), ledger.SettleItem{Result: ledger.Failed, Error: "denied", Dead: true})
	return ids
}

func deadLetters(w *world) {
	ids := w.letters(3)
	w.corpses(1)
	page := func(q ledger.DeadQuery) string { return fmt.Sprint(w.deadIDs(q)) }
	equal(w, "all", page(ledger.DeadQuery{Limit: 9}), fmt.Sprint(ids))
	equal(w, "page", page(ledger.DeadQuery{After: ids[0], Limit: 1}), fmt.Sprint(ids[1:2]))
	equal(w, "backend", page(ledger.DeadQuery{Backend: disk, Reason: lethe.ReasonUploadOrphan, Limit: 9}), fmt.Sprint(ids))
	equal(w, "other backend", page(ledger.DeadQuery{Backend: "tape", Limit: 9}), "[]")
	equal(w, "other reason", page(ledger.DeadQuery{Reason: lethe.ReasonDelete, Limit: 9}), "[]")
	equal(w, "not due any more", len(w.claim().Blobs), 1)
}

func requeue(w *world) {
	ids := w.letters(2)
	live := w.begin("pending")
	w.later(time.Hour)
	equal(w, "requeued", must(w.Requeue(w.ctx, []lethe.ID{ids[0], live, w.id()}))(w), 1)
	b := w.row(ids[0])
	if b.State != lethe.Condemned || b.DueAt != w.now() || b.Attempts != 0 || b.LastError != "denied" || b.Reason != lethe.ReasonUploadOrphan {
		w.Fatalf("blob is %+v", b)
	}
	equal(w, "requeued", must(w.Requeue(w.ctx, ids[:1]))(w), 0)
	equal(w, "gone", w.clean().Gone, 1)
	w.totals(1, 0, 0, 1)
}

func writeOff(w *world) {
	ids := w.letters(2)
	alive := w.corpses(1)[0]
	w.put("k", "body")
	equal(w, "written off", must(w.WriteOff(w.ctx, []lethe.ID{ids[1], alive, w.onlyBlob("k").ID, ids[1]}))(w), 1)
	w.in(ids[1], 0)
	w.totals(0, 1, 1, 1)
}

// writeOffLate: the row of an upload that may still land stays; others can be written off
// meanwhile.
func writeOffLate(w *world) {
	other := w.letters(1)[0]
	id := w.begin("late")
	w.ok(w.Abandon(w.ctx, id, true))
	w.settle(w.claim(), ledger.SettleItem{Result: ledger.Failed, Error: "denied", Dead: true})
	equal(w, "written off", must(w.WriteOff(w.ctx, []lethe.ID{id, other}))(w), 1)
	w.in(other, 0)
	w.in(id, lethe.Dead)
	w.later(w.row(id).LateUntil.Sub(w.now()) - time.Microsecond)
	equal(w, "written off a moment before", must(w.WriteOff(w.ctx, []lethe.ID{id}))(w), 0)
	w.later(time.Microsecond)
	equal(w, "written off when it cannot land any more", must(w.WriteOff(w.ctx, []lethe.ID{id}))(w), 1)
	w.in(id, 0)
}
