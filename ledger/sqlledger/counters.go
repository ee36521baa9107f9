package sqlledger

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// counters collects a transaction's changes of the totals, and other rows that are written
// once at its end. They are flushed when the transaction's function has succeeded.
type counters struct {
	totals
	moves  moves             // for subscribers of OnMoves
	places map[lethe.ID]bool // contents that placement must look at
	gone   []receipt.Receipt
}

// move counts blobs that go from one state to another.
func (c *counters) move(m ledger.Move) {
	c.blob(m.Backend, m.From, -m.Blobs, -m.Bytes)
	c.blob(m.Backend, m.To, m.Blobs, m.Bytes)
	c.moves.add(m)
}

// flush writes everything, the totals last, as others wait for their rows. In a group, the
// group writes the totals.
func (c *counters) flush(t *tx) error {
	if err := c.flushPlaces(t); err != nil {
		return err
	}
	if err := c.flushReceipts(t); err != nil {
		return err
	}
	if t.spoilt != nil { // the rest would be rolled back
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
