package authz

import (
	"path"
	"strings"
	"testing"
)

func TestPatternsOfConditions(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          bool
	}{
		{"", "", true}, {"", "*", true}, {"", "?", false}, {"a", "", false}, {"abc", "abc", true}, {"abc", "ABC", false}, {"abc", "a*", true},
		{"abc", "*c", true}, {"abc", "a?c", true}, {"abc", "a??c", false}, {"abcabd", "*ab?", true}, {"aab", "*ab", true}, {"abab", "a*b*a", false},
		{"ä", "?", true}, {"a/b", "a*", true}, {"a*c", "a*c", true}, {strings.Repeat("a", 2000), strings.Repeat("*a", 1000) + "b", false},
	} {
		if like(c.text, c.pattern) != c.want {
			t.Errorf("%.40q like %.40q is not %v", c.text, c.pattern, c.want)
		}
	}
}

// FuzzPatternsOfConditions checks patterns against path.Match, without the
// syntax that only the latter has.
func FuzzPatternsOfConditions(f *testing.F) {
	f.Add("abab", "a*b*a")
	f.Add("", "**")
	f.Add("aab", "*?b")
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if strings.ContainsAny(pattern, `[]\`) || strings.Contains(text+pattern, "/") {
			return
		}
		if want, err := path.Match(pattern, text); err == nil && like(text, pattern) != want {
			t.Fatalf("%q like %q is not %v", text, pattern, want)
		}
	})
}

func TestConditionsWithoutAValue(t *testing.T) {
	value := "v"
	for operator, want := range map[string][2]bool{ // of no value, of v
		"StringEquals": {false, true}, "StringNotEquals": {true, false}, "StringEqualsIfExists": {true, true}, "StringNotEqualsIfExists": {true, false},
		"StringEqualsIgnoreCase": {false, true}, "StringNotEqualsIgnoreCase": {true, false}, "StringLike": {false, true}, "StringNotLike": {true, false},
		"Unheard": {false, false},
	} {
		c := Clause{operator: operator, values: []string{"w", "v"}}
		if c.holds(nil) != want[0] || c.holds(&value) != want[1] {
			t.Errorf("%s of nothing is %v, of v %v", operator, c.holds(nil), c.holds(&value))
		}
	}
	for want, none := range map[string]bool{"true": true, "false": false} {
		c := Clause{operator: operatorNull, values: []string{want}}
		if c.holds(nil) != none || c.holds(&value) == none {
			t.Errorf("Null %s is wrong", want)
		}
	}
}
