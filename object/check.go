package object

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"

	"github.com/lethe-storage/lethe/meta"
)

// check is what the bytes of a segment are held against while they are read: the
// CRC-32C that was noted when they were written, which costs a twentieth of the
// SHA-256, or that where there is none. Damage is found by either; that nobody
// exchanged the bytes is for the scheduled checks to prove.
type check struct {
	hash.Hash
	name, want string
}

func newCheck(s meta.Segment) check {
	for _, b := range s.Blobs {
		if b.CRC32C != 0 {
			return check{crc32.New(castagnoli), "CRC-32C", fmt.Sprintf("%08x", b.CRC32C)}
		}
	}
	return check{sha256.New(), "SHA-256", s.Digest}
}

// wrong says what does not match, "" if all is well.
func (c check) wrong() string {
	if have := hex.EncodeToString(c.Sum(nil)); have != c.want {
		return fmt.Sprintf("its %s is %s, not %s", c.name, have, c.want)
	}
	return ""
}
