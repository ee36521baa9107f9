package object_test

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/cache/memcache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
)

// upload makes an object of parts with these bodies.
func (w *world) upload(key string, parts ...string) ledger.Object {
	w.t.Helper()
	up, err := w.CreateUpload(w.ctx, object.UploadRequest{Bucket: bucket, Key: key})
	w.must(err)
	r := object.CompleteRequest{Bucket: bucket, Key: key, Upload: up.ID}
	for i, body := range parts {
		r.Parts = append(r.Parts, w.part(up, i+1, body))
	}
	res, err := w.Complete(w.ctx, r)
	w.must(err)
	return res.Object
}

// part stores a part and names it.
func (w *world) part(up ledger.Upload, number int, body string) ledger.PartName {
	w.t.Helper()
	p, err := w.PutPart(w.ctx, object.PartRequest{
		Bucket: bucket, Key: up.Key, Upload: up.ID, Number: number, Body: strings.NewReader(body), Size: int64(len(body)),
	})
	w.must(err)
	return ledger.PartName{Number: p.Number, ETag: p.ETag}
}

// store puts one part as a whole object, more as an upload.
func (w *world) store(key string, parts ...string) ledger.Object {
	if len(parts) == 1 {
		return w.put(key, parts[0])
	}
	return w.upload(key, parts...)
}

// twice stores an object on both backends: what is written while the content is
// suspect joins it as a copy. The copy on disk1 is asked first.
func (w *world) twice(key string, parts ...string) ledger.Object {
	w.t.Helper()
	o := w.store(key, parts...)
	var ids []lethe.ID
	for _, b := range w.copies(o) {
		ids = append(ids, b.ID)
	}
	_, err := w.db.MarkSuspect(w.ctx, ids, "test")
	w.must(err)
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	second := &world{t: w.t, ctx: w.ctx, clock: w.clock, db: w.db}
	second.Store, err = object.New(object.Options{
		Ledger: ledgertest.ForObjects(w.db), Backends: map[string]blob.Store{"disk2": w.second}, StoreID: who.ID, Clock: w.clock, Small: small, MinPart: 5,
	})
	w.must(err)
	second.store("twin of "+key, parts...)
	_, err = w.db.MarkSound(w.ctx, ids, 0)
	w.must(err)
	if n := len(w.copies(o)); n != 2*len(ids) {
		w.t.Fatalf("%d copies of %d segments", n, len(ids))
	}
	return o
}

// copies lists the blobs of an object by segment, then as they are asked.
func (w *world) copies(o ledger.Object) []ledger.Blob {
	w.t.Helper()
	res, err := w.db.Resolve(w.ctx, bucket, o.Key)
	w.must(err)
	var all []ledger.Blob
	for _, seg := range res.Segments {
		all = append(all, seg.Blobs...)
	}
	return all
}

// rot changes the byte at offset of a blob on its disk.
func (w *world) rot(b ledger.Blob, offset int) {
	w.t.Helper()
	data, ok := w.backends[b.Backend].Bytes(w.key(b.ID))
	if !ok {
		w.t.Fatal("no bytes to damage")
	}
	bad := []byte(string(data))
	bad[offset] ^= 1
	w.backends[b.Backend].Set(w.key(b.ID), bad)
}

func (w *world) lose(b ledger.Blob) { w.backends[b.Backend].Lose(w.key(b.ID)) }

func memory(t testing.TB) cache.Cache {
	c, err := memcache.New(memcache.Options{Bytes: 1 << 20, MaxValue: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
