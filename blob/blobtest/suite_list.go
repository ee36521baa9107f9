package blobtest

import (
	"errors"
	"slices"
	"testing"

	"github.com/lethe-storage/lethe/blob"
)

// listed are keys in byte order: a slash sorts before digits and letters.
var listed = []string{
	"a/0", "a/00/z", "a/a/a", "a/a/b", "a/a0", "a/b", "a0", "a0a", "aa/a", "aa/a0/b", "aab", "ab",
	"b/0/1", "b/01", "b0/1", "c", "s1/00/x", "s1/00/y", "s1/01/w", "s10/00/x",
}

func putListed(t *testing.T, s blob.Store) {
	if !slices.IsSorted(listed) {
		t.Fatal("the keys of this test are not in order")
	}
	for i := range listed {
		k := listed[i*7%len(listed)]
		put(t, s, k, []byte(k))
	}
}

func testListOrder(t *testing.T, s blob.Store) {
	wantKeys(t, "empty", list(t, s, "", ""), nil)
	putListed(t, s)
	prefixes := []string{"", "a", "a/", "a/a", "a/a/", "a0", "aa", "b", "b/", "b/0", "s1/", "s1/0", "s1/00/", "s1/00/x", "t", "A", "a//", "zzz"}
	for _, prefix := range prefixes {
		for _, after := range append([]string{"", "a", "a/", "a/a/", "a/a/zz", "b/0", "s", "s1/00", "zz", "\xff", "A"}, listed...) {
			var want []string
			for _, k := range listed {
				if k > after && len(k) >= len(prefix) && k[:len(prefix)] == prefix {
					want = append(want, k)
				}
			}
			wantKeys(t, "prefix "+prefix+" after "+after, list(t, s, prefix, after), want)
		}
	}
	err := s.List(t.Context(), "", "", func(info blob.Info) error {
		if info.Size != int64(len(info.Key)) {
			t.Errorf("%s is listed with %d bytes", info.Key, info.Size)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func testListPages(t *testing.T, s blob.Store) {
	putListed(t, s)
	enough := errors.New("page is full")
	for size := range 6 {
		var got []string
		for after, more := "", true; more; {
			var page []string
			err := s.List(t.Context(), "", after, func(info blob.Info) error {
				if len(page) > size {
					return enough
				}
				page = append(page, info.Key)
				return nil
			})
			if err != nil && !errors.Is(err, enough) {
				t.Fatal(err)
			}
			if more = err != nil; more {
				after = page[len(page)-1]
			}
			got = append(got, page...)
		}
		wantKeys(t, "pages", got, listed)
	}
}

func testListStops(t *testing.T, s blob.Store) {
	putListed(t, s)
	stop := errors.New("stop")
	for n := range len(listed) {
		seen := 0
		err := s.List(t.Context(), "", "", func(blob.Info) error {
			if seen++; seen > n {
				return stop
			}
			return nil
		})
		if err != stop || seen != n+1 {
			t.Fatalf("a walk stopped at %d went to %d and returned %v", n+1, seen, err)
		}
	}
}

// testListAndChange deletes and puts from within a walk: what exists during the
// whole walk is listed, once and in order.
func testListAndChange(t *testing.T, s blob.Store) {
	putListed(t, s)
	var got []string
	err := s.List(t.Context(), "", "", func(info blob.Info) error {
		got = append(got, info.Key)
		if i := slices.Index(listed, info.Key); i >= 0 && i%2 == 0 {
			deleteAll(t, s, info.Key)
			put(t, s, info.Key+"x", nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Fatalf("not in order: %q", got)
	}
	for i, k := range listed {
		if i%2 == 1 && !slices.Contains(got, k) {
			t.Errorf("%s was there all the time and is not listed", k)
		}
	}
}
