package blob_test

import (
	"errors"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// keySeeds are keys that are valid, and ways in which others were not.
var keySeeds = []string{
	"a", "a/b", "store0/4k/blob000001", "0/9/z", strings.Repeat("x", blob.MaxKey),
	"", "/", "a/", "/a", "a//b", ".", "..", "../a", "a/../b", "a/./b", ".tmp/x", "A", "a\x00", "a\\b",
	"C:", "a:b", "con/../a", "ä", "a\u0308", "\xff\xfe", "a%2e%2e", strings.Repeat("x", blob.MaxKey+1),
}

var keyForm = regexp.MustCompile(`\A[a-z0-9]+(/[a-z0-9]+)*\z`)

// A key is valid by its form alone, and a valid one is a path that stays below.
func FuzzCheckKey(f *testing.F) {
	for _, key := range keySeeds {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		err := blob.CheckKey(key)
		if want := len(key) <= blob.MaxKey && keyForm.MatchString(key); (err == nil) != want {
			t.Fatalf("%q: %v; want valid: %v", key, err, want)
		}
		if err != nil && !errors.Is(err, blob.ErrInvalidKey) {
			t.Fatalf("%q: %v does not wrap ErrInvalidKey", key, err)
		}
		if err == nil && (path.Clean(key) != key || !filepath.IsLocal(key)) {
			t.Fatalf("%q is valid and not a plain path", key)
		}
	})
}

func TestBlobKeysAreValid(t *testing.T) {
	for range 100 {
		key := lethe.BlobKey(lethe.RandomID(1), lethe.RandomID(2))
		if err := blob.CheckKey(key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}
