package api

import (
	"time"

	"github.com/lethe-storage/lethe/cache"
)

// RedisStatus is the state of Redis, asked now.
type RedisStatus struct {
	Up    bool   `json:"up"`
	Error string `json:"error,omitempty"`
	// Since is since when it has not answered, as far as the process noticed; zero: it answers.
	Since time.Time `json:"since,omitzero"`
}

// WrongValues counts values of the cache that did not match the digest of their content.
// They were dropped, and a backend was read.
type WrongValues struct {
	Count int64     `json:"count"` // since the process started
	Last  time.Time `json:"last_at"`
}

// Instance is a process that works on the ledger.
type Instance struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Roles   []string  `json:"roles"`
	S3      string    `json:"s3,omitempty"`
	Started time.Time `json:"started_at"`
	Seen    time.Time `json:"seen_at"`
	// Silent reports that its heartbeats are missing.
	Silent bool `json:"silent,omitempty"`
	// Unanswered reports that it was asked how it is now, and did not answer in time: its
	// findings are as of seen_at.
	Unanswered bool `json:"unanswered,omitempty"`
	// Settings are digests of the settings that all instances need alike, by part of the
	// configuration.
	Settings map[string]string `json:"settings,omitempty"`
	// Findings are what it reported of itself with its last heartbeat.
	Findings []StatusFinding `json:"findings,omitempty"`
}

// None is the request of calls without arguments.
type None struct{}

// Status is a summary of the store. Sizes are in bytes, ages in seconds. While the ledger
// does not answer it has only what the responding process knows.
type Status struct {
	Health
	// LedgerError is why the ledger does not answer; empty: it does.
	LedgerError string `json:"ledger_error,omitempty"`

	Version   string          `json:"version"`
	Store     string          `json:"store"`
	Database  string          `json:"database"`
	CreatedAt time.Time       `json:"created_at"`
	Now       time.Time       `json:"now"`
	Serving   bool            `json:"serving"`
	StartedAt time.Time       `json:"started_at"`
	Buckets   int             `json:"buckets"`
	Objects   int64           `json:"objects"`
	Bytes     int64           `json:"bytes"` // logical: what clients stored
	Inline    InlineTotal     `json:"inline"`
	Backends  []BackendStatus `json:"backends"`
	Routines  []RoutineStatus `json:"routines"`
	Cache     *cache.Stats    `json:"cache,omitempty"`
	Ledger    LedgerStats     `json:"ledger"`
	// Roles are those of the responding process.
	Roles []string `json:"roles,omitempty"`
	// LedgerKind is the ledger's kind, LedgerLatency how long it took to
	// respond.
	LedgerKind    string       `json:"ledger_kind,omitempty"`
	LedgerLatency float64      `json:"ledger_latency_seconds,omitempty"`
	Redis         *RedisStatus `json:"redis,omitempty"` // nil: none
	WrongValues   *WrongValues `json:"wrong_cached_values,omitempty"`
	Instances     []Instance   `json:"instances,omitempty"` // of a shared ledger
	// SlowedBy is why the responding process reclaims more slowly than it
	// could, and Rates describes what all instances together may delete.
	SlowedBy string `json:"slowed_by,omitempty"`
	Rates    string `json:"rates,omitempty"`
	// BackoffLevel is 0 at full speed and 4 at the slowest.
	BackoffLevel int `json:"backoff_level,omitempty"`
	// ClockBehind is how far the machine's clock is behind the ledger's.
	ClockBehind float64 `json:"clock_behind_seconds,omitempty"`
	// ClockAhead is by how much the ledger's clock was set forward while the process ran.
	ClockAhead float64 `json:"clock_ahead_seconds,omitempty"`
	// Holds is how many holds are set. Trips are the deletion limits that
	// tripped and the clocks in doubt.
	Holds int64       `json:"holds,omitempty"`
	Trips []LimitInfo `json:"trips,omitempty"`
	// Deferred counts due objects and trash entries that holds and limits keep.
	Deferred int64 `json:"deferred,omitempty"`
	// FailingCopies are nil if there are none.
	FailingCopies *FailingCopies `json:"failing_copies,omitempty"`
	// LastDay is what the routines took away in the last 24 hours; nil: not known.
	LastDay *LastDay `json:"last_day,omitempty"`
	// EventTargets are who is told of objects.
	EventTargets []EventTarget `json:"event_targets,omitempty"`
	// Contradictions counts, by kind, what the last checks of this process found wrong
	// within the ledger.
	Contradictions map[string]int64 `json:"contradictions,omitempty"`
}

