package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func lateTests() []test {
	return []test{
		{name: "what was sent late has a row", run: lateRow},
		{name: "what was sent late leaves the living alone", run: lateLiving},
		{name: "what was sent late keeps the condemned", run: lateCondemned},
		{name: "what was sent late while it was deleted", run: lateWhileDeleted},
		{name: "what was sent late to nowhere", run: lateNowhere},
	}
}

func lateBytes(id lethe.ID) ledger.LateBytes {
	return ledger.LateBytes{Blob: id, Backend: disk, Size: 7}
}

// lateRow: the row is deleted twice, the second time after the late window.
func lateRow(w *world) {
	id := w.id()
	w.ok(w.CondemnLate(w.ctx, lateBytes(id)))
	until := w.now().Add(lateWindow)
	equal(w, "row", w.row(id), ledger.Blob{
		ID: id, Backend: disk, State: lethe.Condemned, Size: 7, CreatedAt: w.now(), BeatAt: w.now(),
		DiedAt: w.now(), Reason: lethe.ReasonUploadOrphan, DueAt: w.now(), LateUntil: until,
	})
	w.totals(0, 0, 1, 0)
	w.unchanged(func() { w.ok(w.CondemnLate(w.ctx, lateBytes(id))) })
	equal(w, "kept", w.clean().Kept, 1)
	w.later(lateWindow)
	equal(w, "gone", w.clean().Gone, 1)
	w.in(id, 0)
}

// lateLiving: the state that the reaper gave the intent stays.
func lateLiving(w *world) {
	w.put("k", "body")
	pending := w.begin("x")
	for _, id := range []lethe.ID{w.onlyBlob("k").ID, pending} {
		w.unchanged(func() { w.ok(w.CondemnLate(w.ctx, lateBytes(id))) })
	}
	w.later(time.Minute)
	w.silent()
	w.unchanged(func() { w.ok(w.CondemnLate(w.ctx, lateBytes(pending))) })
}

func lateCondemned(w *world) {
	id := w.begin("body")
	w.ok(w.Abandon(w.ctx, id, false))
	was := w.row(id)
	w.later(time.Minute)
	w.ok(w.CondemnLate(w.ctx, lateBytes(id)))
	was.LateUntil = w.now().Add(lateWindow)
	equal(w, "row", w.row(id), was)
	w.totals(0, 0, 1, 0)
}

// lateWhileDeleted: a delete claimed before does not count as the last.
func lateWhileDeleted(w *world) {
	id := w.begin("body")
	w.ok(w.Abandon(w.ctx, id, false))
	c := w.claim()
	w.later(time.Second)
	w.ok(w.CondemnLate(w.ctx, lateBytes(id)))
	equal(w, "kept", w.settle(c, ledger.SettleItem{Result: ledger.Absent}).Kept, 1)
	w.condemned(id, lethe.ReasonUploadOrphan, w.now().Add(lateWindow))
}

func lateNowhere(w *world) {
	w.unchanged(func() {
		w.fails(w.CondemnLate(w.ctx, ledger.LateBytes{Blob: w.id(), Backend: "nowhere"}), lethe.ErrBackendMismatch)
	})
}
