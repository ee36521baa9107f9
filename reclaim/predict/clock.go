package predict

import (
	"fmt"
	"time"
)

// Clock reports whether a ledger's clock is in doubt, so that nothing is removed by age.
type Clock interface {
	// ClockBehind returns how far the machine's clock is behind the latest time in
	// the ledger, and 0 if that is a minute at most.
	ClockBehind() time.Duration
	// ClockAhead returns by how much the clock was set forward since the ledger was
	// opened, and 0 for ordinary corrections.
	ClockAhead() time.Duration
}

// Doubt returns why nothing is removed by age now, for people; empty: the clock is not in doubt.
// A clock that ran back, or was set forward, is wrong now or was before, so it does not show what
// is due (docs/protocol.md, rule 13). Nil is never in doubt.
func Doubt(c Clock) string {
	if c == nil {
		return ""
	}
	if d := c.ClockAhead(); d > 0 {
		return fmt.Sprintf("the ledger's clock was set forward by %s; nothing is removed by age "+
			"until it is set back, or, if it is right, the server is stopped and started", d.Round(time.Second))
	}
	if d := c.ClockBehind(); d > 0 {
		return fmt.Sprintf("the machine's clock is %s behind the latest time in the ledger; "+
			"nothing is removed by age until it has caught up: check the clock", d.Round(time.Second))
	}
	return ""
}
