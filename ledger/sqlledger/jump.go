package sqlledger

import (
	"time"
)

// ClockAhead returns how far the clock was set forward since the ledger was opened, 0 for up
// to Options.ClockJump. Meanwhile the ledger's own clock continues without the jump, and
// routines that destroy by age should wait (docs/protocol.md, rule 13). It ends when the
// clock is set back or the ledger is reopened: a restart confirms the clock. A jump while no
// process had the ledger open is detected when it is opened (Options.BootID).
func (db *DB) ClockAhead() time.Duration {
	if db.file != nil {
		db.file.clock.now()
		return db.file.clock.jump.Ahead()
	}
	db.engine.behind() // asks the server, if the last answer is old
	return db.pg.clock.jump.Ahead()
}
