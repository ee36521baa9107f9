package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/blob"
)

// Trait is what the contract leaves open to a backend.
type Trait int

// SaysDeleted: a Delete may return nil for a key that was absent.
const SaysDeleted Trait = 1

// Run tests that the stores that open returns keep the contract of blob.Store. open
// is called once per subtest and returns an empty store, with room for a few
// megabytes; it registers its own t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) blob.Store, traits ...Trait) {
	absent := absence(slices.Contains(traits, SaysDeleted))
	for _, test := range []struct {
		name string
		run  func(*testing.T, blob.Store)
	}{
		{"put and get", testPutGet},
		{"ranges", testRanges},
		{"write once", testWriteOnce},
		{"unknown size", testUnknownSize},
		{"wrong body", testWrongBody},
		{"invalid keys", testInvalidKeys},
		{"absent", absent.testAbsent},
		{"cancelled", testCancelled},
		{"given up", testCheck},
		{"delete too late", testDeleteCheck},
		{"get while deleted", testGetWhileDeleted},
		{"delete", absent.testDelete},
		{"delete huge batch", absent.testDeleteHuge},
		{"put after delete", testPutAfterDelete},
		{"list order", testListOrder},
		{"list pages", testListPages},
		{"list stops", testListStops},
		{"list and change", testListAndChange},
		{"concurrent put", testConcurrentPut},
		{"concurrent mix", testConcurrentMix},
		{"atomic put", testAtomicPut},
		{"abilities", testAbilities},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// absence is whether a Delete may report an absent key as deleted.
type absence bool

// want checks the result of a Delete for an absent key.
func (a absence) want(t *testing.T, what string, err error) {
	t.Helper()
	if !bool(a) || err != nil {
		wantErr(t, what, err, blob.ErrNotExist)
	}
}

// body returns n bytes that depend on the seed.
func body(seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func put(t *testing.T, s blob.Store, key string, data []byte) {
	t.Helper()
	if err := s.Put(t.Context(), key, bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func read(s blob.Store, key string, offset, length int64) ([]byte, error) {
	rc, err := s.Get(context.Background(), key, offset, length)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(rc)
	return data, errors.Join(err, rc.Close())
}

func wantBytes(t *testing.T, s blob.Store, key string, want []byte) {
	t.Helper()
	got, err := read(s, key, 0, -1)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("get %s: %d bytes, %v; want the %d bytes put", key, len(got), err, len(want))
	}
	info, err := s.Stat(t.Context(), key)
	if err != nil || info.Size != int64(len(want)) || info.Key != key {
		t.Fatalf("stat %s: %+v, %v; want size %d", key, info, err, len(want))
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v; want %v", what, err, want)
	}
}

// wantAbsent checks that the key is absent for every method.
func wantAbsent(t *testing.T, s blob.Store, key string) {
	t.Helper()
	_, err := s.Stat(t.Context(), key)
	wantErr(t, "stat "+key, err, blob.ErrNotExist)
	_, err = read(s, key, 0, -1)
	wantErr(t, "get "+key, err, blob.ErrNotExist)
	for _, listed := range list(t, s, "", "") {
		if listed == key {
			t.Fatalf("%s is absent and listed", key)
		}
	}
}

func list(t *testing.T, s blob.Store, prefix, after string) []string {
	t.Helper()
	var keys []string
	err := s.List(t.Context(), prefix, after, func(info blob.Info) error {
		keys = append(keys, info.Key)
		return nil
	})
	if err != nil {
		t.Fatalf("list %q after %q: %v", prefix, after, err)
	}
	return keys
}

func wantKeys(t *testing.T, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("%s: got %q; want %q", what, got, want)
	}
}

// deleteAll deletes the keys, checks the number and order of the results and
// returns them.
func deleteAll(t *testing.T, s blob.Store, keys ...string) []blob.Result {
	t.Helper()
	results, err := s.Delete(t.Context(), keys)
	if err != nil {
		t.Fatalf("delete: %v", err)
	}
	if len(results) != len(keys) {
		t.Fatalf("delete of %d keys: %d results", len(keys), len(results))
	}
	for i, r := range results {
		if r.Key != keys[i] {
			t.Fatalf("result %d is for %q; want %q", i, r.Key, keys[i])
		}
	}
	return results
}

// key returns a key in the store's naming: folder and name from a number.
func key(i int) string { return fmt.Sprintf("store0/%02x/blob%06d", i*7%256, i) }
