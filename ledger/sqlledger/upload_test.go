package sqlledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// upload opens an upload to a key of "b".
func (l *fixture) upload(key string, ttl time.Duration) ledger.Upload {
	l.t.Helper()
	u, err := l.CreateUpload(l.ctx, ledger.Upload{Bucket: "b", Key: key, Owner: "alice", TTL: ttl, Tags: map[string]string{"a": "b"}})
	l.ok(err)
	return u
}

// part stores a part of size bytes; what distinguishes parts that are otherwise equal.
func (l *fixture) part(u lethe.ID, number int, size int64, what string) ledger.Part {
	l.t.Helper()
	p := ledger.Part{UploadID: u, Number: number, Size: size, ETag: hexSum(what)[:32], Digest: hexSum(what)}
	if size > 0 {
		p.BlobID = l.id()
		_, err := l.Begin(l.ctx, ledger.Intent{ID: p.BlobID, Backend: "disk", Size: size + 3, UploadID: u, Part: number})
		l.ok(err)
	}
	p, err := l.CommitPart(l.ctx, ledger.PartCommit{Op: l.id(), Part: p})
	l.ok(err)
	return p
}

// completion names parts of an upload.
func (l *fixture) completion(u ledger.Upload, parts ...ledger.Part) ledger.Completion {
	c := ledger.Completion{Op: l.id(), UploadID: u.ID, Bucket: u.Bucket, Key: u.Key, Commit: ledger.Commit{Object: ledger.Object{ETag: "etag-n"}}}
	for _, p := range parts {
		c.Parts = append(c.Parts, ledger.PartName{Number: p.Number, ETag: p.ETag})
	}
	return c
}

// parts stores n parts and names them.
func (l *fixture) parts(u ledger.Upload, n int) ledger.Completion {
	l.t.Helper()
	var parts []ledger.Part
	for i := range n {
		parts = append(parts, l.part(u.ID, i+1, int64(i+10), fmt.Sprint("part ", i)))
	}
	return l.completion(u, parts...)
}

func (l *fixture) want(id lethe.ID, s lethe.State, why lethe.Reason) ledger.Blob {
	l.t.Helper()
	b, found := l.blob(id)
	if !found || b.State != s || b.Reason != why {
		l.t.Fatalf("blob %+v, want %s for %q", b, s, why)
	}
	return b
}

func TestUpload(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", time.Hour)
	got, err := l.Upload(l.ctx, "b", "k", u.ID)
	l.ok(err)
	if got.Bucket != "b" || got.TTL != time.Hour || got.Tags["a"] != "b" || got.Owner != "alice" || got.TouchedAt != l.now() {
		t.Errorf("upload %+v", got)
	}
	_, err = l.Upload(l.ctx, "b", "other", u.ID)
	l.refused(err, lethe.ErrNoSuchUpload)
	_, err = l.UploadByID(l.ctx, l.id())
	l.refused(err, lethe.ErrNoSuchUpload)
	_, err = l.CreateUpload(l.ctx, ledger.Upload{Bucket: "nowhere", Key: "k"})
	l.refused(err, lethe.ErrNoSuchBucket)
	_, err = l.CreateUpload(l.ctx, ledger.Upload{Bucket: "b", Key: "k", TTL: -1})
	l.refused(err, lethe.ErrInvalidTTL)
}

// TestCommitPart: the reservation becomes the exact size; a part stored again
// takes the place of the first; zero bytes need no blob.
func TestCommitPart(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", 0)
	l.clock.Advance(time.Minute)
	first := l.part(u.ID, 1, 10, "first")
	if b := l.want(first.BlobID, lethe.Live, ""); b.Size != 10 || b.UploadID != u.ID || b.Part != 1 {
		t.Errorf("blob %+v", b)
	}
	if got, _ := l.UploadByID(l.ctx, u.ID); got.TouchedAt != l.now() {
		t.Errorf("not touched: %+v", got)
	}
	second := l.part(u.ID, 1, 20, "second")
	if b := l.want(first.BlobID, lethe.Condemned, lethe.ReasonPart); b.DueAt != l.now().Add(readGrace) {
		t.Errorf("blob %+v", b)
	}
	l.part(u.ID, 1, 0, "")
	l.want(second.BlobID, lethe.Condemned, lethe.ReasonPart)
	third := l.part(u.ID, 2, 30, "third")
	list, err := l.Parts(l.ctx, u.ID, 1, 10)
	l.ok(err)
	if len(list) != 1 || list[0].BlobID != third.BlobID || list[0].ETag != third.ETag || list[0].Size != 30 {
		t.Errorf("parts %+v", list)
	}
	if n, bytes := l.total(lethe.Live); n != 1 || bytes != 30 {
		t.Errorf("live %d, %d bytes", n, bytes)
	}
}

