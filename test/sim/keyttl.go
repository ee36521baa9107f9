package sim

import (
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// keyed says that access keys in this world limit how long the objects live that they write.
func (w *World) keyed() bool { return hash2(w.cfg.Seed, 181)%8 == 0 }

// keyTTL is that of the key by which an operation writes.
func (w *World) keyTTL(op *operation) ledger.KeyTTL {
	h := draw(w.cfg.Seed, uint64(op.number), 73)
	if !w.keyed() || h%3 == 0 {
		return ledger.KeyTTL{}
	}
	op.byKey = ledger.KeyTTL{Key: "key", Max: time.Duration(15+h>>8%20) * time.Minute}
	if h>>16%2 == 0 {
		op.byKey.Default = 10 * time.Minute
	}
	return op.byKey
}

// keysEnd: what a key writes ends as the key demands, and says so if no end was asked for.
func (o *oracle) keysEnd(before View) error {
	was := byPlace(before.Objects)
	for at, now := range byPlace(o.view.Objects) {
		op := o.byOp[now.ID]
		if op == nil || op.byKey.Max == 0 || was[at].ID == now.ID {
			continue
		}
		if now.TTLAt == 0 || now.TTLAt > now.ModifiedAt.Add(op.byKey.Max) {
			return broken("%v ends at %s, and its key lets it live for %s from %s", at, now.TTLAt, op.byKey.Max, now.ModifiedAt)
		}
	}
	return nil
}
