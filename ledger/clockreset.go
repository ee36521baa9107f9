package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// ClockState says how the ledger's clock stands to the machine's, or on
// PostgreSQL to the server's.
type ClockState struct {
	Ledger lethe.Time // the ledger's now
	Wall   lethe.Time
	// Ahead is by how much the ledger's lies ahead; 0 if by no more than a minute.
	// It stands still meanwhile, and nothing is removed for its age.
	Ahead time.Duration
	// Hidden counts objects whose time ends between the two: clients do not see
	// them now, and would again once the clock is reset, until their time.
	Hidden int64
	// Longer counts objects with a time to live, or under a lifecycle rule, that
	// were written while the clock was ahead: what counts from then ends up to
	// LongerBy later than it should.
	Longer   int64
	LongerBy time.Duration
}
