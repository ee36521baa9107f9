package api

import "time"

// DeadRequest chooses dead letters: by their ids, or those that meet all
// filters that are set, or with All every one. A list without a choice has
// every one, too.
type DeadRequest struct {
	IDs     []string `json:"ids,omitempty"`
	Backend string   `json:"backend,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Bucket  string   `json:"bucket,omitempty"`   // of the last reference, where the row knows it
	MinAge  string   `json:"min_age,omitempty"`  // since it was enqueued: 90m, 7d
	MinSize int64    `json:"min_size,omitempty"` // bytes
	Error   string   `json:"error,omitempty"`    // occurs in the last error, upper and lower case apart
	All     bool     `json:"all,omitempty"`
	After   string   `json:"after,omitempty"` // list: the last id of the page before
	Limit   int      `json:"limit,omitempty"` // list: default and most 1,000
}

// DeadList is a page of dead letters, oldest blob first.
type DeadList struct {
	Blobs []DeadInfo `json:"blobs"`
	Next  string     `json:"next,omitempty"` // the After of the next page
}

// DeadInfo is a dead letter: died_at is when its last reference went, by which it
// was enqueued.
type DeadInfo struct {
	BlobInfo
	Bucket   string `json:"bucket,omitempty"`    // of the last reference; empty: not known, or deleted
	BucketID string `json:"bucket_id,omitempty"` // empty: not known
	Content  string `json:"content,omitempty"`   // that it was part of
	Upload   string `json:"upload,omitempty"`    // that it was a part of
	Part     int    `json:"part,omitempty"`
	SHA256   string `json:"sha256,omitempty"` // of the blob's bytes, hex
}

// DeadName names a dead letter.
type DeadName struct {
	ID string `json:"id"`
}

// DeadDetail is a dead letter with its history.
type DeadDetail struct {
	DeadInfo
	Now     time.Time `json:"now"`
	Planned string    `json:"planned"`        // in words
	Held    string    `json:"held,omitempty"` // why deletes on its backend are held
}

// Count is how many were changed, and how many of the chosen ones a write-off
// left because their uploads may still take effect, with the time until which
// the last of them may.
type Count struct {
	Count     int       `json:"count"`
	Late      int       `json:"late,omitempty"`
	LateUntil time.Time `json:"late_until,omitzero"`
}
