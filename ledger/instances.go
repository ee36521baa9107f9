package ledger

import "github.com/lethe-storage/lethe"

// Instance is a process that works on the ledger, by its own account.
type Instance struct {
	ID        string // its name in claims and runs
	StartedAt lethe.Time
	BeatAt    lethe.Time
	Info      InstanceInfo
}

// InstanceInfo is what an instance publishes about itself.
type InstanceInfo struct {
	Host    string   `json:"host"`
	PID     int      `json:"pid"`
	Version string   `json:"version"`
	Roles   []string `json:"roles"`
	S3      string   `json:"s3,omitempty"` // address of its S3 endpoint
	// Digests are, by name, those of the parts of its configuration that must be equal on
	// all instances. Older instances have none.
	Digests map[string]string `json:"digests,omitempty"`
	// BackoffLevel is how much other instances must slow reclamation for its clients, 0 to
	// 4. Reclaiming is set if it has reclaimed something since its last heartbeat.
	BackoffLevel int  `json:"backoff_level,omitempty"`
	Reclaiming   bool `json:"reclaiming,omitempty"`
	// Answered is the number of the last question (AskInstances) that was read before the
	// findings were made.
	Answered int64 `json:"answered,omitempty"`
	// Findings are what only the instance knows and operators of the store should: at most
	// MaxInstanceFindings, the worst first.
	Findings []InstanceFinding `json:"findings,omitempty"`
}

// MaxInstanceFindings bounds the findings that an instance publishes, and
// MaxInstanceFinding the bytes of the text of each.
const (
	MaxInstanceFindings = 20
	MaxInstanceFinding  = 300
)

// InstanceFinding is a problem that an instance has, such as a backend that does not answer
// it. Severity and Kind are those of the admin API.
type InstanceFinding struct {
	Severity string     `json:"severity"`
	Kind     string     `json:"kind"`
	Subject  string     `json:"subject,omitempty"`
	What     string     `json:"what"`
	Since    lethe.Time `json:"since,omitempty"`
	Next     string     `json:"next,omitempty"`
}
