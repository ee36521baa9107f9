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
	Frees  int64 `json:"frees,omitempty"`  // bytes of those, at least
}

// Add counts an item. What it shares with others is not counted as freed.
func (s *Sum) Add(i Item) {
	s.Items++
	s.Bytes += i.Size
	s.Copies += i.Copies
	if i.Refs <= 1 {
		s.free(i)
	}
}

func (s *Sum) free(i Item) {
	s.Blobs += i.Blobs
	s.Frees += i.Frees
}

// Group is the items of one routine for one reason on one backend, and of those that stay
// what keeps them.
type Group struct {
	Do      string    `json:"do"`
	Why     string    `json:"why"`
	Stays   string    `json:"stays,omitempty"`
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

// maxShared bounds the shared contents whose references are counted at a time.
const maxShared = 1_000_000

// Totals sums up items one by one. Shared bytes are freed by the item that is their last
// reference, if all of them are among the items.
type Totals struct {
	Sum          // of what is taken
	Stays  Sum   `json:"stays"`
	Shared int64 `json:"shared,omitempty"` // items that are taken, and whose bytes others still refer to
	// AtLeast reports that Frees is a lower bound: there were too many shared contents to
	// count the references of each.
	AtLeast bool    `json:"at_least,omitempty"`
	Groups  []Group `json:"groups"`

	seen map[string]int64 // references to shared contents among the items
}

// other is the reason of items beyond MaxGroups.
const other = "other"

// Add counts an item.
func (t *Totals) Add(i Item) {
	at := t.find(i)
	if at < 0 && len(t.Groups) >= MaxGroups {
		i.Why, i.Backend = other, ""
		at = t.find(i)
	}
	if at < 0 {
		at = len(t.Groups)
		t.Groups = append(t.Groups, Group{Do: i.Do, Why: i.Why, Stays: i.Stays, Backend: i.Backend})
	}
	g := &t.Groups[at]
	g.Sum.Add(i)
	if i.Stays != "" {
		t.Stays.Add(i)
	} else {
		t.Sum.Add(i)
		t.share(g, i)
	}
	if !i.Due.IsZero() && (g.Oldest.IsZero() || i.Due.Before(g.Oldest)) {
		g.Oldest = i.Due
	}
	if len(g.Examples) < MaxExamples {
		g.Examples = append(g.Examples, i.Name())
	}
}

// share counts an item's reference to a shared content, and frees the content with the last.
func (t *Totals) share(g *Group, i Item) {
	if i.Refs <= 1 {
		return
	}
	t.Shared++
	n, known := t.seen[i.Content]
	if !known && len(t.seen) >= maxShared {
		t.AtLeast = true
		return
	}
	if t.seen == nil {
		t.seen = map[string]int64{}
	}
	if t.seen[i.Content] = n + 1; n+1 < i.Refs {
		return
	}
	delete(t.seen, i.Content)
	t.Shared -= i.Refs
	t.free(i)
	g.free(i)
}

func (t *Totals) find(i Item) int {
	return slices.IndexFunc(t.Groups, func(g Group) bool {
		return g.Do == i.Do && g.Why == i.Why && g.Stays == i.Stays && g.Backend == i.Backend
	})
}

// By returns how much each routine or command would take.
func (t *Totals) By() map[string]Sum { return t.sums(func(g Group) bool { return g.Stays == "" }) }

// Staying returns how much stays that each routine or command would take otherwise.
func (t *Totals) Staying() map[string]Sum {
	return t.sums(func(g Group) bool { return g.Stays != "" })
}

func (t *Totals) sums(which func(Group) bool) map[string]Sum {
	out := map[string]Sum{}
	for _, g := range t.Groups {
		if !which(g) {
			continue
		}
		s := out[g.Do]
		s.Items += g.Items
		s.Bytes += g.Bytes
		s.Copies += g.Copies
		s.Blobs += g.Blobs
		s.Frees += g.Frees
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
