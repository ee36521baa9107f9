package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

// Usage is how full a backend is, by the ledger.
type Usage struct {
	ID       string
	Known    bool  // the ledger has it
	Quota    int64 // bytes; 0: none
	Capacity int64 // the quota, or else the size of the disk; 0: unknown
	Draining bool
	// Pending, Live and Orphan bytes. Orphan ones (condemned and dead letters) are
	// logically free but physically there: they count as used.
	Pending, Live, Orphan int64
	Down                  string // why it takes no writes now, fit for clients; empty: it takes them
}

// ask reads the size of a backend without a quota, if it can report it.
func (u *Usage) ask(ctx context.Context, sp blob.Spacer) {
	if sp == nil || u.Quota != 0 {
		return
	}
	if free, err := sp.Free(ctx); err == nil {
		u.Capacity = u.Used() + free
	}
}

// Used is what lies or will lie there, in bytes.
func (u Usage) Used() int64 { return u.Pending + u.Live + u.Orphan }

// Free is the room that is left, in bytes; limited is false if it is unknown.
func (u Usage) Free() (n int64, limited bool) { return max(u.Capacity-u.Used(), 0), u.Capacity > 0 }

// Ratio is how full it is, from 0 to 1. A backend of unknown size counts as a very
// large one.
func (u Usage) Ratio() float64 {
	const unknown = 1 << 50
	if u.Capacity > 0 {
		return float64(u.Used()) / float64(u.Capacity)
	}
	return float64(u.Used()) / unknown
}

// takes returns why the backend is left out for size more bytes (below 0: unknown);
// empty if it is not.
func (u Usage) takes(size int64) string {
	free, limited := u.Free()
	switch {
	case !u.Known:
		return "is not known to the ledger"
	case u.Draining:
		return "is being drained"
	case u.Down != "":
		return u.Down
	case limited && (free < size || free == 0):
		why := fmt.Sprintf("has %s free of %d", words.Plural(free, "byte", "bytes"), u.Capacity)
		if u.Orphan > 0 {
			why += fmt.Sprintf(" (%d wait to be deleted)", u.Orphan)
		}
		return why
	}
	return ""
}

// full reports whether only room is missing.
func (u Usage) full(size int64) bool {
	u.Capacity = 0
	return u.takes(size) == ""
}

// usages joins the ledger's figures of the configured backends, in the order of
// configuration.
func usages(order []string, backends []ledger.Backend, totals []ledger.Total) []Usage {
	out := make([]Usage, len(order))
	for i, id := range order {
		out[i].ID = id
	}
	find := func(id string) *Usage {
		if i := slices.Index(order, id); i >= 0 {
			return &out[i]
		}
		return &Usage{}
	}
	for _, b := range backends {
		u := find(b.ID)
		u.Known, u.Quota, u.Capacity, u.Draining = true, b.Quota, b.Quota, b.Draining
	}
	for _, t := range totals {
		u := find(t.Backend)
		switch t.State {
		case lethe.Pending:
			u.Pending += t.Bytes
		case lethe.Live:
			u.Live += t.Bytes
		default:
			u.Orphan += t.Bytes
		}
	}
	return out
}

// Strategy is the order in which backends are filled.
type Strategy string

// The strategies.
const (
	Pack   Strategy = "pack"   // one after the other, in the order of configuration
	Spread Strategy = "spread" // the least used ratio first
)

// choose returns the backends that may take size bytes, best first. If only room is
// missing, it returns the full ones: the ledger decides exactly, and knows of room
// that was freed a moment ago.
func (s Strategy) choose(all []Usage, size int64) []string {
	sorted := slices.Clone(all)
	if s == Spread {
		slices.SortStableFunc(sorted, func(a, b Usage) int { return cmp.Compare(a.Ratio(), b.Ratio()) })
	}
	var able, full []string
	for _, u := range sorted {
		switch {
		case u.takes(size) == "":
			able = append(able, u.ID)
		case u.full(size):
			full = append(full, u.ID)
		}
	}
	if len(able) == 0 {
		return full
	}
	return able
}
