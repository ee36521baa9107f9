package api

import "time"

// EventTarget is the state of a target of events.
type EventTarget struct {
	Name       string    `json:"name"`
	Configured bool      `json:"configured"` // events.targets of the responding process has it
	Waiting    int64     `json:"waiting"`
	Dead       int64     `json:"dead"` // events that were given up
	Most       int64     `json:"most"` // that it may have; beyond that the oldest are dropped
	Lost       int64     `json:"lost"` // dropped so, since ever
	Delivered  int64     `json:"delivered"`
	OldestAt   time.Time `json:"oldest_at,omitzero"` // of those that wait
	// Failures is how many tries in a row delivered nothing, FailingSince since when.
	Failures     int64     `json:"failures,omitempty"`
	FailingSince time.Time `json:"failing_since,omitzero"`
	LastError    string    `json:"last_error,omitempty"`
	RestUntil    time.Time `json:"rest_until,omitzero"` // nothing is sent before
}

// EventRequest chooses events of a target: those that wait, or dead letters.
type EventRequest struct {
	Target string `json:"target"`
	Dead   bool   `json:"dead,omitempty"`
	After  int64  `json:"after,omitempty"` // the last number of the page before
	Limit  int    `json:"limit,omitempty"` // default and most 1,000
}

// EventList is a page of events, in the order in which they happened.
type EventList struct {
	Events []EventInfo `json:"events"`
	Next   int64       `json:"next,omitempty"` // the After of the next page
}

// EventInfo is an event that waits, or a dead letter.
type EventInfo struct {
	Number    int64     `json:"number"`
	Target    string    `json:"target"`
	ID        string    `json:"id"` // as the target gets it
	Event     string    `json:"event"`
	At        time.Time `json:"at"`
	Bucket    string    `json:"bucket"`
	Key       string    `json:"key"`
	Version   string    `json:"version"`
	Size      int64     `json:"size"`
	Reason    string    `json:"reason,omitempty"`
	Attempts  int64     `json:"attempts"` // that failed
	LastError string    `json:"last_error,omitempty"`
	NextTry   time.Time `json:"next_try,omitzero"` // zero: a dead letter
}

// EventChoice names dead letters of a target by their numbers, or all of them.
type EventChoice struct {
	Target  string  `json:"target"`
	Numbers []int64 `json:"numbers,omitempty"`
	All     bool    `json:"all,omitempty"`
}
