package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// Solo asks for a run of a routine that must not run twice at once, whatever the
// number of instances.
type Solo struct {
	Run Run // ID, Routine and Worker; the times are the ledger's
	// Stale ends a run in progress that has shown no heartbeat for so long: its
	// process died or stands still. A run in progress of the same worker is left over
	// in any case: a worker does not run a routine twice at once.
	Stale time.Duration
	// Seen is when the newest successful run began that the caller knows of. If a
	// newer one began meanwhile the caller's time has not come. lethe.Forever:
	// whatever succeeded.
	Seen lethe.Time
}

// Begun is the result of a Solo.
type Begun struct {
	OK bool
	// Other is why not: the run in progress, or the newer successful one.
	Other *Run
	// Ended are the stale runs that were ended as interrupted.
	Ended []Run
}
