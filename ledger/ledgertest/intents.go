package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func intentTests() []test {
	return []test{
		{name: "a pending row", run: pendingRow},
		{name: "refused", run: beginRefused},
		{name: "room", run: room},
		{name: "what is dead takes room", run: deadTakesRoom},
		{name: "quota changes", run: quotaChanges},
		{name: "heartbeat", run: heartbeat},
		{name: "heartbeat of what is not pending", run: heartbeatReaped},
		{name: "heartbeat without room", run: heartbeatNoRoom},
		{name: "more than was reserved", run: unreserved},
		{name: "abandon", run: abandon},
		{name: "abandon with a late upload", run: abandonLate},
		{name: "outcome", run: outcomes},
		{name: "outcomes are pruned", run: outcomesPruned},
		{name: "grace is extended", run: extendGrace},
	}
}

func pendingRow(w *world) {
	id := w.id()
	b := must(w.Begin(w.ctx, ledger.Intent{ID: id, Backend: disk, Size: 7}))(w)
	want := ledger.Blob{ID: id, Backend: disk, State: lethe.Pending, Size: 7, CreatedAt: w.now(), BeatAt: w.now()}
	equal(w, "answer", b, want)
	equal(w, "row", w.row(id), want)
	w.totals(1, 0, 0, 0)
	provable, _ := w.provable("k", "body")
	equal(w, "fixed digest", w.row(provable).Digest, sum("body"))
}

func beginRefused(w *world) {
	id := w.begin("x")
	w.unchanged(func() {
		w.fails(refused(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: "nowhere"})), lethe.ErrBackendMismatch)
		w.broken(refused(w.Begin(w.ctx, ledger.Intent{ID: id, Backend: disk})))
		w.fails(refused(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: disk, UploadID: w.id(), Part: 1})), lethe.ErrNoSuchUpload)
		p := &ledger.Promotion{Commit: ledger.Commit{Object: ledger.Object{Bucket: "nobody's", Key: "k"}}}
		w.fails(refused(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: disk, Promotion: p})), lethe.ErrNoSuchBucket)
		p = &ledger.Promotion{Commit: ledger.Commit{Object: ledger.Object{Bucket: "nobody's", Key: "k\x00"}}}
		w.fails(refused(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: disk, Promotion: p})), lethe.ErrInvalidKey)
	})
}

// quota registers a backend with a quota and returns a function that begins intents there.
func (w *world) quota(bytes int64) (begin func(size int64) (lethe.ID, error)) {
	must(w.AddBackend(w.ctx, ledger.Backend{ID: "small", Quota: bytes}))(w)
	return func(size int64) (lethe.ID, error) {
		b, err := w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: "small", Size: size})
		return b.ID, err
	}
}

func room(w *world) {
	begin := w.quota(10)
	w.unchanged(func() { w.fails(refused(begin(11)), lethe.ErrNoRoom) })
	must(begin(6))(w)
	id := must(begin(4))(w)
	w.fails(refused(begin(1)), lethe.ErrNoRoom)
	must(begin(0))(w)
	w.ok(w.Abandon(w.ctx, id, false))
	w.fails(refused(begin(1)), lethe.ErrNoRoom)
	c := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: "small", Limit: 9}))(w)
	w.fails(refused(begin(1)), lethe.ErrNoRoom)
	w.settle(c, ledger.SettleItem{Result: ledger.Gone})
	must(begin(4))(w)
}

func deadTakesRoom(w *world) {
	begin := w.quota(4)
	id := must(begin(4))(w)
	w.ok(w.Abandon(w.ctx, id, false))
	c := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: "small", Limit: 9}))(w)
	w.settle(c, ledger.SettleItem{Result: ledger.Failed, Dead: true})
	w.fails(refused(begin(1)), lethe.ErrNoRoom)
	equal(w, "written off", must(w.WriteOff(w.ctx, []lethe.ID{id}))(w), 1)
	must(begin(4))(w)
}

func quotaChanges(w *world) {
	begin := w.quota(4)
	must(begin(4))(w)
	w.quota(5)
	must(begin(1))(w)
	w.quota(2)
	w.fails(refused(begin(1)), lethe.ErrNoRoom)
	w.quota(0)
	must(begin(1 << 40))(w)
}

func heartbeat(w *world) {
	id := w.begin("seven b")
	w.later(time.Minute)
	w.ok(w.Beat(w.ctx, id, 100))
	b := w.row(id)
	equal(w, "size", b.Size, 100)
	equal(w, "beat", b.BeatAt, w.now())
	w.later(time.Second)
	w.ok(w.Beat(w.ctx, id, 50))
	equal(w, "size", w.row(id).Size, 100)
	w.later(time.Minute - time.Second)
	equal(w, "silent", len(w.silent().Intents), 0)
	w.later(time.Second)
	equal(w, "silent", len(w.silent().Intents), 1)
}

