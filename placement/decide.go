package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// site is a backend as decisions see it.
type site struct {
	Usage
	use  bool // copies may lie there: it is configured, known, and not draining
	rank int  // in the order of preference for one more copy
}

// aims are the goals for every content.
type aims struct {
	replicas  int
	threshold float64 // difference of ratios that is tolerated
	spread    bool
	sites     []site // in the order of preference
}

func newAims(o *Options, figures []Usage) aims {
	a := aims{replicas: max(o.Replicas, 1), threshold: o.Threshold, spread: o.Strategy == Spread}
	for _, u := range figures {
		a.sites = append(a.sites, site{Usage: u, use: u.Known && !u.Draining})
	}
	a.order()
	return a
}

// order puts the sites in the order of preference.
func (a *aims) order() {
	if a.spread {
		slices.SortStableFunc(a.sites, func(x, y site) int { return cmp.Compare(x.Ratio(), y.Ratio()) })
	}
	for i := range a.sites {
		a.sites[i].rank = i
	}
}

func (a *aims) site(id string) *site {
	for i := range a.sites {
		if a.sites[i].ID == id {
			return &a.sites[i]
		}
	}
	return nil
}

// wanted is how many copies there should be: no two on one backend.
func (a *aims) wanted() int {
	n := 0
	for _, s := range a.sites {
		if s.use {
			n++
		}
	}
	return max(min(a.replicas, n), 1)
}

// decision is what is to be done for a subject, in this order. The zero value does
// nothing.
type decision struct {
	copies []replica
	trims  []trim
	// stuck is why less is planned than is wanted; empty if all is planned.
	stuck string
}

// replica is a copy to be made of a segment.
type replica struct {
	segment int
	from    []ledger.Blob // best first
	to      []string      // best first
}

// trim is the copies of a segment to be condemned, beside one that stays and was
// verified recently, or has to be first.
type trim struct {
	blobs  []ledger.Blob
	reason lethe.Reason
	beside []ledger.Blob // copies that stay, the last verified one first
}

func (p *decision) empty() bool { return len(p.copies) == 0 && len(p.trims) == 0 && p.stuck == "" }

// String describes the plan in one line.
func (p *decision) String() string {
	var parts []string
	for _, r := range p.copies {
		parts = append(parts, fmt.Sprintf("copy segment %d from %s to %s", r.segment, r.from[0].Backend, r.to[0]))
	}
	for _, t := range p.trims {
		for _, b := range t.blobs {
			parts = append(parts, fmt.Sprintf("condemn blob %s on %s (%s)", b.ID, b.Backend, t.reason))
		}
	}
	if p.stuck != "" {
		parts = append(parts, "wait: "+p.stuck)
	}
	return strings.Join(parts, "; ")
}

// decide plans for a content or part with its blobs in the order of segments.
func (a *aims) decide(p ledger.Placement) decision {
	var out decision
	if p.Part {
		for _, b := range p.Blobs {
			a.part(&out, b, p.Leave)
		}
		return out
	}
	if p.Content.ID == "" {
		return out
	}
	for i := 0; i < len(p.Blobs); {
		j := i
		for j < len(p.Blobs) && p.Blobs[j].Segment == p.Blobs[i].Segment {
			j++
		}
		a.segment(&out, p.Blobs[i:j], p.Leave)
		i = j
	}
	return out
}

// part plans for a stored part. It has one copy, which is moved if it has to leave
// its backend.
func (a *aims) part(out *decision, b ledger.Blob, leave string) {
	s := a.site(b.Backend)
	if s != nil && s.use && !a.leaves(b.Backend, leave, b.Size) {
		return
	}
	to := a.targets([]ledger.Blob{b}, b.Size)
	if len(to) == 0 {
		out.stuck = a.why([]ledger.Blob{b}, b.Size)
		return
	}
	out.copies = append(out.copies, replica{from: []ledger.Blob{b}, to: to})
}

// copies groups the blobs of a segment by their use.
type copies struct {
	good  []ledger.Blob // sound, and may stay; no two on one backend
	spare []ledger.Blob // sound, and should leave
	bad   []ledger.Blob // suspect
}

func (a *aims) sort(blobs []ledger.Blob, leave string) copies {
	var c copies
	taken := map[string]bool{}
	for _, b := range a.byWorth(blobs, leave) {
		s := a.site(b.Backend)
		switch {
		case b.State != lethe.Live:
		case b.Suspect:
			c.bad = append(c.bad, b)
		case s == nil || !s.use || taken[b.Backend] || a.leaves(b.Backend, leave, b.Size):
			c.spare = append(c.spare, b)
		default:
			taken[b.Backend] = true
			c.good = append(c.good, b)
		}
	}
	return c
}

// byWorth orders copies by which is kept first: those on working backends, in the
// order of preference; last those that should leave.
func (a *aims) byWorth(blobs []ledger.Blob, leave string) []ledger.Blob {
	rank := func(b ledger.Blob) int {
		switch s := a.site(b.Backend); {
		case s == nil || b.Backend == leave:
			return 2 * len(a.sites)
		case s.Down != "":
			return len(a.sites) + s.rank
		default:
			return s.rank
		}
	}
	return slices.SortedStableFunc(slices.Values(blobs), func(x, y ledger.Blob) int { return cmp.Compare(rank(x), rank(y)) })
}

