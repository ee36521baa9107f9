package blob_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/blob"
)

func TestForeignNames(t *testing.T) {
	for _, key := range []string{"a", "Photos/Größe 1+2%.JPG", ".hidden", "a/...", "a/", "a/b/", strings.Repeat("x", 1024)} {
		if err := blob.CheckForeign(key); err != nil {
			t.Error(err)
		}
	}
	for _, key := range []string{"", "/", "/a", "a//", "a//b", "../", "..", "../a", "a/../b", "./a", "a\x00b", "a\nb", "a\x7f", "a\xff", `a\b`, "a\uffff", strings.Repeat("x", 1025)} {
		if err := blob.CheckForeign(key); !errors.Is(err, blob.ErrInvalidKey) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