func heartbeatReaped(w *world) {
	committed := w.written("k", "body")
	w.commit(committed)
	gone := w.begin("x")
	w.ok(w.Abandon(w.ctx, gone, false))
	claimed := w.begin("y")
	w.later(time.Minute)
	w.silent()
	for _, id := range []lethe.ID{w.id(), committed.Blobs[0].Blob, gone, claimed} {
		w.unchanged(func() {
			w.fails(w.Beat(w.ctx, id, 1), lethe.ErrReaped)
			w.fails(w.Abandon(w.ctx, id, false), lethe.ErrReaped)
		})
	}
}

func heartbeatNoRoom(w *world) {
	begin := w.quota(10)
	id := must(begin(4))(w)
	must(begin(4))(w)
	w.later(time.Minute)
	w.unchanged(func() { w.fails(w.Beat(w.ctx, id, 7), lethe.ErrNoRoom) })
	w.ok(w.Beat(w.ctx, id, 6))
	w.fails(refused(begin(1)), lethe.ErrNoRoom)
}

// unreserved: bytes beyond the reservation need room as well.
func unreserved(w *world) {
	begin := w.quota(10)
	must(begin(3))(w)
	id := must(begin(4))(w)
	bring := func(body string) ledger.Commit {
		c := w.reference("k", body)
		c.Blobs = []ledger.Uploaded{{Blob: id, Size: int64(len(body)), Digest: sum(body)}}
		return c
	}
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, bring("8 bytes."))), lethe.ErrNoRoom) })
	w.commit(bring("7 bytes"))
	w.fails(refused(begin(1)), lethe.ErrNoRoom)
}

func abandon(w *world) {
	id := w.begin("body")
	w.later(time.Minute)
	w.ok(w.Abandon(w.ctx, id, false))
	w.condemned(id, lethe.ReasonUploadOrphan, w.now())
	b := w.row(id)
	equal(w, "died", b.DiedAt, w.now())
	equal(w, "late until", b.LateUntil, 0)
	w.totals(0, 0, 1, 0)
	w.clean()
	w.in(id, 0)
}

// abandonLate: the row stays until a delete after the late window.
func abandonLate(w *world) {
	id := w.begin("body")
	w.ok(w.Abandon(w.ctx, id, true))
	w.condemned(id, lethe.ReasonUploadOrphan, w.now())
	until := w.now().Add(lateWindow)
	equal(w, "late until", w.row(id).LateUntil, until)
	equal(w, "kept", w.clean().Kept, 1)
	w.condemned(id, lethe.ReasonUploadOrphan, until)
	w.later(lateWindow - 1000)
	equal(w, "claimed", len(w.claim().Blobs), 0)
	w.later(1000)
	equal(w, "gone", w.clean().Gone, 1)
	w.in(id, 0)
}

func outcomes(w *world) {
	c := w.written("k", "body")
	if _, found, err := w.Outcome(w.ctx, c.Op); found || err != nil {
		w.Fatalf("outcome before the commit: %v, %v", found, err)
	}
	failing := c
	failing.If.IfMatch = "other"
	w.fails(refused(w.Commit(w.ctx, failing)), lethe.ErrPreconditionFailed)
	if _, found, _ := w.Outcome(w.ctx, c.Op); found {
		w.Fatal("a refused commit has an outcome")
	}
	o := w.commit(c).Object
	have, found, err := w.Outcome(w.ctx, c.Op)
	if want := (ledger.Outcome{Op: c.Op, What: "put", ObjectID: o.ID, At: w.now()}); have != want || !found || err != nil {
		w.Fatalf("outcome is %+v, %v, %v, want %+v", have, found, err, want)
	}
}

func outcomesPruned(w *world) {
	c := w.written("k", "body")
	w.commit(c)
	w.later(opsKept - time.Second)
	equal(w, "pruned", must(w.Prune(w.ctx, 10))(w), 0)
	w.later(time.Second)
	w.put("other", "x")
	equal(w, "pruned", must(w.Prune(w.ctx, 10))(w), 1)
	if _, found, _ := w.Outcome(w.ctx, c.Op); found {
		w.Fatal("the outcome is still there")
	}
	w.get("k")
}

func extendGrace(w *world) {
	o := w.put("k", "body")
	id := w.onlyBlob("k").ID
	w.unchanged(func() { w.ok(w.ExtendGrace(w.ctx, o.ContentID)) })
	w.remove("k")
	w.later(readGrace - time.Minute)
	w.ok(w.ExtendGrace(w.ctx, o.ContentID))
	w.condemned(id, lethe.ReasonDelete, w.now().Add(readGrace))
	w.later(readGrace)
	w.claim()
	w.unchanged(func() { w.ok(w.ExtendGrace(w.ctx, o.ContentID)) })
	w.ok(w.ExtendGrace(w.ctx, w.id()))
}
