package sqlledger

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// counters collects what a transaction adds to and takes from the totals, and what
// else is written once at its end; it is flushed when the transaction's function has
// succeeded.
type counters struct {
	totals
	moves  moves             // for those who count them
	places map[lethe.ID]bool // contents that placement has to look at
	gone   []receipt.Receipt
}

// move takes blobs from one state to another.
func (c *counters) move(m ledger.Move) {
	c.blob(m.Backend, m.From, -m.Blobs, -m.Bytes)
	c.blob(m.Backend, m.To, m.Blobs, m.Bytes)
	c.moves.add(m)
}

// flush writes all, the totals last: others wait for their rows. Where the
// transaction is a member of a group, that writes them.
func (c *counters) flush(t *tx) error {
	if err := c.flushPlaces(t); err != nil {
		return err
	}
	if err := c.flushReceipts(t); err != nil {
		return err
	}
	if t.spoilt != nil { // what follows is undone
		return t.spoilt
	}
	if t.common != nil {
		t.common.add(c.totals)
	} else if err := c.write(t); err != nil {
		return err
	}
	*c = counters{moves: c.moves}
	return nil
}
