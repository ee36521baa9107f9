package sqlledger

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// TestComplete: exactly the parts named become the object, in order, without a
// copy; the others are condemned.
func TestComplete(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", time.Hour)
	one := l.part(u.ID, 1, 10, "one")
	empty := l.part(u.ID, 2, 0, "")
	left := l.part(u.ID, 3, 30, "left out")
	last := l.part(u.ID, 7, 5, "last")
	c := l.completion(u, one, empty, last)
	l.clock.Advance(time.Minute)
	made, err := l.Complete(l.ctx, c)
	l.ok(err)
	o := made.Object
	if o.ID != c.Op || o.Size != 15 || o.ETag != "etag-n" || o.Tags["a"] != "b" || o.TTLAt != l.now().Add(time.Hour) || made.Duplicate {
		t.Errorf("made %+v", made)
	}
	r, err := l.Resolve(l.ctx, "b", "k")
	l.ok(err)
	if len(r.Segments) != 2 || r.Segments[0].Blobs[0].ID != one.BlobID || r.Segments[1].Blobs[0].ID != last.BlobID {
		t.Errorf("segments %+v", r.Segments)
	}
	content, err := l.ContentByID(l.ctx, o.ContentID)
	l.ok(err)
	want, _ := lethe.MultipartDigest([]lethe.SegmentSum{{Digest: one.Digest, Size: 10}, {Digest: last.Digest, Size: 5}})
	if content.Kind != lethe.Multipart || content.Digest != want || content.Size != 15 || content.Refs != 1 {
		t.Errorf("content %+v", content)
	}
	if b := l.want(one.BlobID, lethe.Live, ""); b.UploadID != "" || b.Part != 0 {
		t.Errorf("still a part: %+v", b)
	}
	l.want(left.BlobID, lethe.Condemned, lethe.ReasonPart)
	_, err = l.UploadByID(l.ctx, u.ID)
	l.refused(err, lethe.ErrNoSuchUpload)
}

// TestCompleteOfPartsMarkedMeanwhile: a part marked suspect after it was chosen becomes no
// segment.
func TestCompleteOfPartsMarkedMeanwhile(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", 0)
	one, two := l.part(u.ID, 1, 10, "one"), l.part(u.ID, 2, 10, "two")
	made, err := l.Complete(l.ctx, l.parts(l.upload("other", 0), 1))
	l.ok(err)
	_, err = l.MarkSuspect(l.ctx, []lethe.ID{two.BlobID}, "missing")
	l.ok(err)
	err = l.write(l.ctx, "complete", func(tx *tx) error {
		return tx.joinSegments(u.ID, []lethe.ID{one.BlobID, two.BlobID}, place{content: made.Object.ContentID})
	})
	l.refused(err, lethe.ErrInvalidPart)
	l.want(one.BlobID, lethe.Live, "")
	parts, err := l.Parts(l.ctx, u.ID, 0, 9)
	l.ok(err)
	if len(parts) != 1 || parts[0].BlobID != one.BlobID {
		t.Errorf("parts %+v", parts)
	}
}

// TestCompleteAgain: a client that lost the response repeats the request.
func TestCompleteAgain(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", 0)
	c := l.parts(u, 2)
	made, err := l.Complete(l.ctx, c)
	l.ok(err)
	again, err := l.Complete(l.ctx, c)
	l.ok(err)
	if again.Object.ID != made.Object.ID || again.Object.ContentID != made.Object.ContentID {
		t.Errorf("again %+v", again)
	}
	other := c
	other.Commit.Object.ETag = "of other parts"
	_, err = l.Complete(l.ctx, other)
	l.refused(err, lethe.ErrNoSuchUpload)
	other = c
	other.Op = l.id()
	_, err = l.Complete(l.ctx, other)
	l.refused(err, lethe.ErrNoSuchUpload)
	l.putTTL("k", "newer", 0)
	_, err = l.Complete(l.ctx, c)
	l.refused(err, lethe.ErrNoSuchUpload)
}

