package adopt

import (
	"strings"
	"testing"
)

// Keys that are never deleted are reported as such, not as missing objects.
func TestOddKeysAreNotMissing(t *testing.T) {
	for _, c := range []struct {
		s       Sampled
		problem bool
		want    []string
	}{
		{Sampled{Named: 4, Found: 1, Odd: []string{"a", "b", "c"}}, false, []string{"3 of 4 sampled objects have keys that are never deleted"}},
		{Sampled{Named: 4, Found: 1, Odd: []string{"a"}, Missing: "x"}, true, []string{`"x" is not there`, "1 of 4 sampled objects have keys that are never deleted"}},
		{Sampled{Named: 2, Found: 2}, false, []string{"all of 2 sampled objects are in the bucket"}},
	} {
		found := c.s.Findings("p/")
		if Problems(found) != c.problem || len(found) != len(c.want) {
			t.Errorf("%+v: %+v", c.s, found)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(found[i].What, want) {
				t.Errorf("%+v: %+v, want %q", c.s, found, want)
			}
		}
	}
}
