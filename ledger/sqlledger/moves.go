package sqlledger

import (
	"cmp"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Reasons of moves that are not reasons to condemn.
const (
	moveConfirmed  lethe.Reason = "confirmed"
	moveAttempts   lethe.Reason = "attempts"
	moveRequeued   lethe.Reason = "requeued"
	moveWrittenOff lethe.Reason = "written_off"
	movePromoted   lethe.Reason = "promoted"
)

// OnMoves sets the function that receives the moves of each COMMIT, in no particular order
// of its transactions. It must return fast, and may be called from several goroutines at
// once. Call OnMoves before the ledger is used.
func (db *DB) OnMoves(fn func([]ledger.Move)) { db.moved = fn }

// moves sums up the blobs and bytes of a transaction's moves.
type moves map[ledger.Move]sum

func (m *moves) add(v ledger.Move) {
	if *m == nil {
		*m = moves{}
	}
	n, bytes := v.Blobs, v.Bytes
	v.Blobs, v.Bytes = 0, 0
	(*m)[v] = (*m)[v].plus(n, bytes)
}

// publish reports the moves of members whose COMMIT succeeded.
func (w *writer) publish(members []*member) {
	if w.db.moved == nil {
		return
	}
	all := moves{}
	for _, m := range members {
		if m.err == nil {
			for v, s := range m.moves {
				all[v] = all[v].plus(s.n, s.bytes)
			}
		}
	}
	if len(all) > 0 {
		w.db.moved(all.list())
	}
}

func (m moves) list() []ledger.Move {
	out := make([]ledger.Move, 0, len(m))
	for v, s := range m {
		v.Blobs, v.Bytes = s.n, s.bytes
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b ledger.Move) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
