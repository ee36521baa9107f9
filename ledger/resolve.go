package ledger

import "github.com/lethe-storage/lethe"

// Segment is one piece of a content, with the blobs that hold it, best first
// (live and not suspect before suspect; condemned and pending are left out). Of
// the blobs it knows what reading needs: ID, Backend, State, Size, Digest, CRC32C, Block,
// ContentID, Segment, Replica and Suspect.
type Segment struct {
	Size   int64
	Digest string
	Blobs  []Blob
	// Blocks are the sums of its blocks that go with some copy, if they fill at most
	// one row of SumsPerRow; else the ledger is to be asked for what is needed of them.
	Blocks lethe.BlockSums
}

// Resolved is an object with where its bytes lie, read in one snapshot.
type Resolved struct {
	Object   Object
	Segments []Segment // in order; empty for zero bytes
	Now      lethe.Time
}

// Covered reports whether the segments are all of the object.
func (r Resolved) Covered() bool {
	size := int64(0)
	for _, s := range r.Segments {
		size += s.Size
	}
	return size == r.Object.Size
}
