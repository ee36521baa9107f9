package object_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// counted stores a body that can be read n times: whole, or in parts if there are several.
func (w *world) counted(key string, n int64, parts ...string) {
	w.t.Helper()
	if len(parts) == 1 {
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: key, Body: strings.NewReader(parts[0]), Size: -1, Reads: n})
		w.must(err)
		return
	}
	up, err := w.CreateUpload(w.ctx, object.UploadRequest{Bucket: bucket, Key: key, Reads: n})
	w.must(err)
	done := object.CompleteRequest{Bucket: bucket, Key: key, Upload: up.ID}
	for i, body := range parts {
		p, err := w.PutPart(w.ctx, object.PartRequest{Bucket: bucket, Key: key, Upload: up.ID, Number: i + 1, Body: strings.NewReader(body), Size: int64(len(body))})
		w.must(err)
		done.Parts = append(done.Parts, ledger.PartName{Number: p.Number, ETag: p.ETag})
	}
	_, err = w.Complete(w.ctx, done)
	w.must(err)
}

// left is how often an object can still be read.
func (w *world) left(key string) int64 {
	w.t.Helper()
	o, err := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: key})
	w.must(err)
	return o.ReadsLeft
}

func TestReadsAreCounted(t *testing.T) {
	for name, parts := range layouts {
		w, whole := newWorld(t, nil), strings.Join(parts, "")
		w.counted("k", 3, parts...)
		o, err := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
		w.must(err)
		for want, r := range map[error]object.GetRequest{
			lethe.ErrNotModified:        {If: object.ReadCondition{IfNoneMatch: o.ETag}},
			lethe.ErrPreconditionFailed: {If: object.ReadCondition{IfMatch: "other"}},
			lethe.ErrInvalidRange:       {Range: &object.Range{Offset: 1 << 40, Length: 1}},
			errors.ErrUnsupported:       {Check: func(ledger.Object) error { return errors.ErrUnsupported }},
		} {
			r.Bucket, r.Key = bucket, "k"
			_, err := w.read(r)
			w.wants(err, want)
		}
		if n := w.left("k"); n != 3 {
			t.Errorf("%s: what sent no body left %d reads of 3", name, n)
		}
		got, err := w.read(object.GetRequest{Bucket: bucket, Key: "k", Range: &object.Range{Offset: 5, Length: 7}})
		if w.must(err); got != whole[5:12] || w.left("k") != 2 {
			t.Errorf("%s: a range has %q, and left %d reads of 3", name, got, w.left("k"))
		}
		w.has("k", whole)
		rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
		w.must(err)
		if rd.Object.ReadsLeft != ledger.AllRead {
			t.Errorf("%s: the last read says that %d are left", name, rd.Object.ReadsLeft)
		}
		w.must(rd.Body.Close()) // whatever becomes of the body
		w.hasNot("k")
		_, err = w.get("k")
		w.wants(err, lethe.ErrNoSuchKey)
		w.empty()
	}
}

// Other objects cost no more than before.
func TestUncountedReadsAskNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.put("k", "data")
	w.has("k", "data")
	if n := w.ledger.count("CountRead"); n != 0 {
		t.Errorf("%d reads were counted", n)
	}
}

func TestNoCacheHoldsWhatIsCounted(t *testing.T) {
	c := memory(t)
	w := newWorld(t, func(o *object.Options) { o.Cache = c })
	w.counted("k", 9, "data")
	w.has("k", "data")
	_, err := w.read(object.GetRequest{Bucket: bucket, Key: "k", Range: &object.Range{Offset: 1, Length: 1}})
	w.must(err)
	o, err := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
	w.must(err)
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	if _, ok := c.Get(w.ctx, cache.Key(who.ID, o.ContentID)); ok {
		t.Error("the body is cached")
	}
	w.lose(w.copies(o)[0])
	_, err = w.get("k")
	w.wants(err, lethe.ErrCorrupt)
}

// A read that finds no bytes takes none.
func TestFailedReadIsNotCounted(t *testing.T) {
	for name, parts := range layouts {
		w := newWorld(t, nil)
		w.counted("k", 1, parts...)
		for disk := range w.backends {
			w.breaks(disk, blobtest.OpGet, blobtest.Fault{Kind: blobtest.Down})
		}
		_, err := w.get("k")
		w.wants(err, lethe.ErrUnavailable)
		if n := w.left("k"); n != 1 {
			t.Errorf("%s: %d reads are left", name, n)
		}
		for disk := range w.backends {
			w.breaks(disk, blobtest.OpGet, blobtest.Fault{})
		}
		w.has("k", strings.Join(parts, ""))
		w.hasNot("k")
	}
}

