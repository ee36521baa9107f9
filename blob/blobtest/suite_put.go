package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/lethe-storage/lethe/blob"
)

func testPutGet(t *testing.T, s blob.Store) {
	for i, n := range []int{0, 1, 511, 512, 4096, 128 << 10, 1<<20 + 1, 3 << 20} {
		put(t, s, key(i), body(uint64(i), n))
		wantBytes(t, s, key(i), body(uint64(i), n))
	}
	put(t, s, "epoch", []byte("one segment"))
	wantBytes(t, s, "epoch", []byte("one segment"))
	deep := strings.Repeat("a/", blob.MaxKey/2) + "b"
	put(t, s, deep, []byte("many segments"))
	wantBytes(t, s, deep, []byte("many segments"))
	long := strings.Repeat("x", blob.MaxKey)
	put(t, s, long, []byte("longest"))
	wantBytes(t, s, long, []byte("longest"))
}

func testRanges(t *testing.T, s blob.Store) {
	data := body(1, 10000)
	put(t, s, key(1), data)
	for _, r := range []struct{ offset, length, from, to int64 }{
		{0, -1, 0, 10000}, {0, 0, 0, 0}, {0, 1, 0, 1}, {9999, 1, 9999, 10000},
		{5000, -1, 5000, 10000}, {5000, 100, 5000, 5100}, {9990, 100, 9990, 10000},
		{10000, -1, 0, 0}, {10000, 5, 0, 0}, {20000, -1, 0, 0}, {20000, 5, 0, 0},
	} {
		got, err := read(s, key(1), r.offset, r.length)
		if err != nil || !bytes.Equal(got, data[r.from:r.to]) {
			t.Errorf("get %d+%d: %d bytes, %v; want %d", r.offset, r.length, len(got), err, r.to-r.from)
		}
	}
	for _, r := range [][2]int64{{-1, 5}, {0, -2}} {
		if rc, err := s.Get(t.Context(), key(1), r[0], r[1]); err == nil {
			t.Errorf("get %d+%d: no error", r[0], r[1])
			_ = rc.Close()
		}
	}
}

func testWriteOnce(t *testing.T, s blob.Store) {
	first := body(1, 1000)
	put(t, s, key(1), first)
	for _, second := range [][]byte{body(2, 1000), body(1, 1000), nil, body(3, 5000)} {
		err := s.Put(t.Context(), key(1), bytes.NewReader(second), int64(len(second)))
		wantErr(t, "put again", err, blob.ErrExist)
		if blob.Unknown(err) {
			t.Errorf("put again: the outcome of %v is open", err)
		}
		wantBytes(t, s, key(1), first)
	}
}

func testUnknownSize(t *testing.T, s blob.Store) {
	for i, n := range []int{0, 1, 100000} {
		data := body(uint64(i), n)
		if err := s.Put(t.Context(), key(i), iotest.OneByteReader(bytes.NewReader(data)), blob.UnknownSize); err != nil {
			t.Fatalf("put %d bytes of unknown size: %v", n, err)
		}
		wantBytes(t, s, key(i), data)
	}
}

func testWrongBody(t *testing.T, s blob.Store) {
	broken := errors.New("the client went away")
	data := body(1, 200000)
	for _, test := range []struct {
		name string
		r    io.Reader
		size int64
		want error
	}{
		{"empty for declared", strings.NewReader(""), 5, io.ErrUnexpectedEOF},
		{"early end", bytes.NewReader(data), 200001, blob.ErrSize},
		{"one too many", bytes.NewReader(data), 199999, blob.ErrSize},
		{"many too many", bytes.NewReader(data), 1, blob.ErrSize},
		{"some for none", bytes.NewReader(data), 0, blob.ErrSize},
		{"too long byte by byte", iotest.OneByteReader(bytes.NewReader(data[:100])), 99, blob.ErrSize},
		{"fails at once", iotest.ErrReader(broken), 5, broken},
		{"fails at once, size unknown", iotest.ErrReader(broken), blob.UnknownSize, broken},
		{"fails in the middle", io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), 300000, broken},
		{"fails after the last byte", io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), 200000, broken},
		{"negative size", bytes.NewReader(data), -2, blob.ErrSize},
	} {
		err := s.Put(t.Context(), key(1), test.r, test.size)
		wantErr(t, test.name, err, test.want)
		wantErr(t, test.name, err, blob.ErrNotDone)
		wantAbsent(t, s, key(1))
	}
	put(t, s, key(1), data)
	wantBytes(t, s, key(1), data)
}

