package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// MaxInline is the largest content that may lie in the ledger, in bytes. Rows above it slow
// down both databases: SQLite chains a page for every 4 KiB, and PostgreSQL a row of its
// TOAST table for every 2 KiB.
const MaxInline = 128 << 10

// InLedger stands in the place of a backend's name in totals: what lies in the ledger
// itself. No backend has this name.
const InLedger = ""

// Body is the bytes of an inline content; the zero value is none.
type Body struct {
	Bytes  []byte
	Digest string // of the content: hex SHA-256
	// CRC32C is the CRC-32C (Castagnoli) of the digest and all bytes, so that the row of
	// another content is not taken for this one's.
	CRC32C uint32
}

// NewBody returns the body of a content with that digest, which is not compared.
func NewBody(digest string, data []byte) Body {
	b := Body{Bytes: data, Digest: digest}
	b.CRC32C = b.sum()
	return b
}

func (b Body) sum() uint32 { return lethe.CRC32C(lethe.CRC32C(0, []byte(b.Digest)), b.Bytes) }

// Inline reports whether there are bytes.
func (b Body) Inline() bool { return len(b.Bytes) > 0 }

// Hash returns the hex SHA-256 of the bytes.
func (b Body) Hash() string {
	sum := sha256.Sum256(b.Bytes)
	return hex.EncodeToString(sum[:])
}

// Check returns ErrCorrupt if the bytes are not size bytes with the sum of that content.
func (b Body) Check(size int64) error {
	switch {
	case int64(len(b.Bytes)) != size:
		return fmt.Errorf("inline content has %d bytes, not %d: %w", len(b.Bytes), size, lethe.ErrCorrupt)
	case b.sum() != b.CRC32C:
		return fmt.Errorf("inline content of %d bytes does not match its checksum: %w", size, lethe.ErrCorrupt)
	}
	return nil
}

// CheckMove returns ErrDigestMismatch if the bytes are not those of the digest, or too many
// or too few to lie in the ledger.
func (b Body) CheckMove() error {
	if n := len(b.Bytes); n == 0 || n > MaxInline || b.Hash() != b.Digest {
		return fmt.Errorf("%d bytes to lie in the ledger: %w", n, lethe.ErrDigestMismatch)
	}
	return b.Check(int64(len(b.Bytes)))
}

// BodyCheck is a page of inline contents whose bytes were compared with their digests.
type BodyCheck struct {
	Last     lethe.ID // of the page; empty: there are no more contents
	Contents int64    // that lie in the ledger
	Bytes    int64    // of them
	Wrong    []Discrepancy
}

// Add compares the bytes of a content with its row.
func (p *BodyCheck) Add(id lethe.ID, k ContentKey, b Body) {
	p.Contents++
	p.Bytes += k.Size
	b.Digest = k.Digest
	if have := b.Hash(); have != k.Digest || b.Check(k.Size) != nil {
		p.Wrong = append(p.Wrong, Discrepancy{
			What: "inline bytes", Name: "content " + string(id),
			Want: fmt.Sprintf("%s of %d bytes", k.Digest, k.Size), Have: fmt.Sprintf("%s of %d bytes", have, len(b.Bytes)),
		})
	}
}

// CheckInline returns an error if the inline bytes of a commit are not those of its object.
func (c Commit) CheckInline() error {
	if !c.Inline.Inline() {
		return nil
	}
	if n := len(c.Inline.Bytes); n > MaxInline {
		return fmt.Errorf("%d bytes are too many to lie in the ledger, the most is %d", n, MaxInline)
	}
	if c.Inline.Digest != c.Content.Digest {
		return fmt.Errorf("the inline bytes are of %s, the content is %s", c.Inline.Digest, c.Content.Digest)
	}
	return c.Inline.Check(c.Object.Size)
}
