package memledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// blockSums returns the sums of a row.
func (b *blob) blockSums() lethe.BlockSums { return lethe.BlockSums{Size: b.Block, Sums: b.sums} }

// keepBlocks stores the sums with the row, which becomes next.
func (b *blob) keepBlocks(next *ledger.Blob, sums lethe.BlockSums) {
	next.Block, b.sums = sums.Size, slices.Clone(sums.Sums)
}

// fewSums returns the sums of the first copy that has them, if they fit into a row of a SQL
// ledger.
func (db *DB) fewSums(copies []ledger.Blob) lethe.BlockSums {
	for _, c := range copies {
		if b := db.byID[c.ID]; b.Block > 0 && len(b.sums) <= ledger.SumsPerRow {
			return lethe.BlockSums{Size: b.Block, Sums: slices.Clone(b.sums)}
		}
	}
	return lethe.BlockSums{}
}

// BlockSums returns the sums of the blocks from..to of a blob, both included; none unless
// all of them are known.
func (db *DB) BlockSums(ctx context.Context, id lethe.ID, from, to int64) ([]uint32, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	b := db.byID[id]
	switch {
	case from < 0 || to < from:
		return nil, fmt.Errorf("memledger: there are no blocks from %d to %d", from, to)
	case b == nil || to >= int64(len(b.sums)):
		return nil, nil
	}
	return slices.Clone(b.sums[from : to+1]), nil
}

// NoteBlocks stores the sums of a live blob of size bytes, and replaces earlier ones; it
// reports whether it did.
func (db *DB) NoteBlocks(ctx context.Context, id lethe.ID, size int64, sums lethe.BlockSums) (bool, error) {
	if err := db.enter(ctx); err != nil {
		return false, err
	}
	defer db.mu.Unlock()
	if err := sums.Check(size); err != nil || sums.Size == 0 {
		return false, fmt.Errorf("memledger: note the blocks of blob %s: no sums, or others: %w", id, err)
	}
	b := db.byID[id]
	if b == nil || b.State != lethe.Live || b.Size != size {
		return false, nil
	}
	next := b.Blob
	b.keepBlocks(&next, sums)
	db.set(b, next)
	return true, nil
}
