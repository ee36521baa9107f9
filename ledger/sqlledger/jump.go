package sqlledger

import (
	"time"
)

// ClockAhead returns by how much the clock was set forward since the ledger was
// opened, 0 if by no more than Options.ClockJump. The ledger's own clock goes on
// without the jump meanwhile; routines that destroy by age should wait (docs/protocol.md, rule
// 13). It ends when the clock is set back, or when the ledger is opened anew: whoever
// restarts the process confirms the clock. One that was set forward while no process had
// the ledger open is noticed when it is opened (Options.BootID).
func (db *DB) ClockAhead() time.Duration {
	if db.file != nil {
		db.file.clock.now()
		return db.file.clock.jump.Ahead()
	}
	db.engine.behind() // asks the server, if that was long ago
	return db.pg.clock.jump.Ahead()
}
