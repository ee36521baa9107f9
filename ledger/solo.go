package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// Solo asks to begin a run of a routine that must run once at a time, across all instances.
type Solo struct {
	Run Run // ID, Routine and Worker; the times are the ledger's
	// Stale is the age of the last heartbeat at which a run in progress is ended: its
	// process died or hangs. A run in progress of the same worker is ended in any case.
	Stale time.Duration
	// Seen is when the newest successful run that the caller knows of began. A newer one
	// makes the caller's run unnecessary. lethe.Forever: begin whatever succeeded.
	Seen lethe.Time
}

// SoloResult is the result of a Solo.
type SoloResult struct {
	OK bool
	// Other is why the run did not begin: the run in progress, or the newer successful one.
	Other *Run
	// Ended are the stale runs, now ended as interrupted.
	Ended []Run
}
