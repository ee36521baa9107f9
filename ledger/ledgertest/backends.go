package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func backendTests() []test {
	return []test{
		{name: "identity", run: identityOf},
		{name: "backends", run: backends},
		{name: "epochs", run: epochs},
		{name: "holds", run: holds}, {name: "holds in doubt", run: holdsInDoubt},
		{name: "accepted backends", run: accepts},
		{name: "holds change as they were seen", run: changesHolds},
		{name: "the clock does not run back", run: clockBack},
		{name: "runs", run: runs},
		{name: "last runs", run: lastRuns},
		{name: "runs since", run: runsSince},
		{name: "interrupted runs", run: interruptRuns},
		{name: "old runs are pruned", run: pruneRuns},
		{name: "prune stops at its limit", run: pruneLimit},
	}
}

func identityOf(w *world) {
	s := must(w.Identity(w.ctx))(w)
	for _, id := range []lethe.ID{s.ID, s.DB} {
		_, err := lethe.ParseID(string(id))
		w.ok(err)
	}
	equal(w, "created", s.CreatedAt, w.now())
	w.later(time.Hour)
	equal(w, "identity", must(w.Identity(w.ctx))(w), s)
}

func backends(w *world) {
	b := must(w.AddBackend(w.ctx, ledger.Backend{ID: "a", Quota: 5}))(w)
	equal(w, "backend", b, ledger.Backend{ID: "a", Quota: 5, CreatedAt: w.now()})
	w.ok(w.SetEpoch(w.ctx, "a", 2, 1))
	w.ok(w.HoldBackend(w.ctx, "a", "why"))
	created := w.now()
	w.later(time.Hour)
	b = must(w.AddBackend(w.ctx, ledger.Backend{ID: "a", Quota: 6}))(w)
	equal(w, "backend", b, ledger.Backend{ID: "a", Quota: 6, Intended: 2, Epoch: 1, Held: "why", HeldFor: ledger.HeldByPerson, HeldSince: created, CreatedAt: created})
	all := must(w.Backends(w.ctx))(w)
	equal(w, "backends", names(all, func(b ledger.Backend) string { return b.ID }), "a;"+disk+";")
	w.unchanged(func() {
		w.broken(refused(w.AddBackend(w.ctx, ledger.Backend{})))
		w.broken(refused(w.AddBackend(w.ctx, ledger.Backend{ID: "x", Quota: -1})))
	})
}

func epochs(w *world) {
	w.ok(w.SetEpoch(w.ctx, disk, 3, 2))
	w.ok(w.SetEpoch(w.ctx, disk, 3, 2))
	for _, e := range [][2]int64{{2, 2}, {3, 1}, {3, 4}, {0, 0}} {
		w.unchanged(func() { w.fails(w.SetEpoch(w.ctx, disk, e[0], e[1]), lethe.ErrFenced) })
	}
	w.ok(w.SetEpoch(w.ctx, disk, 3, 3))
	w.unchanged(func() { w.fails(w.SetEpoch(w.ctx, "nowhere", 1, 1), lethe.ErrBackendMismatch) })
}

func holds(w *world) {
	w.unchanged(func() { w.fails(w.HoldBackend(w.ctx, "nowhere", "x"), lethe.ErrBackendMismatch) })
	w.ok(w.HoldBackend(w.ctx, disk, "one"))
	begun := w.now()
	w.later(time.Hour)
	w.ok(w.HoldBackend(w.ctx, disk, "two"))
	equal(w, "held", must(w.Backends(w.ctx))(w)[0].Held, "two")
	equal(w, "held since", w.backendRow(disk).HeldSince, begun)
	w.put("k", "writes go on")
}

// A person's hold hides no doubt in the ledger, however often it is set.
func holdsInDoubt(w *world) {
	w.ok(w.ChangeHold(w.ctx, w.backendRow(disk), ledger.BackendHold{For: ledger.HeldForLedger, Reason: "restored"}))
	for _, why := range []string{"not yet", "not yet", "ask first"} {
		w.ok(w.HoldBackend(w.ctx, disk, why))
		equal(w, "held for", w.backendRow(disk).HeldFor, ledger.HeldForLedger)
	}
	equal(w, "held", w.backendRow(disk).Held, "restored; not yet; ask first")
	w.ok(w.HoldBackend(w.ctx, disk, ""))
	w.ok(w.HoldBackend(w.ctx, disk, "not yet"))
	equal(w, "held for", w.backendRow(disk).HeldFor, ledger.HeldByPerson)
}

