package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// ClockState compares the ledger's clock with the machine's, or with the server's on
// PostgreSQL.
type ClockState struct {
	Ledger lethe.Time // the ledger's now
	Wall   lethe.Time
	// Ahead is how far the ledger's clock lies ahead; 0 for up to a minute. Until the
	// machine's clock catches up it stands still, and nothing is removed for its age.
	Ahead time.Duration
	// Hidden counts objects whose time ends between the two clocks. Clients do not see them
	// now. After a reset they see them again, until their time.
	Hidden int64
	// Longer counts objects with a time to live, or under a lifecycle rule, that were
	// written while the clock was ahead. They end up to LongerBy later than they should.
	Longer   int64
	LongerBy time.Duration
}