func TestCommitPartRefusals(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", 0)
	blob := l.begin(5)
	_, err := l.CommitPart(l.ctx, ledger.PartCommit{Part: ledger.Part{UploadID: l.id(), Number: 1, BlobID: blob, Size: 5}})
	l.refused(err, lethe.ErrNoSuchUpload)
	l.ok(l.Abandon(l.ctx, blob, false))
	kept := l.part(u.ID, 1, 10, "kept")
	_, err = l.CommitPart(l.ctx, ledger.PartCommit{Part: ledger.Part{UploadID: u.ID, Number: 1, BlobID: blob, Size: 5}})
	l.refused(err, lethe.ErrReaped)
	l.want(kept.BlobID, lethe.Live, "")
}

// TestAbort: parts are condemned, and so is what is on its way.
func TestAbort(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", 0)
	p := l.part(u.ID, 1, 10, "p")
	coming := l.id()
	_, err := l.Begin(l.ctx, ledger.Intent{ID: coming, Backend: "disk", Size: 5, UploadID: u.ID, Part: 2})
	l.ok(err)
	l.refused(l.AbortUpload(l.ctx, l.id(), "b", "other", u.ID), lethe.ErrNoSuchUpload)
	op := l.id()
	l.ok(l.AbortUpload(l.ctx, op, "b", "k", u.ID))
	l.want(p.BlobID, lethe.Condemned, lethe.ReasonPart)
	b := l.want(coming, lethe.Condemned, lethe.ReasonPart)
	if until := l.now().Add(lateWindow); b.DueAt != until || b.LateUntil != until {
		t.Errorf("its writer may be at work: %+v", b)
	}
	if out, found, _ := l.Outcome(l.ctx, op); !found || out.What != "abort" {
		t.Errorf("outcome %+v", out)
	}
	l.refused(l.AbortUpload(l.ctx, l.id(), "b", "k", u.ID), lethe.ErrNoSuchUpload)
	_, err = l.CommitPart(l.ctx, ledger.PartCommit{Part: ledger.Part{UploadID: u.ID, Number: 2, BlobID: coming, Size: 5}})
	l.refused(err, lethe.ErrNoSuchUpload)
}

func TestStaleUploads(t *testing.T) {
	l := newLedger(t)
	began := l.now()
	u, touched := l.upload("a", 0), l.upload("b", 0)
	l.part(u.ID, 1, 10, "p")
	l.clock.Advance(time.Hour)
	l.part(touched.ID, 1, 20, "q")
	hour := ledger.Stale{Age: time.Hour}
	stale, err := l.StaleUploads(l.ctx, ledger.OverdueQuery{Stale: hour, Limit: 10})
	l.ok(err)
	if len(stale) != 1 || stale[0].Upload.ID != u.ID {
		t.Fatalf("stale %+v", stale)
	}
	b, err := l.UploadBacklog(l.ctx, hour)
	l.ok(err)
	want := ledger.Backlog{Count: 1, Bytes: 10, Oldest: began.Add(time.Hour), NextDue: l.now().Add(time.Hour), Scheduled: 1}
	if b != want {
		t.Errorf("backlog %+v, want %+v", b, want)
	}
	l.refused(l.AbortStale(l.ctx, touched.ID, hour), lethe.ErrNoSuchUpload)
	l.ok(l.AbortStale(l.ctx, u.ID, hour))
	l.refused(l.AbortStale(l.ctx, u.ID, hour), lethe.ErrNoSuchUpload)
}

func TestListUploads(t *testing.T) {
	l := newLedger(t)
	var all []lethe.ID
	for _, key := range []string{"a", "k1", "k1", "k2", "z"} {
		all = append(all, l.upload(key, 0).ID)
		l.clock.Advance(time.Second)
	}
	for name, c := range map[string]struct {
		q    ledger.UploadQuery
		want []lethe.ID
	}{
		"all":         {ledger.UploadQuery{}, all},
		"prefix":      {ledger.UploadQuery{Prefix: "k"}, all[1:4]},
		"limit":       {ledger.UploadQuery{Limit: 2}, all[:2]},
		"after key":   {ledger.UploadQuery{AfterKey: "k1"}, all[3:]},
		"after one":   {ledger.UploadQuery{AfterKey: "k1", AfterUpload: all[1]}, all[2:]},
		"both":        {ledger.UploadQuery{Prefix: "k", AfterKey: "k1"}, all[3:4]},
		"mark before": {ledger.UploadQuery{Prefix: "k", AfterKey: "b"}, all[1:4]},
	} {
		c.q.Bucket = "b"
		list, err := l.Uploads(l.ctx, c.q)
		l.ok(err)
		var got []lethe.ID
		for _, u := range list {
			got = append(got, u.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	_, err := l.Uploads(l.ctx, ledger.UploadQuery{Bucket: "nowhere"})
	l.refused(err, lethe.ErrNoSuchBucket)
}
