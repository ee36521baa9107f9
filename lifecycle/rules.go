package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
)

// Rules are the rules of a bucket, in the order given.
type Rules []Rule

// Stamp is when a rule ends an object, and which rule; the zero value: none does.
type Stamp struct {
	At   lethe.Time
	Rule int64 // Rule.Number
}

// Stamp returns the end by the enabled rule that ends an object first; among equals, by the
// first one given.
func (rs Rules) Stamp(f Facts) (s Stamp) {
	for i := range rs {
		r := &rs[i]
		if r.Disabled || !r.Expires() || !r.Matches(f) {
			continue
		}
		if at := r.end(f.Modified); s.Rule == 0 || at < s.At {
			s = Stamp{at, r.Number}
		}
	}
	return s
}

// InForce returns the enabled rule that ends objects and has the number, nil if there is
// none any more.
func (rs Rules) InForce(number int64) *Rule {
	for i := range rs {
		if r := &rs[i]; r.Number == number && number != 0 && !r.Disabled && r.Expires() {
			return r
		}
	}
	return nil
}

// Aborts returns the enabled rule that first aborts an upload to the key, and when; nil if
// none does.
func (rs Rules) Aborts(key string, begun lethe.Time) (rule *Rule, at lethe.Time) {
	for i := range rs {
		r := &rs[i]
		if r.Disabled || r.AbortDays == 0 || !strings.HasPrefix(key, r.Prefix) {
			continue
		}
		if t := midnightAfter(begun, r.AbortDays); rule == nil || t < at {
			rule, at = r, t
		}
	}
	return rule, at
}

// AbortPrefixes returns the prefixes under which some rule aborts uploads, sorted, without
// those within another.
func (rs Rules) AbortPrefixes() []string {
	var all []string
	for _, r := range rs {
		if !r.Disabled && r.AbortDays > 0 {
			all = append(all, r.Prefix)
		}
	}
	slices.Sort(all)
	var out []string
	for _, p := range all {
		if len(out) == 0 || !strings.HasPrefix(p, out[len(out)-1]) {
			out = append(out, p)
		}
	}
	return out
}

// Succeed numbers rules that replace old ones. Unchanged rules keep their number; all others
// get new ones above last, which no rule of the bucket ever had. It returns the highest
// number.
func (rs Rules) Succeed(old Rules, last int64) (Rules, int64) {
	out := slices.Clone(rs)
	for i := range out {
		out[i].Number = 0
		for j := range old {
			if old[j].Number != 0 && out[i].sameEffect(&old[j]) {
				out[i].Number = old[j].Number
			}
		}
		if out[i].Number == 0 {
			last++
			out[i].Number = last
		}
	}
	return out, last
}

// Same reports whether both have the same rules in the same order, ignoring numbers.
func (rs Rules) Same(old Rules) bool {
	return slices.EqualFunc(rs, old, func(a, b Rule) bool { return a.sameEffect(&b) })
}

// SameEnds reports whether both rule sets end the same objects at the same instants under
// the same numbers, so that no object must change.
func (rs Rules) SameEnds(old Rules) bool {
	return slices.EqualFunc(rs.ending(), old.ending(), func(a, b Rule) bool { return a.Number == b.Number })
}

// ending returns the rules that end objects.
func (rs Rules) ending() Rules {
	var out Rules
	for _, r := range rs {
		if !r.Disabled && r.Expires() {
			out = append(out, r)
		}
	}
	return out
}

// Encode returns the rules in the form that the ledger stores; "" for none.
func (rs Rules) Encode() string {
	if len(rs) == 0 {
		return ""
	}
	b, err := json.Marshal(rs)
	if err != nil {
		panic(fmt.Sprintf("lifecycle: encode rules: %v", err)) // no field can fail
	}
	return string(b)
}

// Digest identifies the rules, numbers included.
func (rs Rules) Digest() string {
	sum := sha256.Sum256([]byte(rs.Encode()))
	return hex.EncodeToString(sum[:])
}

// Decode is the inverse of Encode: lethe.ErrCorrupt.
func Decode(text string) (rs Rules, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &rs); err != nil {
		return nil, fmt.Errorf("lifecycle rules: %w (%w)", err, lethe.ErrCorrupt)
	}
	return rs, nil
}
