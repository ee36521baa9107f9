package lethe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
)

func TestMultipartDigest(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	seen := map[string]int{}
	for i, segments := range [][]lethe.SegmentSum{
		{{a, 1}}, {{a, 2}}, {{b, 1}}, {{a, 1}, {b, 1}}, {{b, 1}, {a, 1}},
	} {
		d, err := lethe.MultipartDigest(segments)
		if err != nil || len(d) != 64 {
			t.Fatalf("%v: %q, %v", segments, d, err)
		}
		if j, dup := seen[d]; dup {
			t.Errorf("lists %d and %d have the same digest", i, j)
		}
		seen[d] = i
	}
	// The stored digests depend on it: it must never change.
	const want = "bfd5504e041446d3d80e7a1ea94ae41902622f99999020ba70dd7c4c6591a80e"
	if d, _ := lethe.MultipartDigest([]lethe.SegmentSum{{a, 1}, {b, 2}}); d != want {
		t.Errorf("digest is %s, was %s", d, want)
	}
	if _, err := lethe.MultipartDigest([]lethe.SegmentSum{{"xy", 1}}); !errors.Is(err, lethe.ErrCorrupt) {
		t.Errorf("bad digest: %v", err)
	}
}
