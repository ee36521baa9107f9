package memadopt

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// names are rows of an application that name a folder, or a key, each.
type names struct {
	clock lethe.Clock

	mu    sync.Mutex
	named map[string]int64 // rows by what they name
	last  int64            // their number at the last run,
	at    lethe.Time       // and when it was counted
	holds held
}

func newNames(clock lethe.Clock) names {
	return names{clock: clock, named: map[string]int64{}, holds: held{clock: clock}}
}

// note records the number of rows at an instant, unless a later count was
// recorded. A count from the future comes from a clock that was set back.
func (n *names) note(rows int64, at lethe.Time) {
	if n.at <= at || n.at > n.clock.Now() {
		n.last, n.at = rows, at
	}
}

// Insert adds a row.
func (n *names) Insert(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.named[name]++
}

// Remove removes all rows of a name.
func (n *names) Remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.named, name)
}

// rows counts them.
func (n *names) rows() (sum int64) {
	for _, rows := range n.named {
		sum += rows
	}
	return sum
}

// enough fails if fewer rows are live than required.
func (n *names) enough(floor int64) error {
	if rows := n.rows(); rows < floor {
		return fmt.Errorf("memadopt: %w: %d, and %d have to", adopt.ErrFewRows, rows, floor)
	}
	return nil
}

// sorted returns a map's keys in the order of their bytes.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
