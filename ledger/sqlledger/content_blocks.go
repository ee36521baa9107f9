package sqlledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	insertBlocks = register(`INSERT INTO blocks (blob_id, first_no, sums) VALUES (?1, ?2, ?3)`)
	selectBlocks = register(`SELECT sums FROM blocks WHERE blob_id = ?1 AND first_no BETWEEN ?2 AND ?3 ORDER BY first_no`)
	dropBlocks   = register(`DELETE FROM blocks WHERE blob_id IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
	noteBlock    = register(`UPDATE blobs SET block = ?2 WHERE id = ?1 AND state = 2 AND size = ?3`)
)

// BlockSums returns the sums of the blocks from..to of a blob, both included; none unless
// all of them are known.
func (db *DB) BlockSums(ctx context.Context, blob lethe.ID, from, to int64) (sums []uint32, err error) {
	err = db.readPoint(ctx, pointRead{"BlockSums", "sums of the blocks of", string(blob)}, func(t *tx) error {
		sums, err = t.blockSums(blob, from, to)
		return err
	})
	return sums, err
}

func (t *tx) blockSums(blob lethe.ID, from, to int64) ([]uint32, error) {
	if from < 0 || to < from {
		return nil, fmt.Errorf("the blob has no blocks from %d to %d", from, to)
	}
	first := from / ledger.SumsPerRow * ledger.SumsPerRow
	rows, err := all(t, sqldb.One[[]byte], selectBlocks, blob, first, to)
	if err != nil {
		return nil, err
	}
	packed := slices.Concat(rows...)
	if int64(len(packed)) < 4*(to+1-first) {
		return nil, nil
	}
	return unpacked(packed[4*(from-first) : 4*(to+1-first)]), nil
}

// unpacked returns the sums stored in a row, or in part of one.
func unpacked(packed []byte) []uint32 {
	sums := make([]uint32, len(packed)/4)
	for i := range sums {
		sums[i] = binary.BigEndian.Uint32(packed[4*i:])
	}
	return sums
}

// NoteBlocks stores the sums of a live blob of size bytes whose bytes were read and matched
// its digest. It replaces earlier sums. It returns false if the blob is not live any more.
func (db *DB) NoteBlocks(ctx context.Context, blob lethe.ID, size int64, sums lethe.BlockSums) (noted bool, err error) {
	if sums.Size == 0 {
		return false, errors.New("ledger: note blocks: no sums given")
	}
	err = db.write(ctx, "note the blocks of blob "+string(blob), func(t *tx) error {
		if err := sums.Check(size); err != nil {
			return err
		}
		n, err := t.Exec(noteBlock, blob, sums.Size, size)
		if noted = n == 1; err != nil || !noted {
			return err
		}
		if _, err := t.Send(dropBlocks, sqldb.JSON([]lethe.ID{blob})); err != nil {
			return err
		}
		return t.keepBlocks(blob, sums)
	})
	return noted, err
}

// keepBlocks inserts the sums of a blob that has none.
func (t *tx) keepBlocks(blob lethe.ID, sums lethe.BlockSums) error {
	for i, run := range slices.Collect(slices.Chunk(sums.Sums, ledger.SumsPerRow)) {
		packed := make([]byte, 0, 4*len(run))
		for _, sum := range run {
			packed = binary.BigEndian.AppendUint32(packed, sum)
		}
		if _, err := t.Send(insertBlocks, blob, i*ledger.SumsPerRow, packed); err != nil {
			return err
		}
	}
	return nil
}

// dropBlocks removes the sums of blobs whose rows are removed.
func (t *tx) dropBlocks(blobs []lethe.ID) error {
	if len(blobs) == 0 {
		return nil
	}
	_, err := t.Send(dropBlocks, sqldb.JSON(blobs))
	return err
}
