package ledger

import (
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
)

// WaitingQuery pages through a queue: condemned blobs to delete, or intents of writes in
// progress. Claimed rows come first, by claim, oldest first. Then come unclaimed rows:
// condemned blobs by backend, due time and size, intents by their last heartbeat. Unset
// fields filter nothing.
type WaitingQuery struct {
	State       lethe.State // Condemned or Pending
	Backends    []string    // on these, in this order; required for condemned blobs
	Claimed     bool        // only what is claimed
	Unclaimed   bool        // only what is not
	ClaimedBy   string      // prefix of the worker's name
	DueBy       lethe.Time  // condemned, and due then or earlier
	DueAfter    lethe.Time  // condemned, and due later
	Since       lethe.Time  // condemned, or without a heartbeat, since then or earlier
	BeatAfter   lethe.Time  // an intent with a heartbeat after this
	MinAttempts int
	Reason      lethe.Reason
	After       WaitingMark
	Limit       int // rows of a page, 1 to MaxWaiting (default)
}

// WaitingMark is a position in that order; the zero value is the beginning.
type WaitingMark struct {
	Fence   int64 // of the last claimed row; 0 behind all of them
	ID      lethe.ID
	Free    bool   // in the unclaimed rows
	Backend string // condemned blobs
	Due     DueMark
}

// WaitingPage is a page of a queue. If More is set, Next continues it. A page looks at
// MaxWaitingLook rows at most, so it may be shorter than its limit, or empty.
type WaitingPage struct {
	Blobs []Blob
	Next  WaitingMark
	More  bool
}

// MaxWaiting is the most rows of a page; MaxWaitingLook is about how many rows are read for
// one.
const (
	MaxWaiting     = 1000
	MaxWaitingLook = 10_000
)

// Matches reports whether a row passes all filters.
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
