package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// Subject is what placement looks at: a content, or a stored part of an open
// upload, by the id of its blob.
type Subject struct {
	ID   lethe.ID
	Part bool
	// Leave names a backend that a copy shall leave to even out how full the
	// backends are; empty: none.
	Leave string
}

// Placement is a subject with where its bytes lie.
type Placement struct {
	Subject
	Attempts int
	// Content is the zero value for a part, and if the content is gone.
	Content Content
	// Blobs are the pending and live blobs of the content, by segment, replica and
	// id; of a part its own blob while it is live and the part's, else none.
	Blobs []Blob
}

// PlacementClaim asks for subjects that are due. The claim ends by itself after
// Lease; each transition that names its fence begins the lease anew.
type PlacementClaim struct {
	Worker string
	Limit  int
	Lease  time.Duration
	Only   []lethe.ID // of those that are due, if not nil
}

// PlacementQuery asks for a page of what is queued.
type PlacementQuery struct {
	Only  []lethe.ID // these, due or not, in any order; nil: what is due, the longest due first
	After DueMark    // Due and Name of the last one of the page before
	Limit int
}

// QueuedPlacement is a subject in the queue.
type QueuedPlacement struct {
	Subject
	Attempts int
	DueAt    lethe.Time // claimed: when the claim ends
	Fence    int64      // 0: nobody looks after it
}

// Placements is a claimed batch: all subjects carry the fence.
type Placements struct {
	Fence int64
	Items []Placement
	Now   lethe.Time
}

// PlacementResult says how looking after a subject ended.
type PlacementResult struct {
	ID      lethe.ID
	Done    bool       // nothing is left to do
	RetryAt lethe.Time // else: when to look again
	Error   string     // why it is not done; counts as an attempt. Empty: it only goes on later
}

// CopyIntent asks for a pending blob that will be one more copy of a live one.
type CopyIntent struct {
	ID      lethe.ID // the new blob's, made by the caller
	Backend string
	Source  lethe.ID      // the live blob; its content and segment, or its upload and part
	Fence   int64         // of the subject's claim
	Lease   time.Duration // that the claim begins anew
}

// CopyCommit makes a pending copy live; of a part, in the place of the source.
type CopyCommit struct {
	Blob   lethe.ID
	Source lethe.ID        // the blob that was copied
	Digest string          // hex SHA-256 of what was sent
	Blocks lethe.BlockSums // of what was sent
	Late   bool            // an upload under the name may still land
	Fence  int64
	Lease  time.Duration
}

// Trim condemns live copies of a content that are not needed (docs/protocol.md, rule 17).
type Trim struct {
	Content lethe.ID
	Blobs   []lethe.ID
	Reason  lethe.Reason
	Fence   int64
	Lease   time.Duration
}
