package api

import "github.com/lethe-storage/lethe"

// HoldRequest names a hold: of one key, of all keys with a prefix, or, if both are
// empty, of the whole bucket.
type HoldRequest struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Legal selects the legal hold that an S3 client has set on the key (remove
	// only).
	Legal bool `json:"legal,omitempty"`
}

// HoldList selects holds after one, by bucket, scope and key.
type HoldList struct {
	Bucket string   `json:"bucket,omitempty"`
	After  HoldInfo `json:"after,omitzero"`
	Limit  int      `json:"limit,omitempty"` // at most 1,000, the default
}

// HoldInfo is a hold: its scope is "object", "prefix" or "legal".
type HoldInfo struct {
	Bucket string     `json:"bucket"`
	Scope  string     `json:"scope"`
	Key    string     `json:"key"`
	Reason string     `json:"reason,omitempty"`
	By     string     `json:"by,omitempty"`
	At     lethe.Time `json:"at,omitempty"` // microseconds since 1970
}

// HoldSet is a hold that was set, and the objects that it keeps now.
type HoldSet struct {
	HoldInfo
	Held Amount `json:"held"`
	// Below is how many keys begin with the held key and a slash, if no object has the key.
	Below int64 `json:"below,omitempty"`
	// Trash is how many entries of the trash the hold keeps, if it keeps no object.
	Trash int64 `json:"trash,omitempty"`
	// AtLeast reports that there are more: the count ended early.
	AtLeast bool `json:"at_least,omitempty"`
}

// Holds is a page of holds, and whether there are more.
type Holds struct {
	Holds []HoldInfo `json:"holds"`
	More  bool       `json:"more"`
}
