package object_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

func (w *world) create(key string) ledger.Upload {
	w.t.Helper()
	up, err := w.CreateUpload(w.ctx, object.UploadRequest{Bucket: bucket, Key: key, Owner: "alice",
		Attrs: ledger.Attrs{ContentType: "a/b"}, Tags: map[string]string{"t": "1"}, TTL: time.Hour})
	w.must(err)
	return up
}

func complete(up ledger.Upload, parts ...ledger.PartName) object.CompleteRequest {
	return object.CompleteRequest{Bucket: bucket, Key: up.Key, Upload: up.ID, Parts: parts}
}

func TestMultipart(t *testing.T) {
	w := newWorld(t, nil)
	up := w.create("k")
	bodies := []string{noise(10, 60), noise(3*small, 61), noise(0, 0), noise(5*small, 62), noise(3, 63)}
	sum := md5.New()
	var names []ledger.PartName
	for i, b := range bodies {
		if i == 2 {
			continue
		}
		w.part(up, 10*i+1, "replaced")
		names = append(names, w.part(up, 10*i+1, b))
		raw, _ := hex.DecodeString(etag(b))
		sum.Write(raw)
	}
	w.part(up, 99, noise(100, 64)) // not named
	w.clock.Advance(time.Minute)
	var seen []ledger.Part
	r := complete(up, names...)
	r.Size = int64(10 + 8*small + 3)
	r.Finish = func(parts []ledger.Part, a *ledger.Attrs) error {
		seen = slices.Clone(parts)
		a.ChecksumType = "COMPOSITE"
		return nil
	}
	res, err := w.Complete(w.ctx, r)
	w.must(err)
	o := res.Object
	if o.ETag != fmt.Sprintf("%x-4", sum.Sum(nil)) || o.Size != r.Size || o.Attrs.ContentType != "a/b" || o.Attrs.ChecksumType != "COMPOSITE" ||
		o.Tags["t"] != "1" || o.TTLAt != w.clock.Now().Add(time.Hour) || len(o.Attrs.Parts) != 4 || len(seen) != 4 {
		t.Errorf("%+v", o)
	}
	w.has("k", strings.Join(bodies, ""))
	if n := len(w.blobs(lethe.Live)); n != 4 {
		t.Errorf("%d live blobs", n)
	}
	// Asked again, because the answer may have been lost.
	again, err := w.Complete(w.ctx, r)
	w.must(err)
	if again.Object.ID != o.ID {
		t.Errorf("%+v", again.Object)
	}
	_, err = w.Complete(w.ctx, complete(up, names[0]))
	w.wants(err, lethe.ErrNoSuchUpload)
	w.empty()
}

func TestMultipartDedup(t *testing.T) {
	w := newWorld(t, nil)
	parts := layouts["parts"]
	a, b := w.upload("a", parts...), w.upload("b", parts...)
	if a.ContentID != b.ContentID {
		t.Error("the same parts make two contents")
	}
	w.sound()
	if n := len(w.blobs()); n != len(parts) {
		t.Errorf("%d blobs", n)
	}
	w.has("a", strings.Join(parts, ""))
}

