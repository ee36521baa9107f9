package ledger

import "github.com/lethe-storage/lethe"

// Tally compares the rows of a backend in one state with their counters.
type Tally struct {
	Backend string
	State   lethe.State
	// Rows and RowBytes are counted from the rows; the others are the counters.
	Rows, RowBytes        int64
	Counted, CountedBytes int64
}

// Agrees reports whether rows and counters are equal.
func (t Tally) Agrees() bool { return t.Rows == t.Counted && t.RowBytes == t.CountedBytes }