// backendRow returns a backend's row.
func (w *world) backendRow(id string) (row ledger.Backend) {
	w.Helper()
	for _, b := range must(w.Backends(w.ctx))(w) {
		if b.ID == id {
			row = b
		}
	}
	return row
}

// accepts: IntendEpoch notes an epoch in place of the intended one, and AcceptEpoch pairs a
// backend under it once, and releases any hold.
func accepts(w *world) {
	w.ok(w.SetEpoch(w.ctx, disk, 3, 2))
	for _, held := range []ledger.BackendHold{
		{}, {For: ledger.HeldForLedger, Reason: "two ledgers"}, {For: ledger.HeldForAbsence, Reason: "empty"},
		{For: ledger.HeldForBackend, Reason: "older"}, {For: ledger.HeldByPerson, Reason: "maintenance"},
	} {
		w.ok(w.ChangeHold(w.ctx, w.backendRow(disk), held))
		seen := w.backendRow(disk)
		intends(w, seen)
		want := seen
		want.Intended = seen.Intended + 5
		equal(w, "intended", w.backendRow(disk), want)
		for _, n := range []int64{0, seen.Epoch - 1, want.Intended + 1} {
			w.unchanged(func() { w.fails(w.AcceptEpoch(w.ctx, disk, n), lethe.ErrFenced) })
		}
		// What was intended before may yet be accepted, and what is intended after it.
		for _, n := range []int64{want.Intended - 1, want.Intended} {
			want.Epoch, want.Accepted, want.AcceptedAt, want.Held, want.HeldFor, want.HeldSince = n, n, w.now(), "", "", 0
			w.ok(w.AcceptEpoch(w.ctx, disk, n))
			equal(w, "accepted", w.backendRow(disk), want)
			w.unchanged(func() { w.fails(w.AcceptEpoch(w.ctx, disk, n), lethe.ErrFenced) })
		}
		// Later epochs continue from there.
		w.ok(w.SetEpoch(w.ctx, disk, want.Epoch+2, want.Epoch))
		w.ok(w.SetEpoch(w.ctx, disk, want.Epoch+2, want.Epoch+2))
		equal(w, "accepted under", w.backendRow(disk).Accepted, want.Accepted)
		w.ok(w.SetEpoch(w.ctx, disk, want.Epoch+3, want.Epoch+2))
	}
	w.unchanged(func() { w.fails(w.IntendEpoch(w.ctx, ledger.Backend{ID: "nowhere"}, 1), lethe.ErrBackendMismatch) })
	w.unchanged(func() { w.fails(w.AcceptEpoch(w.ctx, "nowhere", 1), lethe.ErrBackendMismatch) })
}

// intends: an epoch is intended only beyond the last one, and only of a backend as seen.
func intends(w *world, seen ledger.Backend) {
	for _, n := range []int64{0, seen.Epoch, seen.Intended} {
		w.unchanged(func() { w.fails(w.IntendEpoch(w.ctx, seen, n), lethe.ErrFenced) })
	}
	confirmed, ahead := seen, seen
	confirmed.Epoch++
	ahead.Intended++
	for _, stale := range []ledger.Backend{confirmed, ahead} {
		w.unchanged(func() { w.fails(w.IntendEpoch(w.ctx, stale, seen.Intended+5), lethe.ErrFenced) })
	}
	w.ok(w.IntendEpoch(w.ctx, seen, seen.Intended+5))
}

