package ledger

import "github.com/lethe-storage/lethe"

// Intent asks for a pending blob: the row before the bytes (docs/protocol.md, rule 1).
type Intent struct {
	ID      lethe.ID // the blob's id, made by the caller
	Backend string
	Size    int64 // bytes to reserve on the backend; grows by Beat
	// Promotion is set only if size and digest are fixed before the upload. With it the
	// reaper can finish the write from proof (docs/protocol.md, rule 19).
	Promotion *Promotion
	// Unknown, with a promotion of one whole body, begins only if the bytes are not stored
	// already, else ErrContentKnown. It is a hint: the commit may find otherwise.
	Unknown bool
	// UploadID and Part name the part that the blob becomes, if any.
	UploadID lethe.ID
	Part     int
}

// Promotion is what a reaper needs to finish a write in the writer's place: the commit that
// the writer was about to make.
type Promotion struct {
	Commit Commit `json:"commit"`
}

// FixedDigest returns the blob's own digest if that is fixed before the upload, else "".
func (in Intent) FixedDigest() string {
	if in.Promotion != nil {
		for _, u := range in.Promotion.Commit.Blobs {
			if u.Blob == in.ID {
				return u.Digest
			}
		}
	}
	return ""
}
