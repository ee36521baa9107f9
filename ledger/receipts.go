package ledger

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/receipt"
)

// Receipt returns the receipt of how the entry came into the trash.
func (e TrashEntry) Receipt(as lethe.ID) *receipt.Trash {
	return &receipt.Trash{At: receipt.Instant(e.DeletedAt), Reason: e.Reason, Op: e.Op, By: e.By, EndedBy: e.EndedBy, As: as}
}
