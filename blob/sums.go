package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/lethe-storage/lethe"
)

// Sums describe bytes that were read.
type Sums struct {
	Size   int64
	Digest string // hex SHA-256
	Blocks lethe.BlockSums
}

// SumsOf reads a body to its end, and returns its sums with those of blocks of block bytes. With an
// error they are of what was read.
func SumsOf(body io.Reader, block int64) (Sums, error) {
	digest, blocks := sha256.New(), lethe.NewBlockHash(block)
	n, err := io.Copy(io.MultiWriter(digest, blocks), body)
	return Sums{n, hex.EncodeToString(digest.Sum(nil)), blocks.Sums()}, err
}
