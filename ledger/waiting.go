package ledger

import (
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
)

// WaitingQuery pages through what waits in a queue: condemned blobs that are to be
// deleted, or intents of writes under way. What is claimed comes first, by claim,
// oldest first; then what is not: condemned blobs by backend, due time and size,
// intents by their last heartbeat. What is not set filters nothing.
type WaitingQuery struct {
	State       lethe.State // Condemned or Pending
	Backends    []string    // on these, in this order; condemned blobs need them
	Claimed     bool        // only what is claimed
	Unclaimed   bool        // only what is not
	ClaimedBy   string      // how the name of the worker begins
	DueBy       lethe.Time  // condemned, and due then or before
	DueAfter    lethe.Time  // condemned, and due later
	Since       lethe.Time  // condemned, or silent if it is an intent, then or before
	BeatAfter   lethe.Time  // an intent, and its writer showed itself later
	MinAttempts int
	Reason      lethe.Reason
	After       WaitingMark
	Limit       int // rows of a page: 1 to MaxWaiting, which is the default
}

// WaitingMark is a place in that order; the zero one is the beginning.
type WaitingMark struct {
	Fence   int64 // of the last claimed row; 0 once those are through
	ID      lethe.ID
	Free    bool   // among what is not claimed
	Backend string // condemned blobs
	Due     DueMark
}

// WaitingPage is a page of a queue. It may be shorter than its limit, or empty, while
// More reports whether it goes on at Next: a page looks at MaxWaitingLook rows at most.
type WaitingPage struct {
	Blobs []Blob
	Next  WaitingMark
	More  bool
}

// MaxWaiting is how many rows a page has at most, MaxWaitingLook about how many are
// looked at for one.
const (
	MaxWaiting     = 1000
	MaxWaitingLook = 10_000
)

// wants reports whether a row meets all filters.
func (q WaitingQuery) Matches(b Blob) bool {
	since := b.DiedAt
	if q.State == lethe.Pending {
		since = b.BeatAt
	}
	return (len(q.Backends) == 0 || slices.Contains(q.Backends, b.Backend)) &&
		strings.HasPrefix(b.Claim.Worker, q.ClaimedBy) &&
		(q.DueBy == 0 || b.DueAt <= q.DueBy) && (q.DueAfter == 0 || b.DueAt > q.DueAfter) &&
		(q.Since == 0 || since <= q.Since) && (q.BeatAfter == 0 || b.BeatAt > q.BeatAfter) &&
		b.Attempts >= q.MinAttempts && (q.Reason == "" || b.Reason == q.Reason)
}
