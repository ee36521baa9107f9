package ledger

import "github.com/lethe-storage/lethe"

// Tally is what the rows of a backend in a state add up to, and what the counters
// say of them.
type Tally struct {
	Backend string
	State   lethe.State
	// Rows are counted from the rows, Counted are the counters'.
	Rows, RowBytes        int64
	Counted, CountedBytes int64
}

// Agrees reports whether rows and counters are the same.
func (t Tally) Agrees() bool { return t.Rows == t.Counted && t.RowBytes == t.CountedBytes }
