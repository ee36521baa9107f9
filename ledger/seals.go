package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/receipt"
)

// Unsealed is a list of receipts that no seal covers yet, oldest first.
type Unsealed struct {
	Batches []receipt.Batch
	Count   int          // receipts in Batches
	Oldest  lethe.Time   // when the first of them was written; 0 if none
	Last    receipt.Seal // the end of the chain; zero if nothing was ever sealed
	More    bool         // there are more
	Now     lethe.Time
}

// Sealing is when receipts are sealed: at once if they fill a segment, else when the oldest
// has waited. Zero value: at once.
type Sealing struct {
	Worth int64
	After time.Duration
}

// Backlog returns the backlog of n receipts that are not sealed, the first written at since.
func (s Sealing) Backlog(n int64, since, now lethe.Time) Backlog {
	switch end := since.Add(s.After); {
	case n == 0:
		return Backlog{}
	case n < s.Worth && end > now:
		return Backlog{Scheduled: n, NextDue: end}
	case n < s.Worth:
		return Backlog{Count: n, Oldest: end}
	}
	return Backlog{Count: n, Oldest: since}
}