// leaves reports whether a copy should still leave the backend to even out. Another
// backend has to have so much more room that the move does not merely reverse the
// difference.
func (a *aims) leaves(backend, leave string, size int64) bool {
	if leave != backend {
		return false
	}
	from := a.site(leave)
	return from != nil && slices.ContainsFunc(a.sites, func(to site) bool { return a.evens(*from, to, size) })
}

// evens reports whether moving size bytes makes the two more alike.
func (a *aims) evens(from, to site, size int64) bool {
	if !to.use || to.ID == from.ID || to.takes(size) != "" {
		return false
	}
	to.Live += size
	return from.Ratio()-to.Ratio() > a.threshold
}

// segment plans for the copies of one segment.
func (a *aims) segment(out *decision, blobs []ledger.Blob, leave string) {
	c := a.sort(blobs, leave)
	from := slices.Concat(c.good, c.spare, c.bad)
	if len(from) == 0 {
		return // pending copies of a dead subject
	}
	lacking := a.wanted() - len(c.good)
	to := a.targets(blobs, from[0].Size)
	if leave != "" {
		to = a.evening(to, leave, from[0].Size)
	}
	for range min(lacking, len(to)) {
		out.copies = append(out.copies, replica{segment: from[0].Segment, from: from, to: to})
		to = to[1:]
		lacking--
	}
	if lacking > 0 {
		c.keep(lacking, a)
	}
	switch {
	case len(out.copies) > 0:
	case len(c.good) < a.wanted():
		out.stuck = a.why(blobs, from[0].Size)
	default:
		a.trim(out, c)
	}
}

// evening puts first the backends that a move from leave makes more alike, the
// emptiest first.
func (a *aims) evening(to []string, leave string, size int64) []string {
	from := a.site(leave)
	if from == nil {
		return to
	}
	key := func(id string) float64 {
		s := a.site(id)
		if a.evens(*from, *s, size) {
			return s.Ratio()
		}
		return 2 + s.Ratio()
	}
	return slices.SortedStableFunc(slices.Values(to), func(x, y string) int { return cmp.Compare(key(x), key(y)) })
}

// keep lets spare copies stay in place of those that cannot be made, on backends
// that do not drain.
func (c *copies) keep(n int, a *aims) {
	var rest []ledger.Blob
	for _, b := range c.spare {
		s := a.site(b.Backend)
		used := slices.ContainsFunc(c.good, func(g ledger.Blob) bool { return g.Backend == b.Backend })
		if n > 0 && s != nil && s.use && !used {
			c.good, n = append(c.good, b), n-1
			continue
		}
		rest = append(rest, b)
	}
	c.spare = rest
}

// targets returns the backends that can take one more copy beside these.
func (a *aims) targets(blobs []ledger.Blob, size int64) (out []string) {
	for _, s := range a.sites {
		if !s.use || s.takes(size) != "" {
			continue
		}
		if !slices.ContainsFunc(blobs, func(b ledger.Blob) bool { return b.Backend == s.ID && !(b.State == lethe.Live && b.Suspect) }) {
			out = append(out, s.ID)
		}
	}
	return out
}

// why lists for each backend why it takes no copy.
func (a *aims) why(blobs []ledger.Blob, size int64) string {
	var out []string
	for _, s := range a.sites {
		why := s.takes(size)
		for _, b := range blobs {
			if why == "" && b.Backend == s.ID {
				why = "has a copy that is " + b.State.String()
			}
		}
		out = append(out, s.ID+" "+why)
	}
	return "too few backends take a copy: " + strings.Join(out, "; ")
}

// trim plans to condemn what is not needed beside enough good copies: spare ones,
// suspect ones, and surplus good ones.
func (a *aims) trim(out *decision, c copies) {
	stay, over := c.good[:a.wanted()], c.good[a.wanted():]
	beside := slices.SortedStableFunc(slices.Values(a.reachable(stay)), func(x, y ledger.Blob) int {
		return cmp.Compare(y.VerifiedAt, x.VerifiedAt)
	})
	if len(beside) == 0 {
		if len(over)+len(c.spare)+len(c.bad) > 0 && out.stuck == "" {
			out.stuck = "the copies that stay lie on backends that are down"
		}
		return
	}
	for _, t := range []trim{
		{over, lethe.ReasonSurplus, beside}, {c.spare, lethe.ReasonRebalance, beside}, {c.bad, lethe.ReasonDamaged, beside},
	} {
		if len(t.blobs) > 0 {
			out.trims = append(out.trims, t)
		}
	}
}

// reachable returns the copies that can be read. Copies are condemned only beside one
// of these.
func (a *aims) reachable(blobs []ledger.Blob) []ledger.Blob {
	return slices.DeleteFunc(slices.Clone(blobs), func(b ledger.Blob) bool {
		s := a.site(b.Backend)
		return s == nil || s.Down != ""
	})
}

func ids(blobs []ledger.Blob) []lethe.ID {
	out := make([]lethe.ID, len(blobs))
	for i, b := range blobs {
		out[i] = b.ID
	}
	return out
}
