package object_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

func (w *world) copyTo(key string, change func(*object.CopyRequest)) (ledger.Object, error) {
	r := object.CopyRequest{SourceBucket: bucket, SourceKey: "k", Bucket: bucket, Key: key}
	if change != nil {
		change(&r)
	}
	res, err := w.Copy(w.ctx, r)
	return res.Object, err
}

func TestCopyByReference(t *testing.T) {
	for name, parts := range layouts {
		w := newWorld(t, nil)
		from := w.store("k", parts...)
		live := len(w.blobs(lethe.Live))
		w.breaks("disk1", "", blobtest.Fault{Kind: blobtest.Down})
		o, err := w.copyTo("copy", nil)
		w.must(err)
		if o.ETag != from.ETag || o.ContentID != from.ContentID || len(o.Attrs.Parts) != len(from.Attrs.Parts) {
			t.Errorf("%s: %+v", name, o)
		}
		w.breaks("disk1", "", blobtest.Fault{})
		if n := len(w.blobs(lethe.Live)); n != live {
			t.Errorf("%s: %d blobs, were %d", name, n, live)
		}
		_, err = w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: "k"}}})
		w.must(err)
		w.sound()
		w.has("copy", strings.Join(parts, ""))
	}
}

func TestCopyOfNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.put("k", "")
	_, err := w.copyTo("copy", nil)
	w.must(err)
	w.has("copy", "")
	_, err = w.copyTo("x", func(r *object.CopyRequest) { r.SourceKey = "none" })
	w.wants(err, lethe.ErrNoSuchKey)
	_, err = w.copyTo("x", func(r *object.CopyRequest) { r.SourceBucket = "none" })
	w.wants(err, lethe.ErrNoSuchBucket)
	_, err = w.copyTo("x", func(r *object.CopyRequest) { r.Bucket = "none" })
	w.wants(err, lethe.ErrNoSuchBucket)
}

// What cannot be referenced is copied: another tenant's content, and one that is
// suspect.
func TestCopyOfBytes(t *testing.T) {
	for name, parts := range layouts {
		w := newWorld(t, nil)
		_, err := w.CreateBucket(w.ctx, ledger.Bucket{Name: "other", Owner: "bob"})
		w.must(err)
		from := w.store("k", parts...)
		res, err := w.Copy(w.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: "k", Bucket: "other", Key: "copy"})
		w.must(err)
		o := res.Object
		if o.ETag != from.ETag || o.ContentID == from.ContentID || len(o.Attrs.Parts) != len(from.Attrs.Parts) {
			t.Errorf("%s: %+v", name, o)
		}
		for part := range from.Attrs.Parts {
			got, err := w.read(object.GetRequest{Bucket: "other", Key: "copy", Part: part + 1})
			w.must(err)
			if got != parts[part] {
				t.Errorf("%s: part %d differs", name, part+1)
			}
		}
		w.sound()
	}
}

// A copy for a bucket does not reach another one that has the name now, be it by reference, of
// bytes or in place.
func TestCopyIntoARemadeBucket(t *testing.T) {
	w := newWorld(t, nil)
	for name, owner := range map[string]string{"alices": "alice", "bobs": "bob", "from": "alice"} {
		_, err := w.CreateBucket(w.ctx, ledger.Bucket{Name: name, Owner: owner})
		w.must(err)
	}
	for _, name := range []string{"from", "alices"} {
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: name, Key: "k", Body: strings.NewReader("data"), Size: 4})
		w.must(err)
	}
	for kind, r := range map[string]object.CopyRequest{
		"reference": {SourceBucket: "from", Bucket: "alices", Key: "copy"},
		"bytes":     {SourceBucket: "from", Bucket: "bobs", Key: "copy"},
		"in place":  {SourceBucket: "alices", Bucket: "alices", Key: "k", Attrs: &ledger.Attrs{ContentType: "text/x"}},
	} {
		r.SourceKey, r.BucketID = "k", lethe.RandomID(w.clock.Now())
		_, err := w.Copy(w.ctx, r)
		w.wants(err, lethe.ErrNoSuchBucket)
		b, err := w.Bucket(w.ctx, r.Bucket)
		w.must(err)
		r.BucketID = b.ID
		if _, err := w.Copy(w.ctx, r); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestCopyOfADamagedSource(t *testing.T) {
	for name, parts := range layouts {
		w := newWorld(t, nil)
		_, err := w.CreateBucket(w.ctx, ledger.Bucket{Name: "other", Owner: "bob"})
		w.must(err)
		o := w.store("k", parts...)
		w.rot(w.copies(o)[0], 1)
		_, err = w.Copy(w.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: "k", Bucket: "other", Key: "copy"})
		w.wants(err, lethe.ErrCorrupt)
		if _, err := w.Head(w.ctx, object.GetRequest{Bucket: "other", Key: "copy"}); err == nil {
			t.Errorf("%s: a damaged copy was made", name)
		}
	}
}

// A content that has all the references it may have is copied.
func TestCopyOfAClosedContent(t *testing.T) {
	w := newWorld(t, nil)
	w.put("k", "data")
	for i := range 60 {
		_, err := w.copyTo(fmt.Sprint("copy", i), nil)
		w.must(err)
	}
	for i := range 60 {
		w.has(fmt.Sprint("copy", i), "data")
	}
	w.sound()
	if n := len(w.blobs()); n != 2 {
		t.Errorf("%d blobs for 61 references of at most 50 each", n)
	}
}

