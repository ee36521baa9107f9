package ledger

import "github.com/lethe-storage/lethe"

// LateBytes are bytes that were sent, or may have been, after their intent was given up.
type LateBytes struct {
	Blob    lethe.ID
	Backend string
	Size    int64 // bytes
}
