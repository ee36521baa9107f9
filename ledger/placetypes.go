package ledger

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// Subject is what placement works on: a content, or a stored part of an open upload by the
// id of its blob.
type Subject struct {
	ID   lethe.ID
	Part bool
	// Leave names a backend that one copy must leave so that the backends fill evenly;
	// empty: none.
	Leave string
}

// Placement is a subject with the blobs that hold its bytes.
type Placement struct {
	Subject
	Attempts int
	// Content is the zero value for a part, and for a content that is gone.
	Content Content
	// Blobs are the pending and live blobs of the content, by segment, replica and id. Those
	// of a part are its own blob, while that is live and still the part's.
	Blobs []Blob
}

// PlacementClaim asks for due subjects. The claim ends after Lease; each transition with its
// fence restarts the lease.
type PlacementClaim struct {
	Worker string
	Limit  int
	Lease  time.Duration
	Only   []lethe.ID // if not nil: only these of the due ones
}

// PlacementQuery asks for a page of the queue.
type PlacementQuery struct {
	Only  []lethe.ID // these, due or not, in any order; nil: the due ones, longest due first
	After DueMark    // Due and Name of the previous page's last row
	Limit int
}

// QueuedPlacement is a subject in the queue.
type QueuedPlacement struct {
	Subject
	Attempts int
	DueAt    lethe.Time // if claimed: when the claim ends
	Fence    int64      // 0: not claimed
}

// Placements is a claimed batch: all subjects carry the fence.
type Placements struct {
	Fence int64
	Items []Placement
	Now   lethe.Time
}

// PlacementResult is how the work on a subject ended.
type PlacementResult struct {
	ID      lethe.ID
	Done    bool       // nothing is left to do
	RetryAt lethe.Time // else: when to look again
	Error   string     // why it is not done; counts as an attempt. Empty: it continues later
}

// CopyIntent asks for a pending blob that becomes one more copy of a live one, or the first
// one of an inline content.
type CopyIntent struct {
	ID      lethe.ID // of the new blob, made by the caller
	Backend string
	Source  lethe.ID      // the live blob; its content and segment, or its upload and part
	Fence   int64         // of the subject's claim
	Lease   time.Duration // restarts the claim's lease
	// Inline, instead of Source, is an inline content; there is no claim. CRC32C is that of
	// its bytes.
	Inline lethe.ID
	CRC32C uint32
}

// CopyCommit makes a pending copy live; the copy of a part replaces its source, that of an
// inline content the bytes in the ledger.
type CopyCommit struct {
	Blob   lethe.ID
	Source lethe.ID        // the blob that was copied
	Inline lethe.ID        // or the inline content
	Digest string          // hex SHA-256 of what was sent
	Blocks lethe.BlockSums // of what was sent
	Late   bool            // an upload under the name may still land
	Fence  int64
	Lease  time.Duration
}

// Trim condemns surplus live copies of a content (docs/protocol.md, rule 17).
type Trim struct {
	Content lethe.ID
	Blobs   []lethe.ID
	Reason  lethe.Reason
	Fence   int64
	Lease   time.Duration
}

// Misplaced asks for a page of the contents that lie on the other side of a limit: up to
// Inline bytes on backends, above it in the ledger. Contents of uploads in parts stay where
// they are.
type Misplaced struct {
	After  lethe.ID
	Inline int64 // bytes
	Limit  int   // contents that a page passes, also those that lie where they should
}

// Has reports whether the content is misplaced.
func (m Misplaced) Has(c Content) bool {
	if c.Inline {
		return c.Size > m.Inline
	}
	return c.Kind == lethe.Whole && c.Size <= m.Inline
}

// ContentPage is a page of contents.
type ContentPage struct {
	Contents []Content // by id
	Last     lethe.ID  // that the page passed; empty: there are no more contents
}

// Copy returns the pending copy of the blob.
func (in CopyIntent) Copy(src Blob, now lethe.Time) Blob {
	return Blob{
		ID: in.ID, Backend: in.Backend, State: lethe.Pending, Size: src.Size, Digest: src.Digest, CRC32C: src.CRC32C,
		ContentID: src.ContentID, Segment: src.Segment, UploadID: src.UploadID, Part: src.Part, CreatedAt: now, BeatAt: now,
	}
}

// Check returns an error unless the pending blob b is a copy of src, and the bytes sent are
// those of src: ErrContentGone, ErrDigestMismatch.
func (c CopyCommit) Check(b, src Blob) error {
	switch {
	case b.ContentID != src.ContentID || b.UploadID != src.UploadID || b.Segment != src.Segment || b.Part != src.Part:
		return fmt.Errorf("blob %s is no copy of blob %s: %w", b.ID, src.ID, lethe.ErrContentGone)
	case b.Digest != c.Digest || b.Digest != src.Digest:
		return fmt.Errorf("blob %s: %w", b.ID, lethe.ErrDigestMismatch)
	}
	return c.Blocks.Check(b.Size)
}
