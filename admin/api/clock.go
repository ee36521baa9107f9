package api

import "time"

// Clock is the state of the ledger's clock; see ledger.ClockState.
type Clock struct {
	Ledger time.Time `json:"ledger"`
	Wall   time.Time `json:"wall"`
	// Ahead is how far the ledger's clock is ahead, in seconds.
	Ahead    float64 `json:"ahead_seconds"`
	Hidden   int64   `json:"hidden_objects"`
	Longer   int64   `json:"longer_lived_objects"`
	LongerBy float64 `json:"longer_by_seconds"`
	// Others are the other instances that may be using the ledger.
	Others []string `json:"others,omitempty"`
}

// ClockRequest asks for the clock to be reset.
type ClockRequest struct {
	// Accept confirms that objects may become visible again, or live longer
	// than promised.
	Accept bool `json:"accept,omitempty"`
	// Alone confirms that the instances that the ledger knows are not running.
	Alone bool `json:"alone,omitempty"`
}
