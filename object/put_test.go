package object_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// sizes around every boundary of the put's paths.
var sizes = []int{0, 1, 100, small - 1, small, small + 1, 10*small + 7, 300 << 10}

func TestPutAndGet(t *testing.T) {
	for _, n := range sizes {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d known=%v", n, known), func(t *testing.T) {
				w := newWorld(t, nil)
				data := noise(n, 1)
				r := object.PutRequest{
					Bucket: bucket, Key: "k", Body: iotest.HalfReader(strings.NewReader(data)), Size: -1,
					SHA256: strings.ToUpper(sha([]byte(data))), MD5: etag(data),
					Attrs: ledger.Attrs{ContentType: "text/plain"}, Tags: map[string]string{"a": "b"}, TTL: time.Hour,
				}
				if known {
					r.Size = int64(n)
				}
				res, err := w.Put(w.ctx, r)
				w.must(err)
				o := res.Object
				if o.Size != int64(n) || o.ETag != etag(data) || o.Bucket != bucket || o.Key != "k" ||
					o.Attrs.ContentType != "text/plain" || o.Tags["a"] != "b" || o.TTLAt != w.clock.Now().Add(time.Hour) {
					t.Errorf("object is %+v", o)
				}
				w.has("k", data)
				w.clock.Advance(time.Hour)
				w.hasNot("k")
				w.empty()
			})
		}
	}
}

func TestPutThatIsNotWhatWasDeclared(t *testing.T) {
	broken := errors.New("cut")
	for _, n := range []int{10, small, 20 * small} {
		data := noise(n, 2)
		base := object.PutRequest{Bucket: bucket, Key: "k", Size: int64(n)}
		for name, c := range map[string]struct {
			body   io.Reader
			change func(*object.PutRequest)
			want   error
		}{
			"short":         {strings.NewReader(data[1:]), nil, lethe.ErrIncompleteBody},
			"long":          {strings.NewReader(data + "x"), nil, lethe.ErrTooLarge},
			"cut":           {io.MultiReader(strings.NewReader(data[:n/2]), iotest.ErrReader(broken)), nil, broken},
			"cut at end":    {io.MultiReader(strings.NewReader(data), iotest.ErrReader(broken)), nil, broken},
			"unknown, cut":  {io.MultiReader(strings.NewReader(data), iotest.ErrReader(broken)), func(r *object.PutRequest) { r.Size = -1 }, broken},
			"sha256":        {strings.NewReader(data), func(r *object.PutRequest) { r.SHA256 = sha([]byte("other")) }, lethe.ErrDigestMismatch},
			"md5":           {strings.NewReader(data), func(r *object.PutRequest) { r.MD5 = etag("other") }, lethe.ErrDigestMismatch},
			"no digest":     {strings.NewReader(data), func(r *object.PutRequest) { r.SHA256 = "nonsense" }, lethe.ErrDigestMismatch},
			"refused":       {strings.NewReader(data), func(r *object.PutRequest) { r.Finish = func(*ledger.Attrs) error { return broken } }, broken},
			"key":           {strings.NewReader(data), func(r *object.PutRequest) { r.Key = "a\x00b" }, lethe.ErrInvalidKey},
			"no key":        {strings.NewReader(data), func(r *object.PutRequest) { r.Key = "" }, lethe.ErrInvalidKey},
			"long key":      {strings.NewReader(data), func(r *object.PutRequest) { r.Key = strings.Repeat("k", 1025) }, lethe.ErrInvalidKey},
			"not UTF-8":     {strings.NewReader(data), func(r *object.PutRequest) { r.Key = "\xff" }, lethe.ErrInvalidKey},
			"no bucket":     {strings.NewReader(data), func(r *object.PutRequest) { r.Bucket = "none" }, lethe.ErrNoSuchBucket},
			"if-match":      {strings.NewReader(data), func(r *object.PutRequest) { r.If.IfMatch = "*" }, lethe.ErrPreconditionFailed},
			"ttl too long":  {strings.NewReader(data), func(r *object.PutRequest) { r.Bucket, r.TTL = "strict", time.Hour }, lethe.ErrInvalidTTL},
			"bucket's room": {strings.NewReader(data), func(r *object.PutRequest) { r.Bucket = "strict" }, lethe.ErrQuotaExceeded},
		} {
			t.Run(fmt.Sprintf("%s of %d", name, n), func(t *testing.T) {
				w := newWorld(t, nil)
				_, err := w.CreateBucket(w.ctx, ledger.Bucket{Name: "strict", Owner: "bob", BucketSettings: ledger.BucketSettings{MaxTTL: time.Minute, QuotaBytes: 1}})
				w.must(err)
				r := base
				r.Body = c.body
				if c.change != nil {
					c.change(&r)
				}
				_, err = w.Put(w.ctx, r)
				w.wants(err, c.want)
				if errors.Is(err, lethe.ErrUnknownOutcome) {
					t.Errorf("outcome is said to be unknown: %v", err)
				}
				w.hasNot("k")
				w.empty()
			})
		}
	}
}

