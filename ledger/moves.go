package ledger

import "github.com/lethe-storage/lethe"

// Move is a change of state of a number of blobs of one backend, for one reason, in a
// committed transaction.
type Move struct {
	Backend string
	From    lethe.State // 0: a new row
	To      lethe.State // 0: the row was removed
	// Reason is why a blob was condemned. For moves out of Condemned and Dead it is
	// "confirmed", "attempts", "requeued" or "written_off". From Pending to Live it is
	// "promoted" if a reaper finished the write, else empty.
	Reason lethe.Reason
	Blobs  int64
	Bytes  int64 // as reserved or stored before the move; for a new row, after it
}