func TestCompleteRefusals(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", 0)
	one, two := l.part(u.ID, 1, 10, "one"), l.part(u.ID, 2, 20, "two")
	wrong, missing := two, two
	wrong.ETag, missing.Number = "other", 3
	small := l.completion(u, one, two)
	small.MinPart = 11
	elsewhere := l.completion(u, one)
	elsewhere.Key = "other"
	guarded := l.completion(u, one)
	guarded.Commit.If = ledger.Precondition{IfMatch: "*"}
	for name, c := range map[string]struct {
		c    ledger.Completion
		want error
	}{
		"none":      {l.completion(u), lethe.ErrInvalidPart},
		"order":     {l.completion(u, two, one), lethe.ErrInvalidPartOrder},
		"twice":     {l.completion(u, one, one), lethe.ErrInvalidPartOrder},
		"etag":      {l.completion(u, one, wrong), lethe.ErrInvalidPart},
		"missing":   {l.completion(u, one, missing), lethe.ErrInvalidPart},
		"small":     {small, lethe.ErrPartTooSmall},
		"elsewhere": {elsewhere, lethe.ErrNoSuchUpload},
		"condition": {guarded, lethe.ErrPreconditionFailed},
	} {
		_, err := l.Complete(l.ctx, c.c)
		if l.refused(err, c.want); t.Failed() {
			t.Fatal(name)
		}
	}
	small.MinPart = 10 // the last may be smaller, and the others are not
	_, err := l.Complete(l.ctx, small)
	l.ok(err)
}

// TestCompleteDuplicate: an existing sound content is referenced, and the parts are
// condemned.
func TestCompleteDuplicate(t *testing.T) {
	l := newLedger(t)
	first, err := l.Complete(l.ctx, l.parts(l.upload("a", 0), 3))
	l.ok(err)
	second, err := l.Complete(l.ctx, l.parts(l.upload("b", 0), 3))
	l.ok(err)
	if !second.Duplicate || second.Object.ContentID != first.Object.ContentID {
		t.Fatalf("second %+v", second)
	}
	if n, bytes := l.total(lethe.Condemned); n != 3 || bytes != 33 {
		t.Errorf("condemned %d, %d bytes", n, bytes)
	}
}

// TestCompleteRepairs: a content with a suspect segment takes the parts as one
// more copy of all of its segments (docs/protocol.md, rule 20).
func TestCompleteRepairs(t *testing.T) {
	l := newLedger(t)
	first, err := l.Complete(l.ctx, l.parts(l.upload("a", 0), 3))
	l.ok(err)
	blobs, err := l.ContentBlobs(l.ctx, first.Object.ContentID)
	l.ok(err)
	_, err = l.MarkSuspect(l.ctx, []lethe.ID{blobs[1].ID}, "damaged")
	l.ok(err)
	second, err := l.Complete(l.ctx, l.parts(l.upload("b", 0), 3))
	l.ok(err)
	if second.Duplicate || second.Object.ContentID != first.Object.ContentID {
		t.Fatalf("second %+v", second)
	}
	if n, _ := l.total(lethe.Live); n != 6 {
		t.Errorf("%d live", n)
	}
	l.remove("a")
	l.remove("b")
	if n, _ := l.total(lethe.Condemned); n != 6 {
		t.Errorf("%d condemned", n)
	}
}

func TestCompleteOfNothing(t *testing.T) {
	l := newLedger(t)
	u := l.upload("k", 0)
	made, err := l.Complete(l.ctx, l.completion(u, l.part(u.ID, 1, 0, "")))
	l.ok(err)
	if made.Object.Size != 0 || made.Object.ContentID != "" {
		t.Errorf("made %+v", made)
	}
}

// TestCompleteTenThousand: as many parts as S3 allows, in one transaction.
func TestCompleteTenThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("stores 10,000 parts")
	}
	l := newLedger(t)
	u := l.upload("k", time.Minute)
	c := l.parts(u, 10_000)
	made, err := l.Complete(l.ctx, c)
	l.ok(err)
	l.clock.Advance(time.Hour)
	r := l.expire(ledger.Batch{Limit: 1000, MaxBlobs: 1000})
	if made.Object.Size == 0 || r.Blobs != 10_000 {
		t.Fatalf("made %+v, reclaimed %d", made, r.Blobs)
	}
}
