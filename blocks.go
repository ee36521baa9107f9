package lethe

import (
	"fmt"
	"hash/crc32"
)

// BlockSize is the number of bytes under one checksum; the last block of a blob may be
// shorter. A block and its source buffer fit into a core's second-level cache together. With
// 256 KiB a whole read takes 10 % more processor time.
const BlockSize = 128 << 10

// BlockSums are the CRC-32C (Castagnoli) of a blob's blocks, in order. The zero value: not
// known. A blob of one block needs none, as its own CRC serves.
type BlockSums struct {
	Size int64    `json:"size,omitempty"` // bytes of each block but the last
	Sums []uint32 `json:"sums,omitempty"`
}

// Check returns an error, with no sentinel, unless the sums are unknown or match a blob of
// size bytes.
func (b BlockSums) Check(size int64) error {
	if b.Size == 0 && len(b.Sums) == 0 || b.Size > 0 && int64(len(b.Sums)) == Blocks(size, b.Size) {
		return nil
	}
	return fmt.Errorf("lethe: %d sums of blocks of %d bytes are not those of %d bytes", len(b.Sums), b.Size, size)
}

// Blocks returns how many blocks of block bytes make up size bytes.
func Blocks(size, block int64) int64 { return (size + block - 1) / block }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC32C returns the CRC-32C of data appended to bytes with the CRC sum; 0: no bytes before.
func CRC32C(sum uint32, data []byte) uint32 { return crc32.Update(sum, castagnoli, data) }

// BlockHash computes the CRC-32C of what is written to it, in total and by block. It
// implements io.Writer.
type BlockHash struct {
	size int64
	n    int64 // bytes of the current block
	last uint32
	all  uint32
	sums []uint32 // of the completed blocks
}

// NewBlockHash returns a BlockHash for blocks of size bytes.
func NewBlockHash(size int64) *BlockHash { return &BlockHash{size: size} }

// Write never fails.
func (h *BlockHash) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if h.n == h.size {
			h.sums, h.last, h.n = append(h.sums, h.last), 0, 0
		}
		part := p[:min(int64(len(p)), h.size-h.n)]
		h.last = CRC32C(h.last, part)
		if len(h.sums) > 0 {
			h.all = CRC32C(h.all, part)
		} else {
			h.all = h.last
		}
		h.n += int64(len(part))
		p = p[len(part):]
	}
	return n, nil
}

// CRC32C returns the sum of everything written.
func (h *BlockHash) CRC32C() uint32 { return h.all }

// Sums returns the sums of the blocks written; none for a single block.
func (h *BlockHash) Sums() BlockSums {
	if len(h.sums) == 0 {
		return BlockSums{}
	}
	sums := make([]uint32, len(h.sums), len(h.sums)+1)
	copy(sums, h.sums)
	return BlockSums{Size: h.size, Sums: append(sums, h.last)}
}
