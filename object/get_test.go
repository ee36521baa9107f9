package object_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// cut is what a range of a body is, ok false if it is not satisfiable. It is the
// specification, byte by byte.
func cut(data string, r object.Range) (string, bool) {
	from := r.Offset
	if from < 0 {
		from = max(0, int64(len(data))+from)
	}
	var out []byte
	for i := range int64(len(data)) {
		if i >= from && (r.Length == -1 || i < from+r.Length) {
			out = append(out, data[i])
		}
	}
	return string(out), len(out) > 0
}

func TestRanges(t *testing.T) {
	data := noise(3*small, 40)
	contents := map[string][]string{
		"empty": {""}, "tiny": {data[:100]}, "large": {data},
		"parts": {data[:1000], data[1000:1005], data[1005:]},
		"small": {data[:10], data[10:15], data[15:20]},
	}
	offsets := []int64{0, 1, 9, 10, 14, 15, 99, 100, 999, 1000, 1004, 1005, 3*small - 1, 3 * small, 1 << 40,
		-1, -5, -100, -2000, -3 * small, -1 << 40}
	for _, cached := range []bool{false, true} {
		w := newWorld(t, func(o *object.Options) {
			if cached {
				o.Cache = memory(t)
			}
		})
		for key, parts := range contents {
			w.store(key, parts...)
			whole := ""
			for _, p := range parts {
				whole += p
			}
			for _, offset := range offsets {
				for _, length := range []int64{-1, 0, 1, 6, 1000, 1 << 40} {
					w.range1(key, whole, object.Range{Offset: offset, Length: length})
				}
			}
		}
	}
}

func (w *world) range1(key, whole string, r object.Range) {
	w.t.Helper()
	g := object.GetRequest{Bucket: bucket, Key: key, Range: &r}
	want, ok := cut(whole, r)
	got, err := w.read(g)
	_, headErr := w.Head(w.ctx, g)
	if !ok {
		w.wants(err, lethe.ErrInvalidRange)
		w.wants(headErr, lethe.ErrInvalidRange)
		return
	}
	w.must(err)
	w.must(headErr)
	if got != want {
		w.t.Fatalf("%s %+v: %d bytes, want %d", key, r, len(got), len(want))
	}
}

func TestParts(t *testing.T) {
	w := newWorld(t, nil)
	parts := []string{noise(2000, 41), noise(5, 42), noise(3000, 43)}
	w.upload("multi", parts...)
	w.put("whole", "data")
	w.put("empty", "")
	for i, want := range parts {
		got, err := w.read(object.GetRequest{Bucket: bucket, Key: "multi", Part: i + 1})
		w.must(err)
		if got != want {
			t.Errorf("part %d has %d bytes, want %d", i+1, len(got), len(want))
		}
	}
	for key, want := range map[string]string{"whole": "data", "empty": ""} {
		got, err := w.read(object.GetRequest{Bucket: bucket, Key: key, Part: 1})
		w.must(err)
		if got != want {
			t.Errorf("%s: part 1 is %q", key, got)
		}
	}
	for _, r := range []object.GetRequest{
		{Key: "multi", Part: 4}, {Key: "whole", Part: 2}, {Key: "multi", Part: -1},
		{Key: "multi", Part: 1, Range: &object.Range{Length: 1}},
	} {
		r.Bucket = bucket
		_, err := w.read(r)
		w.wants(err, lethe.ErrInvalidRange)
	}
}

func TestReadConditions(t *testing.T) {
	w := newWorld(t, nil)
	w.clock.Advance(700 * time.Millisecond) // HTTP knows whole seconds only
	o := w.put("k", "data")
	tag, at := o.ETag, o.ModifiedAt
	second, failed, same := at.Add(-700*time.Millisecond), lethe.ErrPreconditionFailed, lethe.ErrNotModified
	before, after := second.Add(-time.Second), second.Add(time.Second)
	for _, c := range []struct {
		If   object.ReadCondition
		want error
	}{
		{object.ReadCondition{}, nil},
		{object.ReadCondition{IfMatch: tag}, nil},
		{object.ReadCondition{IfMatch: "x, " + tag}, nil},
		{object.ReadCondition{IfMatch: `"x","` + tag + `"`}, nil},
		{object.ReadCondition{IfMatch: "*"}, nil},
		{object.ReadCondition{IfMatch: "x"}, failed},
		{object.ReadCondition{IfMatch: "W/" + tag}, failed},
		{object.ReadCondition{IfNoneMatch: tag}, same},
		{object.ReadCondition{IfNoneMatch: "*"}, same},
		{object.ReadCondition{IfNoneMatch: "x,W/" + tag}, same},
		{object.ReadCondition{IfNoneMatch: "x"}, nil},
		{object.ReadCondition{IfModifiedSince: before}, nil},
		{object.ReadCondition{IfModifiedSince: second}, same},
		{object.ReadCondition{IfModifiedSince: after}, same},
		{object.ReadCondition{IfUnmodifiedSince: before}, failed},
		{object.ReadCondition{IfUnmodifiedSince: second}, nil},
		{object.ReadCondition{IfUnmodifiedSince: after}, nil},
		// The order of RFC 9110: ETags outweigh times, "failed" outweighs "same".
		{object.ReadCondition{IfMatch: tag, IfUnmodifiedSince: before}, nil},
		{object.ReadCondition{IfMatch: "x", IfUnmodifiedSince: after}, failed},
		{object.ReadCondition{IfNoneMatch: "x", IfModifiedSince: after}, nil},
		{object.ReadCondition{IfNoneMatch: tag, IfModifiedSince: before}, same},
		{object.ReadCondition{IfMatch: "x", IfNoneMatch: tag}, failed},
		{object.ReadCondition{IfMatch: tag, IfNoneMatch: tag}, same},
		{object.ReadCondition{IfUnmodifiedSince: before, IfModifiedSince: after}, failed},
		{object.ReadCondition{IfUnmodifiedSince: after, IfNoneMatch: tag}, same},
	} {
		_, err := w.read(object.GetRequest{Bucket: bucket, Key: "k", If: c.If})
		_, head := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: "k", If: c.If})
		for _, err := range []error{err, head} {
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%+v: %v, want %v", c.If, err, c.want)
			}
		}
	}
	_, err := w.read(object.GetRequest{Bucket: bucket, Key: "none", If: object.ReadCondition{IfMatch: "*"}})
	w.wants(err, lethe.ErrNoSuchKey)
}

