package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func uploadTests() []test {
	return []test{
		{name: "create", run: createUpload},
		{name: "no such upload", run: noUpload},
		{name: "a part", run: storePart},
		{name: "a part of zero bytes", run: emptyPart},
		{name: "a part is replaced", run: replacePart},
		{name: "a part refused", run: partRefused},
		{name: "a late part", run: latePart},
		{name: "abort", run: abort},
		{name: "abort while parts are on their way", run: abortPending},
		{name: "parts by number", run: listParts},
		{name: "uploads by key", run: listUploads},
		{name: "stale", run: staleUploads},
		{name: "stale by the times of backends", run: staleOn},
		{name: "what is stale is listed with what it holds", run: staleHolds},
		{name: "stale beyond a page", run: staleMany},
		{name: "a hold keeps open uploads from age and rules", run: heldUploads},
		{name: "backlog", run: uploadBacklog},
	}
}

// open opens an upload.
func (w *world) open(key string) ledger.Upload {
	w.Helper()
	return must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: key, Owner: owner}))(w)
}

// partOf uploads a part without committing it.
func (w *world) partOf(u ledger.Upload, number int, body string) ledger.PartCommit {
	w.Helper()
	p := ledger.Part{UploadID: u.ID, Number: number, Size: int64(len(body)), ETag: etag(body), Digest: sum(body)}
	if body != "" {
		in := ledger.Intent{ID: w.id(), Backend: disk, Size: p.Size, UploadID: u.ID, Part: number}
		p.BlobID = must(w.Begin(w.ctx, in))(w).ID
	}
	return ledger.PartCommit{Op: w.id(), Part: p, CRC32C: crc(body), Blocks: blockSums(body)}
}

// part stores a part.
func (w *world) part(u ledger.Upload, number int, body string) ledger.Part {
	w.Helper()
	return must(w.CommitPart(w.ctx, w.partOf(u, number, body)))(w)
}

func createUpload(w *world) {
	b := must(w.Bucket(w.ctx, bucketName))(w)
	ask := ledger.Upload{
		Bucket: bucketName, Key: "k", Owner: "me", TTL: time.Hour,
		Attrs: ledger.Attrs{ContentType: "t"}, Tags: map[string]string{"a": "b"},
	}
	u := must(w.CreateUpload(w.ctx, ask))(w)
	if _, err := lethe.ParseID(string(u.ID)); err != nil {
		w.Fatal(err)
	}
	want := ask
	want.ID, want.BucketID, want.CreatedAt, want.TouchedAt = u.ID, b.ID, w.now(), w.now()
	equal(w, "upload", plain(u), plain(want))
	equal(w, "upload", plain(must(w.Upload(w.ctx, bucketName, "k", u.ID))(w)), plain(want))
	equal(w, "upload", plain(must(w.UploadByID(w.ctx, u.ID))(w)), plain(want))
	ask.ID = w.id()
	equal(w, "id", must(w.CreateUpload(w.ctx, ask))(w).ID, ask.ID)
}

func noUpload(w *world) {
	u := w.open("k")
	for _, c := range []struct {
		bucket, key string
		id          lethe.ID
	}{{bucketName, "k", w.id()}, {"other", "k", u.ID}, {bucketName, "l", u.ID}, {"", "", u.ID}, {bucketName, "k", ""}} {
		w.unchanged(func() {
			w.fails(refused(w.Upload(w.ctx, c.bucket, c.key, c.id)), lethe.ErrNoSuchUpload)
			w.fails(w.AbortUpload(w.ctx, w.id(), c.bucket, c.key, c.id), lethe.ErrNoSuchUpload)
			done := ledger.Completion{Op: w.id(), Bucket: c.bucket, Key: c.key, UploadID: c.id, Parts: []ledger.PartName{{Number: 1}}}
			w.fails(refused(w.Complete(w.ctx, done)), lethe.ErrNoSuchUpload)
		})
	}
	w.fails(refused(w.UploadByID(w.ctx, w.id())), lethe.ErrNoSuchUpload)
	w.fails(w.AbortStale(w.ctx, w.id(), ledger.Stale{}), lethe.ErrNoSuchUpload)
	w.fails(refused(w.CommitPart(w.ctx, ledger.PartCommit{Op: w.id(), Part: ledger.Part{UploadID: w.id(), Number: 1}})), lethe.ErrNoSuchUpload)
	equal(w, "parts", len(must(w.Parts(w.ctx, w.id(), 0, 9))(w)), 0)
}

