package ledger

import (
	"fmt"

	"github.com/lethe-storage/lethe"
)

// CheckBlocks returns an error if a blob has sums that are not those of the bytes uploaded.
func (c Commit) CheckBlocks() error {
	for _, u := range c.Blobs {
		if err := u.Blocks.Check(u.Size); err != nil {
			return fmt.Errorf("blob %s: %w", u.Blob, err)
		}
	}
	return nil
}

// Proven completes the commit of a reaper that has read the blob to its end. The writer's
// own upload may still land, so the blob is marked late. It gets the given sums if it has
// none.
func (c Commit) Proven(sums lethe.BlockSums) {
	for i := range c.Blobs {
		u := &c.Blobs[i]
		u.Late = true
		if u.Blocks.Size == 0 {
			u.Blocks = sums
		}
	}
}

// SumsPerRow is how many sums a row of blocks holds. A row of 512 bytes fits into a page of
// either database. Reading a few sums of a large blob reads one row.
const SumsPerRow = 128
