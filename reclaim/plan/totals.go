package plan

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Sum is a number of items and their totals.
type Sum struct {
	Items  int64 `json:"items"`
	Bytes  int64 `json:"bytes"`            // of the items
	Copies int64 `json:"copies,omitempty"` // made
	Blobs  int64 `json:"blobs,omitempty"`  // condemned with them, at least
	Frees  int64 `json:"frees,omitempty"`  // bytes of those
	Shared int64 `json:"shared,omitempty"` // items whose bytes other objects refer to
}

// Add counts an item.
func (s *Sum) Add(i Item) {
	s.Items++
	s.Bytes += i.Size
	s.Copies += i.Copies
	s.Blobs += i.Blobs
	s.Frees += i.Frees
	if i.Shared {
		s.Shared++
	}
}

// Group is the items of one routine for one reason on one backend.
type Group struct {
	Do      string    `json:"do"`
	Why     string    `json:"why"`
	Backend string    `json:"backend,omitempty"`
	Oldest  time.Time `json:"oldest,omitzero"` // due time
	Sum
	Examples []string `json:"examples,omitempty"`
}

// MaxGroups bounds the groups that are counted separately, MaxExamples the items
// that are named in each. Further groups are counted as "other".
const (
	MaxGroups   = 200
	MaxExamples = 3
)

// Totals sums up items one by one.
type Totals struct {
	Sum
	Groups []Group `json:"groups"`
}

// other is the reason of items beyond MaxGroups.
const other = "other"

// Add counts an item.
func (t *Totals) Add(i Item) {
	t.Sum.Add(i)
	at := t.find(i.Do, i.Why, i.Backend)
	if at < 0 && len(t.Groups) >= MaxGroups {
		i.Why, i.Backend = other, ""
		at = t.find(i.Do, i.Why, i.Backend)
	}
	if at < 0 {
		at = len(t.Groups)
		t.Groups = append(t.Groups, Group{Do: i.Do, Why: i.Why, Backend: i.Backend})
	}
	g := &t.Groups[at]
	g.Sum.Add(i)
	if !i.Due.IsZero() && (g.Oldest.IsZero() || i.Due.Before(g.Oldest)) {
		g.Oldest = i.Due
	}
	if len(g.Examples) < MaxExamples {
		g.Examples = append(g.Examples, i.Name())
	}
}

func (t *Totals) find(do, why, backend string) int {
	return slices.IndexFunc(t.Groups, func(g Group) bool { return g.Do == do && g.Why == why && g.Backend == backend })
}

// By returns how much each routine or command would take.
func (t *Totals) By() map[string]Sum {
	out := map[string]Sum{}
	for _, g := range t.Groups {
		s := out[g.Do]
		s.Items += g.Items
		s.Bytes += g.Bytes
		s.Copies += g.Copies
		s.Blobs += g.Blobs
		s.Frees += g.Frees
		s.Shared += g.Shared
		out[g.Do] = s
	}
	return out
}

// Does returns the routines and commands that would take something, in order.
func (t *Totals) Does() []string { return slices.Sorted(maps.Keys(t.By())) }

// Name returns the item's name for people.
func (i Item) Name() string {
	switch {
	case i.Key != "" && i.Bucket != "":
		return "s3://" + i.Bucket + "/" + i.Key
	case i.Backend != "" && i.ID != i.Backend:
		return i.ID + " on " + i.Backend
	}
	return strings.TrimSpace(i.ID)
}

// Estimate is what applying the items of one routine costs, by its last successful
// run. Seconds is 0 if no such run is known.
type Estimate struct {
	Do      string  `json:"do"`
	Calls   int64   `json:"calls"`             // to backends
	Later   int64   `json:"later,omitempty"`   // calls to delete what it condemns
	Seconds float64 `json:"seconds,omitempty"` // at the measured rate
	Rate    float64 `json:"rate,omitempty"`    // items per second, measured
	Basis   string  `json:"basis,omitempty"`   // where the rate comes from
}