// changesHolds: a hold changes only as it was seen.
func changesHolds(w *world) {
	hold := ledger.BackendHold{For: ledger.HeldForLedger, Reason: "two ledgers"}
	other := ledger.BackendHold{For: ledger.HeldForLedger, Reason: "two ledgers, and more"}
	free := w.backendRow(disk)
	w.ok(w.ChangeHold(w.ctx, free, hold))
	seen := w.backendRow(disk)
	equal(w, "held for", seen.HeldFor, ledger.HeldForLedger)
	w.unchanged(func() { w.fails(w.ChangeHold(w.ctx, free, other), lethe.ErrFenced) })
	w.ok(w.ChangeHold(w.ctx, seen, other))
	equal(w, "held", w.backendRow(disk).Held, other.Reason)
	equal(w, "held since", w.backendRow(disk).HeldSince, w.now())
	seen = w.backendRow(disk)

	w.ok(w.IntendEpoch(w.ctx, seen, seen.Intended+1))
	w.unchanged(func() { w.fails(w.ChangeHold(w.ctx, seen, other), lethe.ErrFenced) })
	w.ok(w.AcceptEpoch(w.ctx, disk, seen.Intended+1))
	for _, stale := range []ledger.BackendHold{hold, other, {}} {
		w.unchanged(func() { w.fails(w.ChangeHold(w.ctx, seen, stale), lethe.ErrFenced) })
	}

	// The epoch changes and the hold does not, so the row is not as seen.
	free = w.backendRow(disk)
	w.ok(w.SetEpoch(w.ctx, disk, free.Intended+1, free.Epoch))
	w.unchanged(func() { w.fails(w.ChangeHold(w.ctx, free, hold), lethe.ErrFenced) })
	intended := w.backendRow(disk)
	w.ok(w.SetEpoch(w.ctx, disk, intended.Intended, intended.Intended))
	for _, stale := range []ledger.Backend{free, intended} {
		w.unchanged(func() { w.fails(w.ChangeHold(w.ctx, stale, hold), lethe.ErrFenced) })
	}

	w.ok(w.ChangeHold(w.ctx, w.backendRow(disk), hold))
	w.ok(w.ChangeHold(w.ctx, w.backendRow(disk), ledger.BackendHold{}))
	equal(w, "held once it was let go", w.backendRow(disk).HeldFor, ledger.HeldFor(""))
	equal(w, "held since when once it was let go", w.backendRow(disk).HeldSince, 0)
	w.unchanged(func() { w.fails(w.ChangeHold(w.ctx, ledger.Backend{ID: "nowhere"}, hold), lethe.ErrBackendMismatch) })
}

// clockBack: expiry, claims and ages never see an earlier time than before.
func clockBack(w *world) {
	w.putTTL("k", "body", time.Minute)
	w.later(time.Hour)
	w.put("l", "later")
	high := w.now()
	w.later(-2 * time.Hour)
	w.absent("k")
	equal(w, "modified", w.put("m", "earlier").ModifiedAt, high)
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 1)
	w.later(2 * time.Hour)
}

// start starts a run.
func (w *world) start(routine, worker string) lethe.ID {
	w.Helper()
	id := w.id()
	w.ok(w.StartRun(w.ctx, ledger.Run{ID: id, Routine: routine, Worker: worker, Outcome: "nonsense", FinishedAt: 5}))
	w.later(time.Second)
	return id
}

// last is a routine's last run.
func (w *world) last(routine string) ledger.Run {
	w.Helper()
	last, _, err := w.LastRuns(w.ctx)
	w.ok(err)
	return last[routine]
}

func runs(w *world) {
	began := w.now()
	id := w.start("clean", "w")
	want := ledger.Run{ID: id, Routine: "clean", Worker: "w", StartedAt: began, BeatAt: began}
	equal(w, "run", plain(w.last("clean")), plain(want))
	counts := map[string]int64{"items": 3}
	w.ok(w.BeatRun(w.ctx, id, counts))
	counts["items"] = 4
	want.BeatAt, want.Counts = w.now(), map[string]int64{"items": 3}
	equal(w, "run", plain(w.last("clean")), plain(want))
	w.later(time.Second)
	w.ok(w.FinishRun(w.ctx, id, "ok", counts))
	want.BeatAt, want.FinishedAt, want.Outcome, want.Counts = w.now(), w.now(), "ok", counts
	equal(w, "run", plain(w.last("clean")), plain(want))
	for _, id := range []lethe.ID{id, w.id()} {
		w.unchanged(func() {
			w.fails(w.BeatRun(w.ctx, id, nil), lethe.ErrFenced)
			w.fails(w.FinishRun(w.ctx, id, "ok", nil), lethe.ErrFenced)
		})
	}
	w.unchanged(func() { w.broken(w.StartRun(w.ctx, ledger.Run{ID: id, Routine: "clean"})) })
}

