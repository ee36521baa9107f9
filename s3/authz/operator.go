package authz

import (
	"strings"
	"unicode/utf8"
)

// operatorNull tests for the presence of a value.
const operatorNull = "Null"

// operator compares a request's value with a policy's.
type operator struct {
	same     func(have, want string) bool
	negated  bool
	ifExists bool // true without a value
}

var operators = map[string]operator{
	"StringEquals":              {same: equal},
	"StringNotEquals":           {same: equal, negated: true},
	"StringEqualsIgnoreCase":    {same: strings.EqualFold},
	"StringNotEqualsIgnoreCase": {same: strings.EqualFold, negated: true},
	"StringLike":                {same: like},
	"StringNotLike":             {same: like, negated: true},
}

func equal(have, want string) bool { return have == want }

// like matches a value with a pattern, where * matches any text and ? any
// character.
func like(have, want string) bool { return Pattern(characters(want)).matches(characters(have)) }

// Pattern is a pattern, where * matches any text and ? any character.
type Pattern []rune

// PatternOf parses a pattern.
func PatternOf(text string) Pattern { return characters(text) }

// matches reports whether the pattern matches a text. A * in the text is an
// ordinary character, and does not use up that of the pattern.
func (g Pattern) matches(text []rune) bool {
	star, from := -1, 0 // positions of the last *, and of the text after what it matched
	i, j := 0, 0
	for i < len(text) {
		switch {
		case j < len(g) && g[j] == '*':
			star, from = j, i
			j++
		case j < len(g) && (g[j] == '?' || g[j] == text[i]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = from, star+1
		default:
			return false
		}
	}
	for j < len(g) && g[j] == '*' {
		j++
	}
	return j == len(g)
}

// characters returns the runes of a text. Invalid bytes stay distinct.
func characters(s string) []rune {
	out := make([]rune, 0, len(s))
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			r = utf8.MaxRune + 1 + rune(s[i])
		}
		out = append(out, r)
	}
	return out
}

// operatorOf reads the name of an operator.
func operatorOf(name string) (operator, bool) {
	if name == operatorNull {
		return operator{}, true
	}
	base, ifExists := strings.CutSuffix(name, "IfExists")
	o, ok := operators[base]
	o.ifExists = ifExists
	return o, ok
}

// holds reports whether a condition holds; have is nil without a value. A
// negated condition then holds, as on AWS.
func (c Clause) holds(have *string) bool {
	o, ok := operatorOf(c.operator)
	switch {
	case !ok:
		return false
	case c.operator == operatorNull:
		return len(c.values) == 1 && (c.values[0] == "true") == (have == nil)
	case have == nil:
		return o.ifExists || o.negated
	}
	for _, want := range c.values {
		if o.same(*have, want) {
			return !o.negated
		}
	}
	return o.negated
}
