package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

const (
	// MaxDepth is the default of DepthQuery.Limit.
	MaxDepth = 10_000
	// MaxSuspects bounds the counts of Suspects.
	MaxSuspects = 1000
)

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
	Failing  map[string]Failing // deletes that are tried again, by backend
	Uncopied Failing            // contents and parts whose copies failed for CopyTries
	Suspects map[string]Suspects
	Deferred int64 // due objects and trash entries that holds and limits keep
}

// CopyTries is how often copies fail within the first hour: what then still waits for its next
// try is no accident.
const CopyTries = 6

// Failing is work that has failed and is tried again: deletes of a backend, or copies.
type Failing struct {
	Count    int64
	Attempts int        // of the one that failed most often
	Error    string     // its last error
	NextTry  lethe.Time // the first of them
}

// Suspects counts the live blobs of a backend that were found missing or damaged, up to
// MaxSuspects, and those of them that belong to a content without a sound copy.
type Suspects struct{ Count, Lost int64 }

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
