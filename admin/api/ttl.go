package api

import "time"

// TTLRequest sets the time to live of an object: TTL from now ("12h", "30d"),
// At as an instant, or none if both are empty.
type TTLRequest struct {
	ObjectName
	TTL string    `json:"ttl,omitempty"`
	At  time.Time `json:"at,omitzero"`
}