func TestCompleteRefuses(t *testing.T) {
	w := newWorld(t, nil)
	up := w.create("k")
	one, two, three := w.part(up, 1, "first"), w.part(up, 2, "s"), w.part(up, 3, "third")
	refuse := errors.New("refused")
	for name, c := range map[string]struct {
		r    object.CompleteRequest
		want error
	}{
		"none":         {complete(up), lethe.ErrInvalidPart},
		"not stored":   {complete(up, one, ledger.PartName{Number: 7, ETag: one.ETag}), lethe.ErrInvalidPart},
		"other etag":   {complete(up, ledger.PartName{Number: 1, ETag: two.ETag}), lethe.ErrInvalidPart},
		"order":        {complete(up, three, one), lethe.ErrInvalidPartOrder},
		"twice":        {complete(up, one, one), lethe.ErrInvalidPartOrder},
		"small":        {complete(up, two, three), lethe.ErrPartTooSmall},
		"no upload":    {object.CompleteRequest{Bucket: bucket, Key: "k", Upload: "none", Parts: []ledger.PartName{one}}, lethe.ErrNoSuchUpload},
		"other key":    {object.CompleteRequest{Bucket: bucket, Key: "other", Upload: up.ID, Parts: []ledger.PartName{one}}, lethe.ErrNoSuchUpload},
		"less":         {object.CompleteRequest{Bucket: bucket, Key: "k", Upload: up.ID, Parts: []ledger.PartName{one}, Size: 6}, lethe.ErrIncompleteBody},
		"more":         {object.CompleteRequest{Bucket: bucket, Key: "k", Upload: up.ID, Parts: []ledger.PartName{one}, Size: 4}, lethe.ErrTooLarge},
		"precondition": {object.CompleteRequest{Bucket: bucket, Key: "k", Upload: up.ID, Parts: []ledger.PartName{one}, If: ledger.Precondition{IfMatch: "*"}}, lethe.ErrPreconditionFailed},
		"finish": {object.CompleteRequest{Bucket: bucket, Key: "k", Upload: up.ID, Parts: []ledger.PartName{one},
			Finish: func([]ledger.Part, *ledger.Attrs) error { return refuse }}, refuse},
	} {
		if _, err := w.Complete(w.ctx, c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	one.ETag = `"` + one.ETag + `"`
	_, err := w.Complete(w.ctx, complete(up, one, two))
	w.must(err)
	w.has("k", "firsts")
}

func TestPartsThatAreNotWhatWasDeclared(t *testing.T) {
	for _, n := range []int{10, 20 * small} {
		w := newWorld(t, nil)
		up := w.create("k")
		data := noise(n, 65)
		cut := errors.New("cut")
		base := object.PartRequest{Bucket: bucket, Key: "k", Upload: up.ID, Number: 1, Size: int64(n)}
		for name, c := range map[string]struct {
			body   io.Reader
			change func(*object.PartRequest)
			want   error
		}{
			"short":     {strings.NewReader(data[1:]), nil, lethe.ErrIncompleteBody},
			"long":      {strings.NewReader(data + "x"), nil, lethe.ErrTooLarge},
			"cut":       {io.MultiReader(strings.NewReader(data[:n/2]), iotest.ErrReader(cut)), nil, cut},
			"sha256":    {strings.NewReader(data), func(r *object.PartRequest) { r.SHA256 = sha(nil) }, lethe.ErrDigestMismatch},
			"md5":       {strings.NewReader(data), func(r *object.PartRequest) { r.MD5 = etag("") }, lethe.ErrDigestMismatch},
			"finish":    {strings.NewReader(data), func(r *object.PartRequest) { r.Finish = func() (map[string]string, error) { return nil, cut } }, cut},
			"number 0":  {strings.NewReader(data), func(r *object.PartRequest) { r.Number = 0 }, lethe.ErrInvalidPart},
			"number":    {strings.NewReader(data), func(r *object.PartRequest) { r.Number = 10001 }, lethe.ErrInvalidPart},
			"no upload": {strings.NewReader(data), func(r *object.PartRequest) { r.Upload = "none" }, lethe.ErrNoSuchUpload},
		} {
			r := base
			r.Body = c.body
			if c.change != nil {
				c.change(&r)
			}
			if _, err := w.PutPart(w.ctx, r); !errors.Is(err, c.want) {
				t.Errorf("%s of %d: %v, want %v", name, n, err, c.want)
			}
		}
		_, parts, err := w.Parts(w.ctx, object.PartQuery{Bucket: bucket, Key: "k", Upload: up.ID, Limit: 10})
		w.must(err)
		if len(parts) != 0 {
			t.Errorf("%d parts", len(parts))
		}
		w.empty()
	}
}

func TestPartsOnFaultyDisksAndLedgers(t *testing.T) {
	for _, n := range []int{0, 10, 5 * small} {
		for _, m := range []mode{lostDone, lostUndone} {
			w := newWorld(t, nil)
			up := w.create("k")
			w.breaks("disk1", blobtest.OpPut, blobtest.Fault{Kind: blobtest.Down})
			w.ledger.fails("CommitPart", m)
			name := w.part(up, 1, noise(n, 66))
			w.ledger.fails("Complete", m)
			_, err := w.Complete(w.ctx, complete(up, name))
			w.must(err)
			w.has("k", noise(n, 66))
			w.sound()
		}
	}
}

func TestAbort(t *testing.T) {
	for _, m := range []mode{pass, lostDone, lostUndone} {
		w := newWorld(t, nil)
		up := w.create("k")
		name := w.part(up, 1, noise(5*small, 67))
		w.ledger.fails("AbortUpload", m)
		w.must(w.Abort(w.ctx, bucket, "k", up.ID))
		w.wants(w.Abort(w.ctx, bucket, "k", up.ID), lethe.ErrNoSuchUpload)
		_, err := w.Complete(w.ctx, complete(up, name))
		w.wants(err, lethe.ErrNoSuchUpload)
		_, _, err = w.Parts(w.ctx, object.PartQuery{Bucket: bucket, Key: "k", Upload: up.ID, Limit: 10})
		w.wants(err, lethe.ErrNoSuchUpload)
		w.empty()
	}
}

// The upload is aborted, or completed without it, while a part is on its way.
func TestPartWhoseUploadWent(t *testing.T) {
	for _, end := range []string{"abort", "complete"} {
		for _, n := range []int{10, 50 * small} {
			w := newWorld(t, nil)
			up := w.create("k")
			first := w.part(up, 1, "first")
			in := body(noise(n, 68), small/2, func(n int) error {
				if n > 1 {
					return nil
				}
				if end == "abort" {
					return w.Abort(w.ctx, bucket, "k", up.ID)
				}
				_, err := w.Complete(w.ctx, complete(up, first))
				return err
			})
			_, err := w.PutPart(w.ctx, object.PartRequest{Bucket: bucket, Key: "k", Upload: up.ID, Number: 2, Body: in, Size: int64(n)})
			if !errors.Is(err, lethe.ErrNoSuchUpload) && !errors.Is(err, lethe.ErrReaped) {
				t.Errorf("%s, %d bytes: %v", end, n, err)
			}
			w.empty()
		}
	}
}

func TestCopyPart(t *testing.T) {
	for name, parts := range layouts {
		w := newWorld(t, nil)
		w.store("from", parts...)
		whole := strings.Join(parts, "")
		up := w.create("k")
		seen := 0
		part := func(number int, r *object.Range) ledger.PartName {
			p, err := w.CopyPart(w.ctx, object.PartCopyRequest{
				Bucket: bucket, Key: "k", Upload: up.ID, Number: number, SourceBucket: bucket, SourceKey: "from", Range: r,
				Wrap:   func(in io.Reader) io.Reader { return counting{in, &seen} },
				Finish: func() (map[string]string, error) { return map[string]string{"n": fmt.Sprint(seen)}, nil },
			})
			w.must(err)
			if p.Checksums["n"] != fmt.Sprint(seen) {
				t.Errorf("%+v", p)
			}
			return ledger.PartName{Number: number, ETag: p.ETag}
		}
		a, b, c := part(1, nil), part(2, &object.Range{Offset: 7, Length: 9}), part(3, &object.Range{Offset: -5, Length: -1})
		_, err := w.Complete(w.ctx, complete(up, a, b, c))
		w.must(err)
		w.has("k", whole+whole[7:16]+whole[len(whole)-5:])
		if seen != len(whole)+14 {
			t.Errorf("%s: %d bytes seen", name, seen)
		}
		w.sound()
	}
}

type counting struct {
	io.Reader
	n *int
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += n
	return n, err
}

func TestCopyPartRefuses(t *testing.T) {
	w := newWorld(t, nil)
	w.put("from", "data")
	up := w.create("k")
	for want, change := range map[error]func(*object.PartCopyRequest){
		lethe.ErrNoSuchKey:          func(r *object.PartCopyRequest) { r.SourceKey = "none" },
		lethe.ErrInvalidRange:       func(r *object.PartCopyRequest) { r.Range = &object.Range{Offset: 4, Length: 1} },
		lethe.ErrPreconditionFailed: func(r *object.PartCopyRequest) { r.SourceID = "another" },
		lethe.ErrNoSuchUpload:       func(r *object.PartCopyRequest) { r.Upload = "none" },
	} {
		r := object.PartCopyRequest{Bucket: bucket, Key: "k", Upload: up.ID, Number: 1, SourceBucket: bucket, SourceKey: "from"}
		change(&r)
		_, err := w.CopyPart(w.ctx, r)
		w.wants(err, want)
	}
}

func TestListings(t *testing.T) {
	w := newWorld(t, nil)
	for _, key := range []string{"a", "b/1", "b/2", "c"} {
		w.put(key, "x")
		w.create(key)
	}
	page, err := w.List(w.ctx, ledger.ListQuery{Bucket: bucket, Delimiter: "/", Limit: 10})
	w.must(err)
	if !slices.Equal(keysOf(page.Objects), []string{"a", "c"}) || !slices.Equal(page.Prefixes, []string{"b/"}) {
		t.Errorf("%+v", page)
	}
	ups, err := w.Uploads(w.ctx, ledger.UploadQuery{Bucket: bucket, Prefix: "b/", Limit: 10})
	w.must(err)
	if len(ups) != 2 || ups[0].Key != "b/1" {
		t.Errorf("%+v", ups)
	}
	w.wants(w.DeleteBucket(w.ctx, bucket, ""), lethe.ErrBucketNotEmpty)
}

func TestAPartIsNotCutShortByTheClientsLeaving(t *testing.T) {
	w := newWorld(t, nil)
	up := w.create("k")
	ctx, cancel := context.WithCancel(w.ctx)
	w.ledger.on("CommitPart", cancel)
	_, err := w.PutPart(ctx, object.PartRequest{Bucket: bucket, Key: "k", Upload: up.ID, Number: 1, Body: strings.NewReader("part"), Size: 4})
	w.must(err)
	_, parts, err := w.Parts(w.ctx, object.PartQuery{Bucket: bucket, Key: "k", Upload: up.ID, Limit: 10})
	w.must(err)
	if len(parts) != 1 {
		t.Errorf("%d parts", len(parts))
	}
}