// LastDay is what went because it was due, by the runs of the last 24 hours that are kept.
type LastDay struct {
	Since   time.Time `json:"since"`
	Objects int64     `json:"objects"` // came to their end, and went
	Trash   int64     `json:"trash"`   // entries whose undo window ended, and that were purged
	Blobs   int64     `json:"blobs"`   // deleted on backends
	Bytes   int64     `json:"bytes"`   // of them
}

// InlineTotal counts the small contents whose bytes lie in the ledger itself.
type InlineTotal struct {
	Contents int64 `json:"contents"`
	Bytes    int64 `json:"bytes"`
}

// LedgerStats counts what the ledger has written since it was opened.
type LedgerStats struct {
	Members int64 // writes
	Groups  int64 // transactions, each of one or more writes
	Commits int64 // COMMITs, each with a flush of the disk if it changed anything
	// Full is set while the ledger's disk lacks space: writes that need space are refused,
	// others are not.
	Full bool
	// Refused is why PostgreSQL refused a write within the last minute, as it would every
	// other: this connection may only read, or the disk is full. Empty: it did not.
	Refused string
}

// RoutineStatus is a routine's backlog, last run and next run.
type RoutineStatus struct {
	Name    string  `json:"name"`
	Backlog Backlog `json:"backlog"`
	Running bool    `json:"running"`
	// Interval is the longest time between two runs by its schedule here; 0: it has none.
	Interval float64 `json:"interval_seconds,omitempty"`
	LastRun  *Run    `json:"last_run,omitempty"`
	LastGood *Run    `json:"last_good_run,omitempty"`
	// LookedAt is when it last looked for work, NextRun when it will next. Both
	// are known only of a serving process.
	LookedAt time.Time `json:"looked_at,omitzero"`
	NextRun  time.Time `json:"next_run,omitzero"`
	// SucceededAt is when a look last ended without an error, or was skipped
	// because another instance had done it.
	SucceededAt time.Time `json:"succeeded_at,omitzero"`
	Error       string    `json:"error,omitempty"` // of the last look
	// FailingSince is when the first look after the last success failed, as far as this process
	// knows; zero without an error.
	FailingSince time.Time        `json:"failing_since,omitzero"`
	Counts       map[string]int64 `json:"counts,omitempty"`
}

// Backlog is what is due now, and what will be.
type Backlog struct {
	Due       int64     `json:"due"`
	Bytes     int64     `json:"bytes"`
	Oldest    time.Time `json:"oldest,omitzero"`
	Age       float64   `json:"age_seconds"` // of the oldest that is due
	Scheduled int64     `json:"scheduled"`   // not due yet, without what holds keep
	NextDue   time.Time `json:"next_due,omitzero"`
	// Held are due, and kept by holds. Objects and trash entries leave the queue at the next
	// run.
	Held      int64 `json:"held,omitempty"`
	HeldBytes int64 `json:"held_bytes,omitempty"`
}

// Run is a recorded run that did something or failed.
type Run struct {
	ID       string           `json:"id"`
	Worker   string           `json:"worker"`
	Started  time.Time        `json:"started_at"`
	Beat     time.Time        `json:"beat_at"`
	Finished time.Time        `json:"finished_at,omitzero"`
	Outcome  string           `json:"outcome,omitempty"`
	Counts   map[string]int64 `json:"counts,omitempty"`
}