var invalidKeys = []string{
	"", "/", "a/", "/a", "a//b", ".", "..", "../a", "a/../b", "a/./b", "A", "a/B/c", "a b", "a\x00b", "a\n",
	"ä", "a\\b", "a-b", "a_b", "a.b", ".tmp/a", "lost+found", "a%2fb", "\xff", "a/\xe2\x80\xae",
	strings.Repeat("x", blob.MaxKey+1), strings.Repeat("a/", blob.MaxKey/2+1) + "b",
}

func testInvalidKeys(t *testing.T, s blob.Store) {
	for _, key := range invalidKeys {
		wantErr(t, "check", blob.CheckKey(key), blob.ErrInvalidKey)
		wantErr(t, "put", s.Put(t.Context(), key, strings.NewReader("x"), 1), blob.ErrInvalidKey)
		_, err := s.Get(t.Context(), key, 0, -1)
		wantErr(t, "get", err, blob.ErrInvalidKey)
		_, err = s.Stat(t.Context(), key)
		wantErr(t, "stat", err, blob.ErrInvalidKey)
	}
	put(t, s, "good", []byte("x"))
	results := deleteAll(t, s, append(append([]string(nil), invalidKeys...), "good")...)
	for _, r := range results[:len(invalidKeys)] {
		wantErr(t, "delete", r.Err, blob.ErrInvalidKey)
	}
	if r := results[len(invalidKeys)]; r.Err != nil {
		t.Errorf("valid key among invalid ones: %v", r.Err)
	}
	wantKeys(t, "list", list(t, s, "", ""), nil)
}

func (a absence) testAbsent(t *testing.T, s blob.Store) {
	wantAbsent(t, s, key(1))
	put(t, s, "a/b/c", []byte("x"))
	wantAbsent(t, s, "a/b/d")
	wantAbsent(t, s, "a/c/d")
	wantAbsent(t, s, "a/b")     // the folder of a key is no blob
	wantAbsent(t, s, "a/b/c/d") // nor is a path below one
	for _, r := range deleteAll(t, s, "a/b/d", "a/b", "a/b/c/d", "b") {
		a.want(t, "delete "+r.Key, r.Err)
	}
	wantBytes(t, s, "a/b/c", []byte("x"))
}

func testCancelled(t *testing.T, s blob.Store) {
	put(t, s, key(1), []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Put(ctx, key(2), strings.NewReader("x"), 1)
	wantErr(t, "put", err, context.Canceled)
	wantErr(t, "put", err, blob.ErrNotDone)
	wantAbsent(t, s, key(2))
	_, err = s.Delete(ctx, []string{key(1)})
	wantErr(t, "delete", err, context.Canceled)
	wantErr(t, "list", s.List(ctx, "", "", func(blob.Info) error { return nil }), context.Canceled)
	_, err = s.Stat(ctx, key(3))
	wantErr(t, "stat", err, context.Canceled)
	_, err = s.Get(ctx, key(1), 0, -1)
	wantErr(t, "get", err, context.Canceled)
	wantBytes(t, s, key(1), []byte("x"))

	ctx, cancel = context.WithCancel(t.Context())
	r := io.MultiReader(bytes.NewReader(body(1, 100000)), readerFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, "more"), nil
	}))
	err = s.Put(ctx, key(2), r, blob.UnknownSize)
	wantErr(t, "put cancelled in the middle", err, context.Canceled)
	wantErr(t, "put cancelled in the middle", err, blob.ErrNotDone)
	wantAbsent(t, s, key(2))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// testCheck checks that the Check is called after the body was read, before bytes
// appear under the key.
func testCheck(t *testing.T, s blob.Store) {
	refused := errors.New("the intent was given up")
	for i, n := range []int{0, 100, 3 << 20} {
		in := bytes.NewReader(body(uint64(i), n))
		asked := 0
		ctx := blob.WithCheck(t.Context(), func() error {
			if asked++; in.Len() > 0 {
				return nil // there is more to read: it is called again
			}
			return refused
		})
		err := s.Put(ctx, key(i), in, int64(n))
		wantErr(t, "put what was given up", err, refused)
		wantErr(t, "put what was given up", err, blob.ErrNotDone)
		if blob.Unknown(err) || asked == 0 {
			t.Errorf("asked %d times; the outcome of %v is open", asked, err)
		}
		wantAbsent(t, s, key(i))
		ctx = blob.WithCheck(t.Context(), func() error { return nil })
		if err := s.Put(ctx, key(i), bytes.NewReader(body(uint64(i), n)), int64(n)); err != nil {
			t.Errorf("put what stands: %v", err)
		}
	}
}
