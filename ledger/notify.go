package ledger

import (
	"cmp"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/notification"
)

// NotificationChange replaces the notification rules of a bucket; an empty list removes them.
// Events that wait stay.
type NotificationChange struct {
	Bucket string
	// Into, if set, is the expected bucket: ErrNoSuchBucket if another one has the name.
	Into  lethe.ID
	Rules notification.Rules
}

// Event is an event that waits to be delivered to a target, or a dead letter. Its row is
// written in the transaction that made it happen.
type Event struct {
	No     int64      // grows; events of a key have the order in which they happened
	Target string     // by its name in the configuration
	At     lethe.Time // when it happened
	notification.Event
	Attempts  int64      // that failed
	LastError string     // empty: none failed
	DueAt     lethe.Time // the next try; claimed: the end of the claim
	Dead      bool       // it was given up
}

// Sequencer returns the event's place among those of its key, as text that sorts so.
func (e *Event) Sequencer() string { return notification.Sequencer(e.No) }

// EventClaim asks for events of a target that are due, oldest first.
type EventClaim struct {
	Target string
	Worker string
	Limit  int           // events; 0: all
	Lease  time.Duration // how long the claim lasts
}

// ClaimedEvents are events under a claim. None of them has an earlier one of the same key and
// target that waits elsewhere; those of one key are in their order.
type ClaimedEvents struct {
	Fence    int64
	Events   []Event // by number
	Failures int64   // of the target (EventTarget)
	Now      lethe.Time
}

// EventOutcome is what became of an event that was claimed.
type EventOutcome int

// The outcomes.
const (
	EventUnsent    EventOutcome = iota // it was not tried, and is due again
	EventDelivered                     // the target has it
	EventFailed                        // it is tried again at RetryAt
	EventDead                          // it is given up
)

// EventResult is the outcome of one claimed event.
type EventResult struct {
	No      int64
	Outcome EventOutcome
	RetryAt lethe.Time
	Error   string
}

// EventSettlement records what became of claimed events.
type EventSettlement struct {
	Target  string
	Fence   int64
	Results []EventResult
	// RestUntil, unless 0, is until when the target gets nothing more: nothing reached it.
	RestUntil lethe.Time
}

// EventsSettled counts events by what became of them. One that was claimed anew meanwhile is
// fenced, and stays as it is.
type EventsSettled struct{ Delivered, Failed, Dead, Fenced int }

// Count sets Failed, Dead and Fenced from results, whose events stay if kept says so, and
// returns the error of the last that failed.
func (s *EventsSettled) Count(results []EventResult, kept func(no int64) bool) (why string) {
	unsent := 0
	for _, r := range results {
		switch {
		case r.Outcome == EventDelivered || !kept(r.No):
			continue
		case r.Outcome == EventFailed:
			s.Failed++
		case r.Outcome == EventDead:
			s.Dead++
		default:
			unsent++
		}
		why = cmp.Or(r.Error, why)
	}
	s.Fenced = len(results) - s.Delivered - s.Failed - s.Dead - unsent
	return why
}

// EventTarget is the state of a target.
type EventTarget struct {
	Name      string
	Waiting   int64
	Dead      int64
	Oldest    lethe.Time // of those that wait; 0: none does
	Lost      int64      // dropped beyond the bound, since ever
	Delivered int64      // since ever
	// Failures is how many settlements in a row delivered nothing, FailingSince since when.
	Failures     int64
	FailingSince lethe.Time
	LastError    string
	RestUntil    lethe.Time
}

// EventQuery selects events, in order of their numbers.
type EventQuery struct {
	Target string
	Dead   bool // dead letters instead of those that wait
	After  int64
	Limit  int // 0: all
}

// EventSelection names dead letters of a target: by their numbers, or all of them.
type EventSelection struct {
	Target  string
	Numbers []int64 // nil: all
}

// EventTrim is the bound of what a target may have in the ledger.
type EventTrim struct {
	Target string
	Most   int64 // events, dead letters included
	Limit  int   // of one transaction; not 0
}
