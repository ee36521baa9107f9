package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

func testGetWhileDeleted(t *testing.T, s blob.Store) {
	data := body(1, 1<<20)
	put(t, s, key(1), data)
	rc, err := s.Get(t.Context(), key(1), 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	head := make([]byte, 1000)
	if _, err := io.ReadFull(rc, head); err != nil {
		t.Fatal(err)
	}
	if r := deleteAll(t, s, key(1)); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	wantAbsent(t, s, key(1))
	rest, err := io.ReadAll(rc)
	if err != nil || !bytes.Equal(append(head, rest...), data) {
		t.Fatalf("a body deleted while it was read: %d bytes, %v", len(rest), err)
	}
}

func (a absence) testDelete(t *testing.T, s blob.Store) {
	deleteAll(t, s)
	for i := range 10 {
		put(t, s, key(i), body(uint64(i), 100))
	}
	keys := []string{key(3), "absent", key(1), "store0/nofolder/x", key(3), "BAD", key(9)}
	want := []error{nil, blob.ErrNotExist, nil, blob.ErrNotExist, blob.ErrNotExist, blob.ErrInvalidKey, nil}
	for i, r := range deleteAll(t, s, keys...) {
		switch {
		case want[i] == blob.ErrNotExist:
			a.want(t, r.Key, r.Err)
		case !errors.Is(r.Err, want[i]):
			t.Errorf("%s: %v; want %v", r.Key, r.Err, want[i])
		}
		if blob.Unknown(r.Err) {
			t.Errorf("%s: the outcome of %v is open", r.Key, r.Err)
		}
	}
	for i := range 10 {
		if i == 1 || i == 3 || i == 9 {
			wantAbsent(t, s, key(i))
		} else {
			wantBytes(t, s, key(i), body(uint64(i), 100))
		}
	}
}

func (a absence) testDeleteHuge(t *testing.T, s blob.Store) {
	const n = 1000
	var keys, kept []string
	for i := range n {
		if i%2 == 0 {
			put(t, s, key(i), []byte("x"))
		}
		keys = append(keys, key(i))
	}
	put(t, s, "kept", nil)
	kept = append(kept, "kept")
	for i, r := range deleteAll(t, s, keys...) {
		if i%2 == 1 {
			a.want(t, r.Key, r.Err)
		} else if r.Err != nil {
			t.Fatalf("%s: %v; want it deleted", r.Key, r.Err)
		}
	}
	wantKeys(t, "left", list(t, s, "", ""), kept)
}

func testPutAfterDelete(t *testing.T, s blob.Store) {
	for i := range 3 {
		data := body(uint64(i), 1000)
		put(t, s, key(1), data)
		wantBytes(t, s, key(1), data)
		wantKeys(t, "list", list(t, s, "", ""), []string{key(1)})
		deleteAll(t, s, key(1))
		wantAbsent(t, s, key(1))
	}
}

func testAbilities(t *testing.T, s blob.Store) {
	put(t, s, key(1), body(1, 1000))
	if sp, ok := s.(blob.Spacer); ok {
		if free, err := sp.Free(t.Context()); err == nil && free < 0 || err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("free: %d, %v", free, err)
		}
	}
	u, ok := s.(blob.Unfinished)
	if !ok {
		return
	}
	during := readerFunc(func([]byte) (int, error) {
		n, _, err := u.SweepUnfinished(context.Background(), lethe.Time(math.MaxInt64))
		if n != 0 || err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("sweep during a put removed %d, %v", n, err)
		}
		return 0, io.EOF
	})
	data := body(2, 300000)
	if err := s.Put(t.Context(), key(2), io.MultiReader(bytes.NewReader(data), during), int64(len(data))); err != nil {
		t.Fatalf("put that was swept: %v", err)
	}
	wantBytes(t, s, key(2), data)
	wantBytes(t, s, key(1), body(1, 1000))
}

// testDeleteCheck checks that the Check is called before anything is removed.
func testDeleteCheck(t *testing.T, s blob.Store) {
	var keys []string
	for i := range 3 {
		put(t, s, key(i), body(uint64(i), 100))
		keys = append(keys, key(i))
	}
	refused := errors.New("the backend may be another's by now")
	for n := 1; n <= len(keys); n++ {
		results, err := s.Delete(blob.WithCheck(t.Context(), func() error { return refused }), keys[:n])
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		wantErr(t, "delete too late", err, refused)
		wantErr(t, "delete too late", err, blob.ErrNotDone)
		if blob.Unknown(err) {
			t.Errorf("the outcome of %v is open", err)
		}
	}
	for i := range keys {
		wantBytes(t, s, key(i), body(uint64(i), 100))
	}
	results, err := s.Delete(blob.WithCheck(t.Context(), func() error { return nil }), keys)
	if err != nil || len(results) != len(keys) {
		t.Fatalf("delete in time: %v, %v", results, err)
	}
	for _, k := range keys {
		wantAbsent(t, s, k)
	}
}
