package lethe

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// SegmentSum is the digest (hex SHA-256) and size in bytes of one segment of a
// content.
type SegmentSum struct {
	Digest string
	Size   int64
}

// MultipartDigest returns the digest of a Multipart content: the hex SHA-256 over each
// segment's SHA-256 (32 bytes) and size (8 bytes, big endian), in order. Segments of zero
// bytes must not be listed. ErrCorrupt if a digest is not a hex SHA-256.
func MultipartDigest(segments []SegmentSum) (string, error) {
	sum := sha256.New()
	for i, s := range segments {
		digest, err := hex.DecodeString(s.Digest)
		if err != nil || len(digest) != sha256.Size {
			return "", fmt.Errorf("lethe: digest %q of segment %d is not a hex SHA-256: %w", s.Digest, i, ErrCorrupt)
		}
		sum.Write(binary.BigEndian.AppendUint64(digest, uint64(s.Size)))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