func TestCache(t *testing.T) {
	c := memory(t)
	w := newWorld(t, func(o *object.Options) { o.Cache = c })
	o := w.put("k", "data")
	w.has("k", "data")
	w.lose(w.copies(o)[0])
	w.has("k", "data")
	w.put("other", "data") // the very content, still in the cache
	w.has("other", "data")

	// What the cache holds is proven before it is believed.
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	c.Put(w.ctx, cache.Key(who.ID, o.ContentID), []byte("lies"), time.Hour)
	_, err = w.get("k")
	w.wants(err, lethe.ErrCorrupt)
	if _, ok := c.Get(w.ctx, cache.Key(who.ID, o.ContentID)); ok {
		t.Error("a wrong value stays in the cache")
	}
}

func TestWhatWasJustPutIsCached(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Cache = memory(t) })
	w.lose(w.copies(w.put("k", "data"))[0])
	w.has("k", "data")
	_, err := w.Delete(w.ctx, deletes("k"))
	w.must(err)
	w.hasNot("k")
}

func TestDeletedContentLeavesTheCache(t *testing.T) {
	c := memory(t)
	w := newWorld(t, func(o *object.Options) { o.Cache = c })
	var items []ledger.DeleteItem
	var contents []lethe.ID
	for i := range 20 {
		key := fmt.Sprint(i)
		contents = append(contents, w.put(key, noise(10, uint64(i))).ContentID)
		w.has(key, noise(10, uint64(i)))
		items = append(items, ledger.DeleteItem{Key: key})
	}
	_, err := w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: items})
	w.must(err)
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	for _, id := range contents {
		if _, ok := c.Get(w.ctx, cache.Key(who.ID, id)); ok {
			t.Errorf("content %s is still cached", id)
		}
	}
	w.empty()
}

func TestExpiredIsHiddenEvenIfCached(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Cache = memory(t) })
	_, err := w.Update(w.ctx, ledger.Update{Bucket: bucket, Key: w.put("k", "data").Key, TTL: &ledger.TTLChange{TTL: time.Minute}})
	w.must(err)
	w.put("same", "data")
	w.has("k", "data")
	w.clock.Advance(time.Minute)
	_, err = w.get("k")
	w.wants(err, lethe.ErrNoSuchKey)
	w.has("same", "data")
}

// What needs no byte reads none: HEAD, 304, 412, and the source of a copy.
func TestBytesAreReadOnlyWhereTheyAreNeeded(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Inline = small })
	o := w.put("k", "body")
	read := func(r object.GetRequest) error {
		r.Bucket, r.Key = bucket, "k"
		_, err := w.read(r)
		return err
	}
	for name, c := range map[string]struct {
		do    func() error
		want  error
		reads int
	}{
		"head": {func() error {
			_, err := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
			return err
		}, nil, 0},
		"not modified":        {func() error { return read(object.GetRequest{If: object.ReadCondition{IfNoneMatch: o.ETag}}) }, lethe.ErrNotModified, 0},
		"precondition failed": {func() error { return read(object.GetRequest{If: object.ReadCondition{IfMatch: "other"}}) }, lethe.ErrPreconditionFailed, 0},
		"modified":            {func() error { return read(object.GetRequest{If: object.ReadCondition{IfNoneMatch: "other"}}) }, nil, 1},
		"get":                 {func() error { return read(object.GetRequest{}) }, nil, 1},
		"copy": {func() error {
			_, err := w.Copy(w.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: "k", Bucket: bucket, Key: "copy"})
			return err
		}, nil, 0},
	} {
		before := w.ledger.count("Resolve")
		w.wants(c.do(), c.want)
		if n := w.ledger.count("Resolve") - before; n != c.reads {
			t.Errorf("%s: bytes are read %d times, want %d", name, n, c.reads)
		}
	}
}
