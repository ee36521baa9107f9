package api

import "time"

// BackendRequest names a backend, and why its deletes are to be stopped.
type BackendRequest struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}

// BackendFacts are what a process knows of a backend besides its rows.
type BackendFacts struct {
	Kind  string `json:"kind,omitempty"`  // dir, s3
	Place string `json:"place,omitempty"` // folder, or endpoint and bucket
	// Misplaced is why what is found in the backend's place is not used.
	Misplaced string `json:"misplaced,omitempty"`
	// S3 is the result of probing the service; nil for other kinds.
	S3      *S3Facts      `json:"s3,omitempty"`
	Breaker *BreakerFacts `json:"breaker,omitempty"`
	// Unwritable is why it gets no writes now.
	Unwritable string `json:"unwritable,omitempty"`
	// NoWrites is why it refused the latest write although it works, as a disk does that may
	// only be read.
	NoWrites string `json:"no_writes,omitempty"`
	// SlowedBy is why deleting there is slower than it could be, and Rates
	// describes its rates.
	SlowedBy string `json:"slowed_by,omitempty"`
	Rates    string `json:"rates,omitempty"`
	// BackoffLevel is the level of deletes there for the backend's load: 0 to
	// 4. Limited reports that its rates delay them.
	BackoffLevel int  `json:"backoff_level,omitempty"`
	Limited      bool `json:"limited,omitempty"`
	// DeletesPerSecond is the rate of deletes of all instances; 0: no limit.
	DeletesPerSecond float64 `json:"deletes_per_second,omitempty"`
	// Unreachable is why it does not answer now, although it was called.
	Unreachable string `json:"unreachable,omitempty"`
	// DownSince is since when it has not answered, or was not in its place, as far as the
	// process noticed; zero: it answers.
	DownSince time.Time `json:"down_since,omitzero"`
}

// S3Facts are the abilities of a service and a bucket, and the rate of deletes
// there.
type S3Facts struct {
	Probed            bool   `json:"probed"`
	BatchDelete       bool   `json:"batch_delete"`
	ConditionalWrites bool   `json:"conditional_writes"`
	Multipart         bool   `json:"multipart"`
	Versions          string `json:"versions"`
	ObjectLock        string `json:"object_lock"`
	Lifecycle         string `json:"lifecycle"`
	NoWrites          string `json:"no_writes,omitempty"`  // why they are refused
	NoDeletes         string `json:"no_deletes,omitempty"` // why they are refused
	Batch             int    `json:"batch"`
	Concurrency       int    `json:"concurrency"`
	Error             string `json:"error,omitempty"` // of the latest probe
}

// BreakerFacts are the state of a backend's breaker.
type BreakerFacts struct {
	Open     bool   `json:"open"`
	Outages  int    `json:"outages"` // in a row
	Openings int64  `json:"openings"`
	Error    string `json:"error,omitempty"` // of the last outage
	// Since is when it opened; zero unless it is open.
	Since time.Time `json:"since,omitzero"`
}

// FailingDeletes are condemned blobs whose delete failed and is tried again.
type FailingDeletes struct {
	Count    int64     `json:"count"`       // up to ledger.MaxDepth
	Attempts int       `json:"attempts"`    // of the one that failed most often
	Error    string    `json:"error"`       // its last error
	Next     time.Time `json:"next_try_at"` // the first of them
}

// FailingCopies are contents and parts that have fewer copies than they should, or copies in
// the wrong place, after tries for an hour.
type FailingCopies struct {
	Count int64     `json:"count"`       // up to ledger.MaxDepth
	Error string    `json:"error"`       // the last of the one that failed most often
	Next  time.Time `json:"next_try_at"` // the first of them
}

// BackendStatus is the state of a backend.
type BackendStatus struct {
	ID      string `json:"id"`
	Quota   int64  `json:"quota,omitempty"`
	Free    *int64 `json:"free,omitempty"` // of the disk
	Held    string `json:"held,omitempty"` // why deletes are stopped
	Missing bool   `json:"missing,omitempty"`
	// HeldFor is the kind of the stop: person, ledger, backend or absence.
	HeldFor   string    `json:"held_for,omitempty"`
	HeldSince time.Time `json:"held_since,omitzero"`
	// Failing are deletes that are tried again; nil: none.
	Failing *FailingDeletes `json:"failing_deletes,omitempty"`
	// Suspect counts live blobs there that were found missing or damaged, and Lost those
	// of them without a sound copy elsewhere; both up to ledger.MaxSuspects.
	Suspect int64 `json:"suspect,omitempty"`
	Lost    int64 `json:"lost,omitempty"`
	// Draining reports that it is being emptied, and takes no writes.
	Draining bool `json:"draining,omitempty"`
	BackendFacts
	Epoch  int64        `json:"epoch"`
	States []StateTotal `json:"states"`
	// Walk is the last comparison with the ledger, running and interrupted ones
	// included. Compared is the last one that compared everything. Either is
	// nil if there was none.
	Walk     *Walk `json:"last_reconcile,omitempty"`
	Compared *Walk `json:"last_compared,omitempty"`
}

// NotConfigured is what Unused returns for a backend that only the ledger knows.
const NotConfigured = "not in the configuration"

// Unused returns why the backend is neither read nor written; empty if it is used.
func (b BackendStatus) Unused() string {
	switch {
	case b.Misplaced != "":
		return "not in its place"
	case b.Breaker != nil && b.Breaker.Open, b.Unreachable != "":
		return "does not answer"
	case b.Missing:
		return NotConfigured
	}
	return ""
}

// Totals returns the number of blobs on the backend and their bytes, in all states.
func (b BackendStatus) Totals() (blobs, bytes int64) {
	for _, st := range b.States {
		blobs, bytes = blobs+st.Blobs, bytes+st.Bytes
	}
	return blobs, bytes
}

// Room describes for people how much the backend still takes, or why it takes nothing. size
// formats a number of bytes.
func (b BackendStatus) Room(size func(int64) string) string {
	_, used := b.Totals()
	switch {
	case b.Unused() != "":
		return b.Unused()
	case b.S3 != nil && b.S3.NoWrites != "", b.NoWrites != "":
		return "refuses writes"
	case b.Draining:
		return "is being drained"
	case b.Quota > 0:
		return size(max(b.Quota-used, 0)) + " of " + size(b.Quota) + " free"
	case b.Free != nil:
		return size(*b.Free) + " free on the disk"
	}
	return "no quota"
}

// StateTotal is the exact number and bytes of blobs in a state.
type StateTotal struct {
	State string `json:"state"`
	Blobs int64  `json:"blobs"`
	Bytes int64  `json:"bytes"`
	// Age is how long the oldest condemned blob has been due, or the oldest
	// dead letter dead, in seconds.
	Age float64 `json:"oldest_age_seconds,omitempty"`
}