func TestWhatACopyTakesOver(t *testing.T) {
	w := newWorld(t, nil)
	attrs := ledger.Attrs{ContentType: "a/b", Checksums: map[string]string{"CRC32": "c"}, ChecksumType: "FULL_OBJECT"}
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader("data"), Size: 4,
		Attrs: attrs, Tags: map[string]string{"t": "1"}, TTL: time.Hour})
	w.must(err)
	ttlAt := w.clock.Now().Add(time.Hour)
	w.clock.Advance(time.Minute)
	other := ledger.Attrs{ContentType: "c/d"}
	tags := map[string]string{"t": "2"}
	for _, key := range []string{"copy", "k"} {
		o, err := w.copyTo(key, func(r *object.CopyRequest) { r.KeepTTL = true })
		w.must(err)
		if o.Attrs.ContentType != "a/b" || o.Tags["t"] != "1" || o.TTLAt != ttlAt || o.ModifiedAt != w.clock.Now() {
			t.Errorf("%s: %+v", key, o)
		}
		o, err = w.copyTo(key, func(r *object.CopyRequest) { r.Attrs, r.Tags, r.TTL = &other, &tags, 2*time.Hour })
		w.must(err)
		if o.Attrs.ContentType != "c/d" || o.Attrs.Checksums["CRC32"] != "c" || o.Tags["t"] != "2" || o.TTLAt != w.clock.Now().Add(2*time.Hour) {
			t.Errorf("%s: %+v", key, o)
		}
		o, err = w.copyTo(key, nil)
		w.must(err)
		if o.TTLAt != 0 {
			t.Errorf("%s: a copy took over the time to live: %v", key, o.TTLAt)
		}
	}
	_, err = w.ConfigureBucket(w.ctx, bucket, ledger.BucketSettings{DefaultTTL: time.Minute}, nil)
	w.must(err)
	for _, key := range []string{"copy", "k"} {
		o, err := w.copyTo(key, nil)
		w.must(err)
		if o.TTLAt != w.clock.Now().Add(time.Minute) {
			t.Errorf("%s: the bucket's default was not applied: %v", key, o.TTLAt)
		}
	}
	w.sound()
}

func TestCopyConditions(t *testing.T) {
	w := newWorld(t, nil)
	o := w.put("k", "data")
	w.put("there", "x")
	for _, key := range []string{"k", "there"} {
		_, err := w.copyTo(key, func(r *object.CopyRequest) { r.If.IfNoneMatch = "*" })
		w.wants(err, lethe.ErrPreconditionFailed)
		_, err = w.copyTo(key, func(r *object.CopyRequest) { r.If.IfMatch = "other" })
		w.wants(err, lethe.ErrPreconditionFailed)
	}
	_, err := w.copyTo("k", func(r *object.CopyRequest) { r.If.IfMatch = o.ETag })
	w.must(err)
	w.has("there", "x")
}

// The source is replaced between looking at it and copying it: the copy is of
// one version or the other, and in the end it comes about.
func TestSourceReplacedMeanwhile(t *testing.T) {
	for _, key := range []string{"copy", "k"} {
		w := newWorld(t, nil)
		w.put("k", "old")
		swap := func(method string) {
			once := true
			w.ledger.on(method, func() {
				if once {
					once = false
					w.put("k", "new")
				}
			})
		}
		if key == "k" {
			swap("Update")
		} else {
			swap("Commit")
		}
		_, err := w.copyTo(key, nil)
		w.must(err)
		w.has(key, "new")
		w.ledger.heal()
		w.sound()
	}
}

func TestLostAnswersOfCopies(t *testing.T) {
	for _, m := range []mode{lostDone, lostUndone} {
		for method, key := range map[string]string{"Commit": "copy", "Update": "k"} {
			w := newWorld(t, nil)
			from := w.put("k", "data")
			w.ledger.fails(method, m)
			o, err := w.copyTo(key, nil)
			w.must(err)
			if o.ETag != from.ETag {
				t.Errorf("%+v", o)
			}
			w.has(key, "data")
			w.sound()
		}
	}
}

func TestRestore(t *testing.T) {
	for _, m := range []mode{pass, lostDone, lostUndone} {
		w := newWorld(t, nil)
		_, err := w.ConfigureBucket(w.ctx, bucket, ledger.BucketSettings{Undo: time.Hour}, nil)
		w.must(err)
		w.put("k", "first")
		w.put("k", "second")
		_, err = w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: "k"}}})
		w.must(err)
		trash, err := w.Trash(w.ctx, ledger.TrashQuery{Bucket: bucket, Limit: 10})
		w.must(err)
		if len(trash) != 2 {
			t.Fatalf("%d entries", len(trash))
		}
		if trash[0].Object.ETag != etag("first") { // ids of one millisecond are in no order
			slices.Reverse(trash)
		}
		w.ledger.fails("Restore", m)
		o, err := w.Restore(w.ctx, trash[0].ID, false)
		w.must(err)
		if o.ID == "" {
			t.Errorf("%+v", o)
		}
		w.has("k", "first")
		_, err = w.Restore(w.ctx, trash[1].ID, false)
		w.wants(err, lethe.ErrPreconditionFailed)
		n, err := w.PurgeTrash(w.ctx, []lethe.ID{trash[1].ID})
		w.must(err)
		if n != 1 {
			t.Errorf("%d entries purged", n)
		}
		_, err = w.Restore(w.ctx, "none", false)
		w.wants(err, lethe.ErrTrashNotFound)
		w.reclaim()
		w.has("k", "first")
		w.sound()
	}
}
