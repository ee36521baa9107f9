package api

import "time"

// TTLRequest sets when an object ends: TTL from now ("12h", "30d") or At as an instant, and Idle:
// how long it is kept after its last read, counted from now ("none": that does not end it). An
// empty Idle leaves the idle time as it is; without Idle, neither TTL nor At means no time to
// live, and with Idle that stays as it is.
type TTLRequest struct {
	ObjectName
	TTL  string    `json:"ttl,omitempty"`
	At   time.Time `json:"at,omitzero"`
	Idle string    `json:"idle,omitempty"`
}
