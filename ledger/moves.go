package ledger

import "github.com/lethe-storage/lethe"

// Move is a change of state that a number of blobs of one backend made for one
// reason, by a transaction that was committed.
type Move struct {
	Backend string
	From    lethe.State // 0: the row was made
	To      lethe.State // 0: the row is gone
	// Reason is why a blob was condemned; for moves out of Condemned and Dead it
	// says how: "confirmed", "attempts", "requeued" or "written_off". For those from
	// Pending to Live it is "promoted" if a reaper made them, and else empty.
	Reason lethe.Reason
	Blobs  int64
	Bytes  int64 // as reserved or stored before the move, for a new row after it
}
