package ledger

import "github.com/lethe-storage/lethe"

// Instance is a process that works on the ledger, as it says itself.
type Instance struct {
	ID        string // its name in claims and runs
	StartedAt lethe.Time
	BeatAt    lethe.Time
	Info      InstanceInfo
}

// InstanceInfo is what an instance tells of itself.
type InstanceInfo struct {
	Host    string   `json:"host"`
	PID     int      `json:"pid"`
	Version string   `json:"version"`
	Roles   []string `json:"roles"`
	S3      string   `json:"s3,omitempty"` // address of its S3 endpoint
	// Digests are those of the parts of its configuration that all instances need
	// alike, by part; an older instance says none.
	Digests map[string]string `json:"digests,omitempty"`
	// BackoffLevel is how much slower its clients want others to reclaim, 0 to 4, and
	// Reclaiming that it has reclaimed something since its last heartbeat.
	BackoffLevel int  `json:"backoff_level,omitempty"`
	Reclaiming   bool `json:"reclaiming,omitempty"`
}