func storePart(w *world) {
	u := w.open("k")
	c := w.partOf(u, 7, "body")
	c.Part.Checksums = map[string]string{"CRC32": "x"}
	w.later(time.Minute)
	p := must(w.CommitPart(w.ctx, c))(w)
	equal(w, "stored", p.CreatedAt, w.now())
	equal(w, "part", plain(must(w.Parts(w.ctx, u.ID, 0, 9))(w)), plain([]ledger.Part{p}))
	b := w.row(p.BlobID)
	if b.State != lethe.Live || b.UploadID != u.ID || b.Part != 7 || b.Size != 4 || b.Digest != sum("body") || b.ContentID != "" {
		w.Fatalf("blob is %+v", b)
	}
	equal(w, "touched", must(w.UploadByID(w.ctx, u.ID))(w).TouchedAt, w.now())
	if out, found, _ := w.Outcome(w.ctx, c.Op); !found || out.What != "part" || out.ObjectID != p.BlobID {
		w.Fatalf("outcome is %+v, %v", out, found)
	}
	w.totals(0, 1, 0, 0)
}

func emptyPart(w *world) {
	u := w.open("k")
	p := w.part(u, 1, "")
	equal(w, "blob", p.BlobID, "")
	w.part(u, 1, "full")
	w.part(u, 1, "")
	w.totals(0, 0, 1, 0)
}

func replacePart(w *world) {
	u := w.open("k")
	old := w.part(u, 1, "old")
	w.later(time.Second)
	w.part(u, 1, "new")
	w.condemned(old.BlobID, lethe.ReasonPart, w.now().Add(readGrace))
	parts := must(w.Parts(w.ctx, u.ID, 0, 9))(w)
	equal(w, "parts", names(parts, func(p ledger.Part) string { return p.ETag }), etag("new")+";")
}

func partRefused(w *world) {
	u := w.open("k")
	kept := w.part(u, 1, "kept")
	c := w.partOf(u, 1, "body")
	claimed := w.partOf(u, 2, "silent")
	w.later(time.Minute)
	w.ok(w.Beat(w.ctx, c.Part.BlobID, 0))
	w.silent()
	unknown := c
	unknown.Part.BlobID = w.id()
	again := c
	again.Part.BlobID = kept.BlobID
	for _, c := range []ledger.PartCommit{claimed, unknown, again} {
		w.unchanged(func() { w.fails(refused(w.CommitPart(w.ctx, c)), lethe.ErrReaped) })
	}
	must(w.CommitPart(w.ctx, c))(w)
	w.unchanged(func() { w.broken(refused(w.CommitPart(w.ctx, c))) })
}

func latePart(w *world) {
	u := w.open("k")
	c := w.partOf(u, 1, "body")
	c.Late = true
	must(w.CommitPart(w.ctx, c))(w)
	until := w.now().Add(lateWindow)
	equal(w, "late until", w.row(c.Part.BlobID).LateUntil, until)
	w.finish(u, "whole", c.Part)
	equal(w, "late until", w.row(c.Part.BlobID).LateUntil, until)
	w.remove("k")
	w.later(readGrace)
	equal(w, "kept", w.clean().Kept, 1)
}

