package lifecycle

import "slices"

// Change is what is done to one rule of a bucket.
type Change string

// The changes.
const (
	Enable  Change = "enable"
	Disable Change = "disable"
	Remove  Change = "remove"
)

// Change returns the rules with a change of the one that has an id, and whether there is one.
// The others stay as they are.
func (rs Rules) Change(id string, c Change) (out Rules, found bool) {
	at := slices.IndexFunc(rs, func(r Rule) bool { return r.ID == id })
	if at < 0 {
		return rs, false
	}
	out = slices.Clone(rs)
	switch c {
	case Remove:
		return slices.Delete(out, at, at+1), true
	case Enable, Disable:
		out[at].Disabled = c == Disable
	}
	return out, true
}
