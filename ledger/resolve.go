package ledger

import "github.com/lethe-storage/lethe"

// Segment is one piece of a content with the blobs that hold it, best first: live and not
// suspect before suspect. Condemned and pending blobs are left out. Of each blob only ID,
// Backend, State, Size, Digest, CRC32C, Block, ContentID, Segment, Replica and Suspect are
// set.
type Segment struct {
	Size   int64
	Digest string
	Blobs  []Blob
	// Blocks are the sums of one copy's blocks, if they fit into one row of SumsPerRow. Else
	// DB.BlockSums reads the ones needed.
	Blocks lethe.BlockSums
}

// Resolved is an object with the blobs that hold its bytes, or the bytes themselves, read in
// one snapshot.
type Resolved struct {
	Object Object
	// Segments are in order; none for zero bytes, and for an inline content. They and Inline are
	// shared with other readers, and not to be changed.
	Segments []Segment
	Inline   Body // not checked yet
	Now      lethe.Time
	Evict    Eviction // the bucket's, its order and least age
}

// Covered reports whether the segments, or the inline bytes, cover the whole object.
func (r Resolved) Covered() bool {
	size := int64(len(r.Inline.Bytes))
	for _, s := range r.Segments {
		size += s.Size
	}
	return size == r.Object.Size
}
