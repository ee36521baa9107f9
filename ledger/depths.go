package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// MaxDepth is the default of DepthQuery.Limit.
const MaxDepth = 10_000

// DepthQuery bounds a reading of the queues' depths.
type DepthQuery struct {
	Backends []string      // whose cleanup queues
	MinAge   time.Duration // an intent without a heartbeat for so long counts as due
	Limit    int           // count up to here (default MaxDepth)
}

// Depths are the lengths of the routines' queues, read from the front of their indexes: the
// cost does not grow with the queues. Count and Bytes of a Backlog end at the query's limit,
// Scheduled at MaxScheduled.
type Depths struct {
	Now      lethe.Time
	Limit    int64
	Routines map[string]Backlog // by the name of the routine
	Clean    map[string]Backlog // of the routine clean, by backend
}

// CountLater turns the times of last heartbeats into due times, age later.
func (b *Backlog) CountLater(age time.Duration) {
	if b.Oldest != 0 {
		b.Oldest = b.Oldest.Add(age)
	}
	if b.NextDue != 0 {
		b.NextDue = b.NextDue.Add(age)
	}
}

// Earlier returns the earlier of two instants, of which 0 is none.
func Earlier(a, b lethe.Time) lethe.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
