package lifecycle

import (
	"testing"

	"github.com/lethe-storage/lethe"
)

func TestDaysEndAtTheMidnightAfter(t *testing.T) {
	for _, c := range []struct {
		modified string
		days     int
		want     string
	}{
		{"2014-01-15T10:30:00Z", 3, "2014-01-19T00:00:00Z"}, // S3's own example
		{"2014-01-15T00:00:00Z", 1, "2014-01-17T00:00:00Z"},
		{"2014-01-15T23:59:59Z", 1, "2014-01-17T00:00:00Z"},
		{"2024-02-28T12:00:00Z", 1, "2024-03-01T00:00:00Z"},
	} {
		rs := Rules{{ID: "a", Number: 7, Days: c.days}}
		got := rs.Stamp(Facts{Key: "k", Modified: at(c.modified)})
		if got != (Stamp{at(c.want), 7}) {
			t.Errorf("%s and %d days: %v by %d, want %s by 7", c.modified, c.days, got.At, got.Rule, c.want)
		}
	}
}

func TestADateEndsWhatIsWrittenLaterAtOnce(t *testing.T) {
	rs := Rules{{ID: "a", Number: 1, Date: at("2031-01-01T00:00:00Z")}}
	for modified, want := range map[string]string{
		"2030-06-01T00:00:00Z": "2031-01-01T00:00:00Z", "2031-06-01T00:00:00Z": "2031-06-01T00:00:00Z",
	} {
		if got := rs.Stamp(Facts{Modified: at(modified)}).At; got != at(want) {
			t.Errorf("modified %s: %s, want %s", modified, got, want)
		}
	}
}

func TestTheEarliestRuleThatMatchesWins(t *testing.T) {
	rs := Rules{
		{ID: "off", Number: 1, Prefix: "a/", Days: 1, Disabled: true},
		{ID: "slow", Number: 2, Prefix: "a/", Days: 30},
		{ID: "tagged", Number: 3, Prefix: "a/", Tags: map[string]string{"k": "v", "l": "w"}, Days: 5},
		{ID: "tie", Number: 4, Prefix: "a/", Days: 30},
		{ID: "large", Number: 5, Prefix: "a/", Over: number(100), Days: 2},
		{ID: "small", Number: 6, Prefix: "a/", Under: number(2), Days: 3},
		{ID: "uploads", Number: 7, Prefix: "a/", AbortDays: 1},
	}
	for _, c := range []struct {
		f    Facts
		want int64
	}{
		{Facts{Key: "b/1", Size: 5}, 0},
		{Facts{Key: "a/1", Size: 5}, 2},
		{Facts{Key: "a/1", Size: 5, Tags: map[string]string{"k": "v"}}, 2},
		{Facts{Key: "a/1", Size: 5, Tags: map[string]string{"k": "v", "l": "x"}}, 2},
		{Facts{Key: "a/1", Size: 5, Tags: map[string]string{"k": "v", "l": "w", "m": ""}}, 3},
		{Facts{Key: "a/1", Size: 100}, 2},
		{Facts{Key: "a/1", Size: 101}, 5},
		{Facts{Key: "a/1", Size: 2}, 2},
		{Facts{Key: "a/1", Size: 1}, 6},
	} {
		if got := rs.Stamp(c.f); got.Rule != c.want || (got.Rule == 0) != (got.At == 0) {
			t.Errorf("%+v: rule %d, want %d", c.f, got.Rule, c.want)
		}
	}
}

func TestNumbersFollowWhatRulesDo(t *testing.T) {
	first, last := Rules{{ID: "a", Prefix: "a", Days: 1}, {ID: "b", Prefix: "b", Days: 1}}.Succeed(nil, 0)
	if last != 2 || first[0].Number != 1 || first[1].Number != 2 {
		t.Fatalf("first numbers %+v, last %d", first, last)
	}
	second, last := Rules{
		{ID: "b", Prefix: "b", Days: 1, Legacy: true}, // as before
		{ID: "a", Prefix: "a", Days: 2},               // changed
		{ID: "c", Prefix: "b", Days: 1},               // another name is another rule
	}.Succeed(first, last)
	if last != 4 || second[0].Number != 2 || second[1].Number != 3 || second[2].Number != 4 {
		t.Fatalf("second numbers %+v, last %d", second, last)
	}
	if second.InForce(1) != nil || second.InForce(2) == nil || second.InForce(0) != nil {
		t.Error("the changed rule is in force still, or the unchanged one is not")
	}
	off := append(Rules{}, second...)
	off[0].Disabled = true
	third, last := off.Succeed(second, last)
	if third.InForce(2) != nil || third.InForce(third[0].Number) != nil {
		t.Error("a disabled rule is in force")
	}
	fourth, last := second.Succeed(third, last)
	if fourth[0].Number == 2 || fourth[0].Number != last {
		t.Errorf("a rule that was off has its old number %d again", fourth[0].Number)
	}
	fifth, _ := Rules{}.Succeed(fourth, last)
	if len(fifth) != 0 || !fifth.SameEnds(nil) || fourth.SameEnds(fifth) {
		t.Error("no rules are not the same as some")
	}
}

func TestUploadsAreGivenUpByTheEarliestRule(t *testing.T) {
	rs := Rules{
		{ID: "wide", AbortDays: 7}, {ID: "narrow", Prefix: "tmp/", AbortDays: 1},
		{ID: "off", Prefix: "tmp/", AbortDays: 1, Disabled: true}, {ID: "objects", Prefix: "x", Days: 1},
	}
	begun := at("2031-01-01T12:00:00Z")
	if r, when := rs.Aborts("tmp/a", begun); r == nil || r.ID != "narrow" || when != at("2031-01-03T00:00:00Z") {
		t.Errorf("tmp/a: %v at %s", r, when)
	}
	if r, when := rs.Aborts("b", begun); r == nil || r.ID != "wide" || when != at("2031-01-09T00:00:00Z") {
		t.Errorf("b: %v at %s", r, when)
	}
	if r, _ := rs[2:].Aborts("tmp/a", begun); r != nil {
		t.Errorf("a disabled rule gives up: %v", r)
	}
	if got := rs.AbortPrefixes(); len(got) != 1 || got[0] != "" {
		t.Errorf("prefixes %q, want only the one that holds the other", got)
	}
	if got := rs[1:].AbortPrefixes(); len(got) != 1 || got[0] != "tmp/" {
		t.Errorf("prefixes %q", got)
	}
}

func TestLateTimesDoNotOverflow(t *testing.T) {
	rs := Rules{{ID: "a", Number: 1, Days: maxDays}}
	if got := rs.Stamp(Facts{Modified: lethe.FromTime(latest)}).At; got <= lethe.FromTime(latest) {
		t.Errorf("ends at %d", got)
	}
}

func TestRulesTellOneAsOne(t *testing.T) {
	over, under := int64(1), int64(2)
	r := Rule{ID: "a", Days: 1, Over: &over, Under: &under}
	if got, want := r.String(), `ends objects 1 day after they were modified under "", larger than 1 byte, smaller than 2 bytes`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
