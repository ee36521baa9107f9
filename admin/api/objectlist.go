package api

import "time"

// ObjectListRequest asks for a page of the objects under a prefix.
type ObjectListRequest struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	// Recursive lists every key. Otherwise keys that have a slash after the prefix are
	// listed as one prefix, up to that slash.
	Recursive bool   `json:"recursive,omitempty"`
	After     string `json:"after,omitempty"` // Next of the page before
	Limit     int    `json:"limit,omitempty"` // objects and prefixes; default and most 1000
}

// ObjectList is a page of objects. It may be shorter than its limit, or empty, while More is
// set.
type ObjectList struct {
	Objects  []ListedObject `json:"objects"`
	Prefixes []string       `json:"prefixes,omitempty"`
	More     bool           `json:"more,omitempty"`
	Next     string         `json:"next,omitempty"`
}

// ListedObject is an object in a list, and when and by what it ends.
type ListedObject struct {
	Key        string    `json:"key"`
	Size       int64     `json:"size"`
	ModifiedAt time.Time `json:"modified_at"`
	EndsAt     time.Time `json:"ends_at,omitzero"` // none: nothing ends it
	EndedBy    string    `json:"ended_by,omitempty"`
	Rule       string    `json:"rule,omitempty"`       // ID
	Held       bool      `json:"held,omitempty"`       // a hold keeps it whatever ends it
	ReadsLeft  int64     `json:"reads_left,omitempty"` // absent: its reads are not counted
}
