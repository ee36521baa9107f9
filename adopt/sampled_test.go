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
		{Sampled{Named: 4, Found: 1, Odd: []string{"a", "b", "c"}}, false, []string{"the keys of 3 of 4 sampled objects are never deleted"}},
		{Sampled{Named: 4, Found: 1, Odd: []string{"a"}, Missing: "x"}, true, []string{`"x" is not there`, "the keys of 1 of 4 sampled objects are never deleted"}},
		{Sampled{Named: 4, Found: 3, Missing: "x%20y", Spelled: "x y"}, false, []string{`"x y" instead of a key that is spelled otherwise`}},
		{Sampled{Named: 2, Found: 2}, false, []string{"all of 2 sampled objects are in the bucket"}},
		{Sampled{Named: 1, Found: 1}, false, []string{"the sampled object is in the bucket"}},
		{Sampled{Named: 1, Outside: []string{"x"}}, true, []string{"the keys of 1 of 1 sampled object lie outside"}},
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

// A collection of keys has a query, and no template that could be wrong.
func TestRemediesNameWhatGivesTheKeys(t *testing.T) {
	for _, s := range []Sampled{{Named: 4, Outside: []string{"x"}}, {Named: 4, Found: 1, Missing: "x"}} {
		for kind, want := range map[Kind]string{OfRecords: "correct the template (contents.object, rows.objects)", OfKeys: "correct the query (keys.query)"} {
			if s.Kind = kind; !strings.HasPrefix(s.Findings("p/")[0].Do, want) {
				t.Errorf("%+v: %+v, want %q", s, s.Findings("p/"), want)
			}
		}
	}
}

// One thing is told of as one.
func TestOneOfAKind(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{QuarantinedObject{Key: "a", Size: 1}.String(), "a (1 byte) lies in quarantine"},
		{QuarantinedObject{Key: "a", Size: 2, State: Moving}.String(), "a (2 bytes) is being copied"},
		{KeyCensus{Orphans: 1, Bytes: 1, Such: "a"}.String(), "without one: 1 (1 byte), such as a"},
		{(&Refusal{Rows: make([]Row, 1)}).Error(), "to let it go"},
		{hasRow(KnownFolder{Purged: 1}), "after 1 of its objects was removed"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
