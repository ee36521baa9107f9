package usage

import (
	"slices"

	"github.com/lethe-storage/lethe"
)

// shared is a content with several references. Its bytes are freed with the last one.
type shared struct {
	met   int64
	stays bool       // one that was met never ends, or is held
	last  lethe.Time // the latest end that was met
	at    dueKey     // where that is in the calendar
	after bool       // it is beyond the calendar
	days  []dueKey   // entries that have one of the references
}

// meet adds a reference to a content. With the last one it is known when the bytes go.
func (c *counter) meet(r row, k dueKey, within bool) {
	x := c.known[r.content]
	if x == nil {
		x = &shared{}
		if len(c.known) < maxShared {
			c.known[r.content] = x
		}
	}
	x.met++
	switch {
	case r.At == 0 || r.held:
		x.stays = true
	case r.At > x.last:
		x.last, x.at, x.after = r.At, k, !within
	}
	if within && !r.held && !slices.Contains(x.days, k) {
		x.days = append(x.days, k)
	}
	switch {
	case x.met >= r.refs:
		if !x.stays && !x.after {
			c.entry(x.at).Freed += r.frees
		}
		delete(c.known, r.content)
	case c.known[r.content] == nil:
		c.unsure(x)
	}
}

// unsure marks the entries that have a reference to a content of which others are elsewhere.
// If one that is known stays, so do the bytes.
func (c *counter) unsure(x *shared) {
	if x.stays {
		return
	}
	for _, k := range x.days {
		c.entry(k).AtLeast = true
	}
}
