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
		{{Digest: a, Size: 1}}, {{Digest: a, Size: 2}}, {{Digest: b, Size: 1}}, {{Digest: a, Size: 1}, {Digest: b, Size: 1}}, {{Digest: b, Size: 1}, {Digest: a, Size: 1}},
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
	if d, _ := lethe.MultipartDigest([]lethe.SegmentSum{{Digest: a, Size: 1}, {Digest: b, Size: 2}}); d != want {
		t.Errorf("digest is %s, was %s", d, want)
	}
	if _, err := lethe.MultipartDigest([]lethe.SegmentSum{{Digest: "xy", Size: 1}}); !errors.Is(err, lethe.ErrCorrupt) {
		t.Errorf("bad digest: %v", err)
	}
}