// Nothing is sent unless the ledger has confirmed that the read was taken.
func TestUnconfirmedReadSendsNothing(t *testing.T) {
	for mode, left := range map[mode]int64{refused: 2, lostUndone: 2, lostDone: 1} {
		w := newWorld(t, nil)
		w.counted("k", 2, "data")
		w.ledger.fails("CountRead", mode)
		if rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"}); err == nil || rd != nil {
			t.Errorf("mode %d: %v, %v", mode, rd, err)
		}
		if n := w.left("k"); n != left {
			t.Errorf("mode %d: %d reads are left, want %d", mode, n, left)
		}
	}
}

// Of two readers that have both found the last read, one gets it.
func TestReadersAtTheLastRead(t *testing.T) {
	for name, parts := range layouts {
		w := newWorld(t, nil)
		w.counted("k", 1, parts...)
		first := true
		w.ledger.on("CountRead", func() {
			if first {
				first = false
				w.has("k", strings.Join(parts, ""))
			}
		})
		if _, err := w.get("k"); !errors.Is(err, lethe.ErrNoSuchKey) {
			t.Errorf("%s: the second reader got %v", name, err)
		}
		w.empty()
	}
}

// A version that takes the place of the one that was opened is read in its stead.
func TestReplacedWhileItsReadIsCounted(t *testing.T) {
	w := newWorld(t, nil)
	w.counted("k", 1, "old")
	first := true
	w.ledger.on("CountRead", func() {
		if first {
			first = false
			w.counted("k", 1, "new")
		}
	})
	w.has("k", "new")
	w.hasNot("k")
}

// The last reader reads to the end, however slow it is, however eager the engine, and if a
// backend breaks off in the middle.
func TestLastReaderIsNotCutOff(t *testing.T) {
	for name, parts := range layouts {
		w, whole := newWorld(t, nil), strings.Join(parts, "")
		w.counted("k", 1, parts...)
		broken := false
		w.faults["disk1"] = func(call blobtest.Call) blobtest.Fault {
			if call.Op != blobtest.OpGet || broken || len(whole) <= small {
				return blobtest.Fault{}
			}
			broken = true
			return blobtest.Fault{Kind: blobtest.Partial, Keep: int64(len(parts[0])) - 1, Err: io.ErrUnexpectedEOF}
		}
		rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
		w.must(err)
		var got strings.Builder
		buf := make([]byte, 10<<10)
		for err == nil {
			w.clock.Advance(grace / 3)
			_, expireErr := w.db.Expire(w.ctx, ledger.Batch{Limit: 9})
			w.must(expireErr)
			w.clean("disk1")
			var n int
			n, err = rd.Body.Read(buf)
			got.Write(buf[:n])
		}
		if err != io.EOF || got.String() != whole {
			t.Errorf("%s: %d bytes of %d, %v", name, got.Len(), len(whole), err)
		}
		w.must(rd.Body.Close())
		w.empty()
	}
}

// A copy could be read without being counted.
func TestCountedIsNotCopied(t *testing.T) {
	w := newWorld(t, nil)
	w.counted("k", 2, "data")
	w.put("plain", "plain")
	for _, r := range []object.CopyRequest{
		{SourceKey: "k", Key: "c"}, {SourceKey: "k", Key: "k"}, {SourceKey: "plain", Key: "plain", Reads: 1},
	} {
		r.SourceBucket, r.Bucket = bucket, bucket
		_, err := w.Copy(w.ctx, r)
		w.wants(err, lethe.ErrCounted)
	}
	up, err := w.CreateUpload(w.ctx, object.UploadRequest{Bucket: bucket, Key: "u"})
	w.must(err)
	_, err = w.CopyPart(w.ctx, object.PartCopyRequest{Bucket: bucket, Key: "u", Upload: up.ID, Number: 1, SourceBucket: bucket, SourceKey: "k"})
	w.wants(err, lethe.ErrCounted)
	if n := w.left("k"); n != 2 {
		t.Errorf("%d reads are left", n)
	}
	_, err = w.Copy(w.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: "plain", Bucket: bucket, Key: "once", Reads: 1})
	w.must(err)
	w.has("once", "plain")
	w.hasNot("once")
}
