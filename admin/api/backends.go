package api

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
	// SlowedBy is why deleting there is slower than it could be, and Rates
	// describes its rates.
	SlowedBy string `json:"slowed_by,omitempty"`
	Rates    string `json:"rates,omitempty"`
	// BackoffLevel is the level of deletes there for the backend's load: 0 to
	// 4. Limited reports that its rates delay them.
	BackoffLevel int  `json:"backoff_level,omitempty"`
	Limited      bool `json:"limited,omitempty"`
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
}

// BackendStatus is the state of a backend.
type BackendStatus struct {
	ID      string `json:"id"`
	Quota   int64  `json:"quota,omitempty"`
	Free    *int64 `json:"free,omitempty"` // of the disk
	Held    string `json:"held,omitempty"` // why deletes are stopped
	Missing bool   `json:"missing,omitempty"`
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

// StateTotal is the exact number and bytes of blobs in a state.
type StateTotal struct {
	State string `json:"state"`
	Blobs int64  `json:"blobs"`
	Bytes int64  `json:"bytes"`
	// Age is how long the oldest condemned blob has been due, or the oldest
	// dead letter dead, in seconds.
	Age float64 `json:"oldest_age_seconds,omitempty"`
}
