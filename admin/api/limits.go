package api

import "github.com/lethe-storage/lethe"

// LimitInfo is the state of a deletion limit: its count, and whether it has
// tripped.
type LimitInfo struct {
	Kind    string `json:"kind"`
	Subject string `json:"subject"`        // id of a bucket, or name of a backend
	Name    string `json:"name,omitempty"` // of the bucket
	Count   int64  `json:"count"`          // in the hour that was counted last
	Tripped bool   `json:"tripped"`
	Reason  string `json:"reason,omitempty"`
	// Since and Until are when it tripped, and when that ends by itself, if it
	// does; microseconds since 1970.
	Since     lethe.Time `json:"since,omitempty"`
	Until     lethe.Time `json:"until,omitempty"`
	FreeUntil lethe.Time `json:"free_until,omitempty"` // more is allowed until then
	FreeCount int64      `json:"free_count,omitempty"` // so many; -1: any number
}

// AllowRequest allows what a deletion limit has stopped: Count more, or any
// number, for a time ("1h", the default). With Again the limit counts anew from
// now instead.
type AllowRequest struct {
	Kind    string `json:"kind"`
	Subject string `json:"subject,omitempty"` // name or id of a bucket, name of a backend; none for purge, which is of the store
	Count   int64  `json:"count,omitempty"`
	For     string `json:"for,omitempty"`
	Again   bool   `json:"again,omitempty"`
}
