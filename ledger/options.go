package ledger

import (
	"cmp"
	"crypto/rand"
	"io"
	"time"

	"github.com/lethe-storage/lethe"
)

// Options are the ledger's limits and grace periods. The zero value takes the
// defaults.
type Options struct {
	// Clock replaces the clock in tests. Default: the machine's for a SQLite file, the
	// database's for PostgreSQL.
	Clock lethe.Clock
	// Random is the source of the ids of buckets, uploads, contents and trash entries
	// (default: the system's). A transaction draws ids in the order in which it writes the
	// rows.
	Random io.Reader
	// MaxRefs closes a content at this number of references (default 100,000).
	MaxRefs int64
	// ReadGrace is how long blobs that were live are kept after they were condemned, so that
	// readers can finish (docs/protocol.md, rule 18; default lethe.DefaultReadGrace).
	ReadGrace time.Duration
	// MovedGrace is how long the blobs of a content that was moved into the ledger are kept:
	// a backup from before names them (default lethe.DefaultMovedGrace).
	MovedGrace time.Duration
	// LateWindow is the longest time in which an upload whose caller has given up may still
	// land (docs/protocol.md, rule 9).
	LateWindow time.Duration
	// Boot is a clock that cannot be set. With it the ledger detects that its clock was set
	// forward by more than ClockJump (DB.ClockAhead); nil: it does not. BootID names the
	// machine start from which Boot counts (lethe.BootID). If it is empty, a jump while no
	// process ran is not detected.
	Boot      lethe.Clock
	BootID    string
	ClockJump time.Duration
	// OpsKept is how long outcomes of operations are kept (default 24 h).
	OpsKept time.Duration
	// TrustWindow is how long a copy is trusted after it was read or written whole (default
	// 24 h; negative: not at all).
	TrustWindow time.Duration
	// Replicas is how many copies of each content placement keeps (default 1). With more
	// than one, new contents are queued for placement.
	Replicas int
	// NoReceipts turns the receipts of deletions off.
	NoReceipts bool
}

// WithDefaults returns the options with each zero replaced by its default.
func (o Options) WithDefaults() Options {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	o.MaxRefs = cmp.Or(o.MaxRefs, 100_000)
	o.ReadGrace = cmp.Or(o.ReadGrace, lethe.DefaultReadGrace)
	o.MovedGrace = cmp.Or(o.MovedGrace, lethe.DefaultMovedGrace)
	o.LateWindow = cmp.Or(o.LateWindow, time.Hour)
	o.OpsKept = cmp.Or(o.OpsKept, 24*time.Hour)
	o.TrustWindow = cmp.Or(o.TrustWindow, DefaultTrust)
	return o
}
