package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// MaxDepth is how far Depths counts a queue.
const MaxDepth = 10_000

// DepthQuery asks for the depths of the queues.
type DepthQuery struct {
	Backends []string      // whose cleanup queues
	MinAge   time.Duration // silence that makes an intent one to be reaped
	Limit    int           // count up to here (default MaxDepth)
}

// Depths are the queues of the routines, read from the front ends of their
// indexes: what that costs does not grow with them. Count and Bytes of a Backlog
// end at the query's limit, Scheduled at MaxScheduled.
type Depths struct {
	Now      lethe.Time
	Limit    int64
	Routines map[string]Backlog // by the name of the routine
	Clean    map[string]Backlog // of the routine clean, by backend
}

// postpone turns the times of last heartbeats into due times.
func (b *Backlog) CountLater(age time.Duration) {
	if b.Oldest != 0 {
		b.Oldest = b.Oldest.Add(age)
	}
	if b.NextDue != 0 {
		b.NextDue = b.NextDue.Add(age)
	}
}

// Earlier is the earlier of two optional instants.
func Earlier(a, b lethe.Time) lethe.Time {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