func TestFinishAmendsAfterTheBodyEnded(t *testing.T) {
	for _, n := range sizes {
		w := newWorld(t, nil)
		data := noise(n, 3)
		in := strings.NewReader(data)
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: int64(n),
			Finish: func(a *ledger.Attrs) error {
				if in.Len() != 0 {
					t.Errorf("%d bytes are not read yet", in.Len())
				}
				a.Checksums = map[string]string{"CRC32": "x"}
				return nil
			}})
		w.must(err)
		o, err := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
		w.must(err)
		if o.Attrs.Checksums["CRC32"] != "x" {
			t.Errorf("size %d: attributes are %+v", n, o.Attrs)
		}
	}
}

func TestKnownContentIsNotUploadedAgain(t *testing.T) {
	for _, n := range []int{10, 5 * small} {
		w := newWorld(t, nil)
		data := noise(n, 4)
		w.put("a", data)
		if w.seen("begun") != 1 {
			t.Fatalf("%d intents", w.seen("begun"))
		}
		res, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "b", Body: strings.NewReader(data), Size: -1})
		w.must(err)
		if !res.Duplicate || w.seen("deduped") != 1 || len(w.blobs(lethe.Live)) != 1 {
			t.Errorf("size %d: %+v, %d deduped", n, res, w.seen("deduped"))
		}
		if begun := w.seen("begun"); n <= small && begun != 1 || n > small && begun != 2 {
			t.Errorf("size %d: %d intents", n, begun)
		}
		w.has("b", data)
		w.sound()
		w.has("a", data)
		w.has("b", data)
	}
}

// A digest alone gets nobody anything: neither a wrong body under a known
// digest, nor the right one of another tenant.
func TestDedupIsolation(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.CreateBucket(w.ctx, ledger.Bucket{Name: "other", Owner: "bob"})
	w.must(err)
	for _, n := range []int{10, 5 * small} {
		data, key := noise(n, 5), fmt.Sprint(n)
		w.put(key, data)
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "x", Body: strings.NewReader(noise(n, 6)), Size: int64(n), SHA256: sha([]byte(data))})
		w.wants(err, lethe.ErrDigestMismatch)
		res, err := w.Put(w.ctx, object.PutRequest{Bucket: "other", Key: key, Body: strings.NewReader(data), Size: int64(n)})
		w.must(err)
		if res.Duplicate {
			t.Errorf("size %d: another tenant's content was referenced", n)
		}
	}
	if n := len(w.blobs(lethe.Live)); n != 4 {
		t.Errorf("%d live blobs, want one per tenant and content", n)
	}
	w.sound()
}

func TestSuspectContentGetsANewCopy(t *testing.T) {
	w := newWorld(t, nil)
	w.put("a", "data")
	old := w.blobs(lethe.Live)[0]
	_, err := w.db.MarkSuspect(w.ctx, []lethe.ID{old.ID}, "test")
	w.must(err)
	w.backends[old.Backend].Lose(w.key(old.ID))
	w.put("b", "data")
	w.has("a", "data")
	w.has("b", "data")
}

func TestOverwriteAndConditions(t *testing.T) {
	w := newWorld(t, nil)
	for _, n := range []int{10, 5 * small} {
		first := w.put("k", noise(n, 7))
		put := func(seed uint64, p ledger.Precondition) error {
			_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, seed)), Size: int64(n), If: p})
			return err
		}
		w.wants(put(8, ledger.Precondition{IfNoneMatch: "*"}), lethe.ErrPreconditionFailed)
		w.wants(put(8, ledger.Precondition{IfMatch: "other"}), lethe.ErrPreconditionFailed)
		w.has("k", noise(n, 7))
		w.must(put(8, ledger.Precondition{IfMatch: first.ETag}))
		w.has("k", noise(n, 8))
	}
	w.sound()
	if n := len(w.blobs()); n != 1 {
		t.Errorf("%d blobs are left of what was overwritten", n)
	}
}

func TestAFailedConditionSparesTheUpload(t *testing.T) {
	w := newWorld(t, nil)
	w.put("k", "x")
	in := strings.NewReader(noise(5*small, 9))
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: 5 * small, If: ledger.Precondition{IfNoneMatch: "*"}})
	w.wants(err, lethe.ErrPreconditionFailed)
	if in.Len() != 5*small {
		t.Errorf("%d bytes were read", 5*small-in.Len())
	}
}

