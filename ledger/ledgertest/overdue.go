package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// anHour is how long uploads may stay untouched in most tests.
var anHour = ledger.Stale{Age: time.Hour}

// stale lists the keys of stale uploads.
func (w *world) stale(s ledger.Stale, held bool) string {
	w.Helper()
	list := must(w.StaleUploads(w.ctx, ledger.OverdueQuery{Stale: s, Held: held}))(w)
	return names(list, func(u ledger.OverdueUpload) string { return u.Upload.Key })
}

// partOn stores a part on a backend.
func (w *world) partOn(u ledger.Upload, number int, backend, body string) ledger.Part {
	w.Helper()
	c := w.partOf(u, number, "")
	c.Part.Size, c.Part.Digest, c.Part.ETag, c.CRC32C = int64(len(body)), sum(body), etag(body), crc(body)
	c.Part.BlobID = must(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: backend, Size: c.Part.Size, UploadID: u.ID, Part: number}))(w).ID
	return must(w.CommitPart(w.ctx, c))(w)
}

func staleUploads(w *world) {
	first := w.open("a")
	w.later(time.Second)
	second := w.open("b")
	w.later(time.Hour - time.Second)
	w.part(first, 1, "touched")
	w.later(time.Second)
	equal(w, "stale", w.stale(anHour, false), "b;")
	w.unchanged(func() { w.fails(w.AbortStale(w.ctx, first.ID, anHour), lethe.ErrNoSuchUpload) })
	w.ok(w.AbortStale(w.ctx, second.ID, anHour))
	w.later(time.Hour)
	equal(w, "stale", w.stale(anHour, false), "a;")
	w.ok(w.AbortStale(w.ctx, first.ID, anHour))
	w.fails(w.AbortStale(w.ctx, first.ID, anHour), lethe.ErrNoSuchUpload)
	w.totals(0, 0, 1, 0)
}

// staleOn: the shortest time of the backends that now hold parts of an upload applies; a
// time longer than Age is ignored.
func staleOn(w *world) {
	must(w.AddBackend(w.ctx, ledger.Backend{ID: "small"}))(w)
	s := ledger.Stale{Age: time.Hour, On: map[string]time.Duration{"small": time.Minute, disk: 2 * time.Hour, "none": time.Second}}
	bare, there, both := w.open("bare"), w.open("there"), w.open("both")
	w.partOn(there, 1, disk, "a")
	w.partOn(both, 1, disk, "b")
	w.partOn(both, 2, "small", "cc")
	w.later(time.Minute - time.Microsecond)
	equal(w, "too young", w.stale(s, false), "")
	w.unchanged(func() { w.fails(w.AbortStale(w.ctx, both.ID, s), lethe.ErrNoSuchUpload) })
	w.later(time.Microsecond)
	equal(w, "stale", w.stale(s, false), "both;")
	equal(w, "backlog", must(w.UploadBacklog(w.ctx, s))(w), ledger.Backlog{
		Count: 1, Bytes: 3, Oldest: w.now(), NextDue: bare.CreatedAt.Add(time.Hour), Scheduled: 2,
	})
	w.unchanged(func() { w.fails(w.AbortStale(w.ctx, there.ID, s), lethe.ErrNoSuchUpload) })
	w.partOn(both, 2, disk, "dd")
	w.later(time.Minute)
	equal(w, "no part there any more", w.stale(s, false), "")
	w.later(time.Hour)
	for _, u := range []ledger.Upload{bare, there, both} {
		w.ok(w.AbortStale(w.ctx, u.ID, s))
	}
	equal(w, "backlog", must(w.UploadBacklog(w.ctx, s))(w), ledger.Backlog{})
}

func staleHolds(w *world) {
	must(w.AddBackend(w.ctx, ledger.Backend{ID: "small"}))(w)
	s := ledger.Stale{Age: time.Hour, On: map[string]time.Duration{"small": time.Minute}}
	u := w.open("a")
	w.partOn(u, 1, "small", "a")
	w.partOn(u, 2, disk, "bbb")
	w.partOn(u, 4, disk, "cc")
	w.part(u, 3, "")
	w.later(time.Minute)
	list := must(w.StaleUploads(w.ctx, ledger.OverdueQuery{Stale: s}))(w)
	if len(list) != 1 {
		w.Fatalf("stale: %+v", list)
	}
	got := list[0]
	equal(w, "upload", got.Upload.ID, u.ID)
	equal(w, "since", got.At, w.now())
	equal(w, "by", fmt.Sprint(got.By, got.Stale, got.Backends, got.Rule, got.Held), fmt.Sprint("small", time.Minute, []string{disk, "small"}, "", false))
	equal(w, "blobs", got.Blobs, 3)
	equal(w, "bytes", got.Bytes, 6)
}