func lastRuns(w *world) {
	good := w.start("clean", "w")
	w.ok(w.FinishRun(w.ctx, good, "ok", nil))
	bad := w.start("clean", "w")
	w.ok(w.FinishRun(w.ctx, bad, "failed: x", nil))
	open := w.start("expire", "w")
	last, succeeded, err := w.LastRuns(w.ctx)
	w.ok(err)
	if len(last) != 2 || last["clean"].ID != bad || last["expire"].ID != open || len(succeeded) != 1 || succeeded["clean"].ID != good {
		w.Fatalf("last %+v, succeeded %+v", last, succeeded)
	}
}

// runsSince: the newest first, of one routine, those in progress too.
func runsSince(w *world) {
	early := w.start("clean", "w")
	w.ok(w.FinishRun(w.ctx, early, "ok", map[string]int64{"gone": 2}))
	w.start("expire", "w")
	since := w.now()
	first, second := w.start("clean", "w"), w.start("clean", "v")
	w.ok(w.FinishRun(w.ctx, first, "failed: x", map[string]int64{"gone": 3}))
	for _, c := range []struct {
		since lethe.Time
		limit int
		want  []lethe.ID
	}{{since, 9, []lethe.ID{second, first}}, {since + 1, 9, []lethe.ID{second}}, {0, 9, []lethe.ID{second, first, early}}, {0, 1, []lethe.ID{second}}, {w.now(), 9, nil}} {
		var got []lethe.ID
		for _, r := range must(w.RunsSince(w.ctx, "clean", c.since, c.limit))(w) {
			got = append(got, r.ID)
		}
		equal(w, "runs", plain(got), plain(c.want))
	}
	list := must(w.RunsSince(w.ctx, "clean", since, 9))(w)
	equal(w, "outcome", list[1].Outcome, "failed: x")
	equal(w, "counts", plain(list[1].Counts), plain(map[string]int64{"gone": 3}))
}

func interruptRuns(w *world) {
	done := w.start("clean", "gone")
	w.ok(w.FinishRun(w.ctx, done, "ok", nil))
	w.start("expire", "gone")
	w.start("reap", "here")
	beat := w.last("expire").BeatAt
	equal(w, "interrupted", must(w.InterruptRuns(w.ctx, "gone"))(w), 1)
	r := w.last("expire")
	if r.Outcome != "interrupted" || r.FinishedAt != w.now() || r.BeatAt != beat {
		w.Fatalf("run is %+v", r)
	}
	equal(w, "finished", w.last("reap").FinishedAt, 0)
	w.fails(w.FinishRun(w.ctx, r.ID, "ok", nil), lethe.ErrFenced)
	equal(w, "interrupted", must(w.InterruptRuns(w.ctx, "gone"))(w), 0)
}

// pruneRuns: the last 1,000 finished runs of a routine stay, and so does its newest
// successful one.
func pruneRuns(w *world) {
	good := w.start("clean", "w")
	w.ok(w.FinishRun(w.ctx, good, "ok", nil))
	open := w.start("clean", "w")
	for i := range 1002 {
		id := w.start("clean", "w")
		w.ok(w.FinishRun(w.ctx, id, fmt.Sprint("failed: ", i), nil))
	}
	other := w.start("reap", "w")
	w.ok(w.FinishRun(w.ctx, other, "ok", nil))
	equal(w, "pruned", must(w.Prune(w.ctx, 0))(w), 2)
	equal(w, "pruned", must(w.Prune(w.ctx, 0))(w), 0)
	_, succeeded, err := w.LastRuns(w.ctx)
	w.ok(err)
	equal(w, "newest successful", succeeded["clean"].ID, good)
	w.ok(w.BeatRun(w.ctx, open, nil))
}

func pruneLimit(w *world) {
	for range 3 {
		w.put("k", "body")
	}
	w.ok(w.DeleteBucket(w.ctx, w.bucket("gone", ledger.BucketSettings{}).Name, ""))
	w.later(opsKept)
	for _, want := range []int{2, 2, 0} {
		equal(w, "pruned", must(w.Prune(w.ctx, 2))(w), want)
	}
}