// Every fault of every disk at the upload's one effect.
func TestPutOnFaultyBackends(t *testing.T) {
	for _, n := range []int{10, 5 * small} {
		for _, kind := range []blobtest.Kind{blobtest.NotDone, blobtest.DoneError, blobtest.Late, blobtest.Down} {
			t.Run(fmt.Sprintf("%s of %d", kind, n), func(t *testing.T) {
				w := newWorld(t, nil)
				w.breaks("disk1", blobtest.OpPut, blobtest.Fault{Kind: kind})
				data := noise(n, 10)
				_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(data), Size: int64(n)})
				unread := kind == blobtest.NotDone || kind == blobtest.Down
				if n <= small || unread {
					w.must(err) // on the other disk
					w.has("k", data)
				} else if err == nil {
					t.Error("no error")
				}
				if errors.Is(err, lethe.ErrUnknownOutcome) {
					t.Errorf("an upload's unknown outcome is not the put's: %v", err)
				}
				if landsLate := w.seen("abandoned late") == 1; landsLate == unread {
					t.Errorf("late: %v", w.events)
				}
				w.breaks("disk1", "", blobtest.Fault{})
				w.sound()
			})
		}
	}
}

func TestNoBackendTakesIt(t *testing.T) {
	for _, n := range []int{10, 5 * small} {
		w := newWorld(t, nil)
		for disk := range w.backends {
			w.breaks(disk, blobtest.OpPut, blobtest.Fault{Kind: blobtest.Down})
		}
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, 11)), Size: int64(n)})
		w.wants(err, lethe.ErrUnavailable)
		w.empty()
	}
}

func TestNoRoom(t *testing.T) {
	for _, n := range []int{100, 5 * small} {
		for _, size := range []int64{-1, int64(n)} {
			w := newWorld(t, nil)
			for disk := range w.backends {
				_, err := w.db.AddBackend(w.ctx, ledger.Backend{ID: disk, Quota: 50})
				w.must(err)
			}
			_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, 12)), Size: size})
			w.wants(err, lethe.ErrNoRoom)
			w.empty()
		}
	}
}

func TestClientGoesAway(t *testing.T) {
	for _, n := range []int{small, 50 * small} {
		w := newWorld(t, nil)
		ctx, cancel := context.WithCancel(w.ctx)
		in := body(noise(n, 13), 300, func(n int) error {
			if n == 3 {
				cancel()
			}
			return nil
		})
		_, err := w.Put(ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: int64(n)})
		w.wants(err, context.Canceled)
		if n > small && w.seen("abandoned") != 1 {
			t.Errorf("the intent was not abandoned: %v", w.events)
		}
		if len(w.blobs(lethe.Pending)) != 0 {
			t.Error("an intent is left")
		}
		w.empty()
	}
}

// New bytes take one commit, and known ones too: whether they are is asked where the
// write is begun. What is forgotten between the two is uploaded after all.
func TestCommitsOfSmallBodies(t *testing.T) {
	for _, tc := range []struct {
		name                    string
		known, gone, duplicate  bool
		begins, commits, bodies int
	}{
		{name: "new", begins: 1, commits: 1, bodies: 1},
		{name: "known", known: true, duplicate: true, begins: 1, commits: 1},
		{name: "gone meanwhile", known: true, gone: true, begins: 2, commits: 2, bodies: 1},
	} {
		w := newWorld(t, nil)
		if tc.known {
			w.put("other", "data")
		}
		forget := tc.gone
		w.ledger.on("Commit", func() {
			if forget {
				forget = false
				_, err := w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: "other"}}})
				w.must(err)
			}
		})
		begins, commits, uploads := w.ledger.count("Begin"), w.ledger.count("Commit"), w.seen("begun")
		res, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader("data"), Size: 4})
		w.must(err)
		begins, commits, uploads = w.ledger.count("Begin")-begins, w.ledger.count("Commit")-commits, w.seen("begun")-uploads
		if begins != tc.begins || commits != tc.commits || uploads != tc.bodies || res.Duplicate != tc.duplicate {
			t.Errorf("%s: %d begins, %d commits, %d uploads, %+v", tc.name, begins, commits, uploads, res)
		}
		w.has("k", "data")
		w.sound()
	}
}

// What is known needs no room for its bytes: no backend takes any.
func TestKnownBytesNeedNoBackend(t *testing.T) {
	full := false
	w := newWorld(t, func(o *object.Options) {
		o.Pick = func(int64) []string {
			if full {
				return nil
			}
			return []string{"disk1"}
		}
	})
	w.put("other", "data")
	full = true
	res, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader("data"), Size: 4})
	if err != nil || !res.Duplicate {
		t.Errorf("known bytes: %+v, %v", res, err)
	}
	_, err = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "n", Body: strings.NewReader("news"), Size: 4})
	w.wants(err, lethe.ErrNoRoom)
	w.has("k", "data")
	w.sound()
}