// staleMany: pages neither omit nor repeat uploads, even those touched at the same instant.
// Held ones do not use up a limit.
func staleMany(w *world) {
	want := map[lethe.ID]bool{}
	for i := range 1100 {
		want[w.open(fmt.Sprintf("%05d", i)).ID] = true
		if i == 500 || i == 1080 {
			w.later(time.Second)
		}
	}
	w.later(time.Hour)
	for _, u := range must(w.StaleUploads(w.ctx, ledger.OverdueQuery{Stale: anHour}))(w) {
		if !want[u.Upload.ID] {
			w.Fatalf("%s is listed twice, or is none", u.Upload.Key)
		}
		delete(want, u.Upload.ID)
	}
	equal(w, "left out", len(want), 0)
	equal(w, "backlog", must(w.UploadBacklog(w.ctx, anHour))(w).Count, 1100)
	w.hold(ledger.HoldPrefix, "00")
	for i, u := range must(w.StaleUploads(w.ctx, ledger.OverdueQuery{Stale: anHour, Limit: 2}))(w) {
		if u.Held || u.Upload.Key < "01" {
			w.Fatalf("%d: %+v is held", i, u)
		}
	}
	equal(w, "beside the held", len(must(w.StaleUploads(w.ctx, ledger.OverdueQuery{Stale: anHour, Limit: 99}))(w)), 99)
}

func heldUploads(w *world) {
	w.rules(lifecycle.Rule{ID: "uploads", AbortDays: 1})
	for _, c := range []struct {
		scope ledger.HoldScope
		key   string
	}{{ledger.HoldObject, "a/b"}, {ledger.HoldLegal, "a/b"}, {ledger.HoldPrefix, "a/"}, {ledger.HoldPrefix, ""}} {
		u := w.open("a/b")
		w.part(u, 1, "body")
		w.later(time.Microsecond)
		free := w.open("b")
		h := w.hold(c.scope, c.key)
		w.later(48 * time.Hour)
		w.unchanged(func() {
			w.fails(w.AbortStale(w.ctx, u.ID, anHour), lethe.ErrHeld)
			w.fails(refused(w.AbortRuled(w.ctx, u.ID)), lethe.ErrHeld)
		})
		whole := c.key == ""
		want := map[bool]string{false: "b;", true: ""}[whole]
		equal(w, "stale", w.stale(anHour, false), want)
		equal(w, "stale, held or not", w.stale(anHour, true), "a/b;b;")
		ruled := must(w.RuledUploads(w.ctx, ledger.OverdueQuery{}))(w)
		equal(w, "ruled", names(ruled, func(u ledger.OverdueUpload) string { return u.Upload.Key }), want)
		ruled = must(w.RuledUploads(w.ctx, ledger.OverdueQuery{Held: true}))(w)
		equal(w, "ruled, held or not", names(ruled, func(u ledger.OverdueUpload) string {
			return fmt.Sprintf("%s %v %d", u.Upload.Key, u.Held, u.Bytes)
		}), fmt.Sprintf("a/b true 4;b %v 0;", whole))
		b := must(w.UploadBacklog(w.ctx, anHour))(w)
		equal(w, "held", b.Held, map[bool]int64{false: 1, true: 2}[whole])
		equal(w, "held bytes", b.HeldBytes, 4)
		equal(w, "due", b.Count, 2-b.Held)
		w.release(h)
		w.ok(w.AbortStale(w.ctx, u.ID, anHour))
		equal(w, "rule", must(w.AbortRuled(w.ctx, free.ID))(w), "uploads")
	}
	u := w.open("a/b")
	w.hold(ledger.HoldObject, "a/b")
	w.ok(w.AbortUpload(w.ctx, w.id(), bucketName, "a/b", u.ID)) // the client's own
}

func uploadBacklog(w *world) {
	u := w.open("a")
	w.part(u, 1, "body")
	due := w.now().Add(time.Hour)
	equal(w, "backlog", must(w.UploadBacklog(w.ctx, anHour))(w), ledger.Backlog{NextDue: due, Scheduled: 1})
	w.later(time.Hour)
	w.open("b")
	equal(w, "backlog", must(w.UploadBacklog(w.ctx, anHour))(w),
		ledger.Backlog{Count: 1, Bytes: 4, Oldest: due, NextDue: w.now().Add(time.Hour), Scheduled: 1})
}
