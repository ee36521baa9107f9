package meta

import (
	"io"
	"time"

	"github.com/lethe-storage/lethe"
)

// Options are the ledger's limits and grace periods. The zero value takes the
// defaults.
type Options struct {
	// Clock tells the time in tests. Default: the machine's for a ledger in a file,
	// the database's for one in PostgreSQL.
	Clock lethe.Clock
	// Random is the source of the ids that the ledger makes: of buckets, uploads,
	// contents and trash entries (default: the system's). A transaction draws
	// them in the order in which it writes the rows.
	Random io.Reader
	// MaxRefs closes a content at this number of references (default 100,000).
	MaxRefs int64
	// ReadGrace keeps blobs that were live from being deleted for so long after
	// they were condemned, so that readers can finish (docs/protocol.md, rule 18).
	ReadGrace time.Duration
	// LateWindow is the longest time that an upload whose caller has given up may
	// still take to land (docs/protocol.md, rule 9).
	LateWindow time.Duration
	// Boot is a clock that nobody sets, by which a clock that is set forward by more
	// than ClockJump is noticed (DB.ClockAhead); nil: it is not. BootID names the start
	// of the machine from which Boot counts (lethe.BootID); empty: a jump while no
	// process ran is not noticed.
	Boot      lethe.Clock
	BootID    string
	ClockJump time.Duration
	// OpsKept is how long operation outcomes can be looked up (default 24 h).
	OpsKept time.Duration
	// TrustWindow is how long a copy that was read or written whole is trusted (default 24 h; < 0: not at all).
	TrustWindow time.Duration
	// Replicas is how many copies of each content placement keeps (default 1). New
	// contents are queued for it if that is more than one.
	Replicas int
	// NoReceipts writes no receipts of what goes.
	NoReceipts bool
}