func abort(w *world) {
	u := w.open("k")
	a, b := w.part(u, 1, "a"), w.part(u, 2, "bb")
	op := w.id()
	w.ok(w.AbortUpload(w.ctx, op, bucketName, "k", u.ID))
	for _, p := range []ledger.Part{a, b} {
		w.condemned(p.BlobID, lethe.ReasonPart, w.now().Add(readGrace))
	}
	if out, found, _ := w.Outcome(w.ctx, op); !found || out.What != "abort" {
		w.Fatalf("outcome is %+v, %v", out, found)
	}
	w.fails(w.AbortUpload(w.ctx, w.id(), bucketName, "k", u.ID), lethe.ErrNoSuchUpload)
	w.fails(refused(w.UploadByID(w.ctx, u.ID)), lethe.ErrNoSuchUpload)
	w.totals(0, 0, 2, 0)
}

// abortPending: a part in progress is condemned, claimed by the reaper or not. Bytes that
// its writer still sends are deleted after the late window.
func abortPending(w *world) {
	u := w.open("k")
	claimed := w.partOf(u, 2, "silent")
	w.later(time.Minute)
	fence := w.silent().Fence
	c := w.partOf(u, 1, "body")
	other := w.begin("another's")
	w.ok(w.AbortUpload(w.ctx, w.id(), bucketName, "k", u.ID))
	for _, id := range []lethe.ID{c.Part.BlobID, claimed.Part.BlobID} {
		w.condemned(id, lethe.ReasonPart, w.now().Add(lateWindow))
		equal(w, "late until", w.row(id).LateUntil, w.now().Add(lateWindow))
		equal(w, "claim", w.row(id).Claim, ledger.Claim{})
	}
	w.in(other, lethe.Pending)
	w.fails(w.CondemnIntent(w.ctx, fence, claimed.Part.BlobID), lethe.ErrFenced)
	w.fails(refused(w.CommitPart(w.ctx, c)), lethe.ErrNoSuchUpload)
	w.fails(w.Beat(w.ctx, c.Part.BlobID, 0), lethe.ErrReaped)
}

func listParts(w *world) {
	u, other := w.open("k"), w.open("k")
	for _, n := range []int{10000, 2, 1, 30} {
		w.part(u, n, fmt.Sprint("body", n))
	}
	w.part(other, 5, "other")
	number := func(p ledger.Part) string { return fmt.Sprint(p.Number) }
	equal(w, "all", names(must(w.Parts(w.ctx, u.ID, 0, 0))(w), number), "1;2;30;10000;")
	equal(w, "page", names(must(w.Parts(w.ctx, u.ID, 1, 2))(w), number), "2;30;")
	equal(w, "end", names(must(w.Parts(w.ctx, u.ID, 10000, 2))(w), number), "")
}

func listUploads(w *world) {
	w.bucket("other", ledger.BucketSettings{})
	var ids []lethe.ID
	for _, k := range []string{"b", "a", "b", "c/1"} {
		ids = append(ids, w.open(k).ID)
		w.later(time.Second)
	}
	at := map[lethe.ID]string{ids[0]: "b1", ids[1]: "a", ids[2]: "b2", ids[3]: "c"}
	for _, c := range []struct {
		q    ledger.UploadQuery
		want string
	}{
		{ledger.UploadQuery{}, "a;b1;b2;c;"},
		{ledger.UploadQuery{Prefix: "b"}, "b1;b2;"},
		{ledger.UploadQuery{AfterKey: "b"}, "c;"},
		{ledger.UploadQuery{AfterKey: "b", AfterUpload: ids[0]}, "b2;c;"},
		{ledger.UploadQuery{AfterKey: "a", AfterUpload: ids[3]}, "b1;b2;c;"},
		{ledger.UploadQuery{Limit: 2}, "a;b1;"},
	} {
		c.q.Bucket = bucketName
		list := must(w.Uploads(w.ctx, c.q))(w)
		equal(w, fmt.Sprintf("%+v", c.q), names(list, func(u ledger.Upload) string { return at[u.ID] }), c.want)
	}
	equal(w, "other", len(must(w.Uploads(w.ctx, ledger.UploadQuery{Bucket: "other"}))(w)), 0)
}
