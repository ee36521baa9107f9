package api

import "time"

// QueueRequest selects entries of the cleanup queue, or pending objects, by all
// filters that are set.
type QueueRequest struct {
	Backend string `json:"backend,omitempty"`
	// State is "claimed", or of the cleanup queue "due" or "scheduled", of pending
	// objects "silent" (longer than reclaim.grace.min_age) or "alive".
	State       string `json:"state,omitempty"`
	MinAge      string `json:"min_age,omitempty"`    // since its last reference ended, or since its writer's last sign of life: 90m, 7d
	ClaimedBy   string `json:"claimed_by,omitempty"` // how the worker's name begins
	MinAttempts int    `json:"min_attempts,omitempty"`
	Reason      string `json:"reason,omitempty"` // why it was condemned
	After       string `json:"after,omitempty"`  // the next of the page before
	Limit       int    `json:"limit,omitempty"`  // default and most 1,000
}

// QueueList is a page of a queue: claimed entries first, then the longest due
// (or silent). While Next is not empty there may be more, even after a short or
// empty page: a page reads at most 10,000 rows.
type QueueList struct {
	Blobs []QueuedInfo `json:"blobs"`
	Next  string       `json:"next,omitempty"` // the After of the next page
}

// QueuedInfo is a row of the cleanup queue, or a pending object, whose size is
// its reservation.
type QueuedInfo struct {
	BlobInfo
	ClaimedAt time.Time `json:"claimed_at,omitzero"`
	BeatAt    time.Time `json:"beat_at,omitzero"` // last sign of life of a pending object's writer
	Content   string    `json:"content,omitempty"`
	Upload    string    `json:"upload,omitempty"`
	Part      int       `json:"part,omitempty"`
}
