package ledger

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// Commit makes an object (docs/protocol.md, rule 2). Exactly one of five cases holds.
// Object.Size is 0: no content. Blobs holds the uploaded segments in order. Inline holds all
// bytes. Source names an object whose content is referenced. None of these: the open and
// sound content with the identity Content is referenced, else ErrContentGone.
type Commit struct {
	Op      lethe.ID   `json:"op"` // unique; recorded with the outcome; becomes Object.ID
	What    string     `json:"what"`
	Object  Object     `json:"object"` // Bucket, Key, Size, ETag, TTLAt, ReadsLeft, IdleFor, Attrs, Tags; the ledger sets ID, BucketID, ContentID, ModifiedAt
	Content ContentKey `json:"content"`
	Blobs   []Uploaded `json:"blobs,omitempty"`
	// Inline is the content of an object whose bytes go into the ledger (docs/protocol.md,
	// rule 23). ErrContentGone if the content is known and lies on backends, where it is not
	// sound: then the bytes must be uploaded.
	Inline Body         `json:"-"`
	Source *Source      `json:"source,omitempty"`
	If     Precondition `json:"if"`
	// Into, if set, is the ID of the expected bucket: ErrNoSuchBucket if another one has the
	// name.
	Into lethe.ID `json:"into,omitempty"`
	// TTL, if set, counts from the transaction's now; Object.TTLAt is absolute. If both are
	// zero the bucket's default or that of ByKey applies, whichever is shorter. A time beyond a
	// maximum returns ErrInvalidTTL.
	TTL   time.Duration `json:"ttl,omitempty"`
	ByKey KeyTTL        `json:"by_key,omitzero"` // of the access key that writes
	// By is the caller of the write, for a reaper that finishes it; default: the context's
	// caller.
	By lethe.Caller `json:"by,omitzero"`
	// Reach, if set, names the backends that the writer can read now. Known content is
	// referenced only if all of it is there. Else it counts as lost, and the upload joins it
	// as one more copy (docs/protocol.md, rule 20). Source ignores Reach: a copy promises no
	// more than its source.
	Reach []string `json:"reach,omitempty"`
}

// Uploaded is the result of the upload of one blob.
type Uploaded struct {
	Blob   lethe.ID `json:"blob"`
	Size   int64    `json:"size"`
	Digest string   `json:"digest"` // hex SHA-256
	// CRC32C is the checksum of reads (Castagnoli); 0: not known, reads check the SHA-256.
	CRC32C uint32 `json:"crc32c,omitempty"`
	// Blocks are the sums that check a part of the blob, if it has several blocks.
	Blocks lethe.BlockSums `json:"blocks,omitzero"`
	// Late: an upload under this name had an unknown outcome and may still land.
	Late bool `json:"late,omitempty"`
}

// Source names the version of an object to copy from: ErrNoSuchKey if it is gone.
// ErrContentGone if its content cannot be referenced, being closed or of another dedup
// domain: then the bytes must be copied.
type Source struct {
	Bucket string   `json:"bucket"`
	Key    string   `json:"key"`
	ID     lethe.ID `json:"id"`
}

// Committed is the result of a Commit.
type Committed struct {
	Object    Object
	Replaced  bool // an earlier version was replaced
	Duplicate bool // the content existed; the uploaded blobs were condemned
	// Dropped lists contents that lost their last reference, for caches to drop.
	Dropped []lethe.ID
}

// Wish is the time to live that the commit asks for.
func (c *Commit) Wish() TTLChange {
	return TTLChange{TTL: c.TTL, At: c.Object.TTLAt, ByKey: c.ByKey}
}

// CheckBlocks returns an error if a blob has sums that are not those of the bytes uploaded.
func (c Commit) CheckBlocks() error {
	for _, u := range c.Blobs {
		if err := u.Blocks.Check(u.Size); err != nil {
			return fmt.Errorf("blob %s: %w", u.Blob, err)
		}
	}
	return nil
}

// CheckReads returns ErrInvalidReads unless a new object can be read n times; 0: its reads
// are not counted.
func CheckReads(n int64) error {
	if n < 0 || n > lethe.MaxReads {
		return fmt.Errorf("%w: %d", lethe.ErrInvalidReads, n)
	}
	return nil
}

// Proven completes the commit of a reaper that has read the blob to its end. The writer's
// own upload may still land, so the blob is marked late. It gets the given sums if it has
// none.
func (c Commit) Proven(sums lethe.BlockSums) {
	for i := range c.Blobs {
		u := &c.Blobs[i]
		u.Late = true
		if u.Blocks.Size == 0 {
			u.Blocks = sums
		}
	}
}
