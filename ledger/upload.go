package ledger

import (
	"fmt"

	"github.com/lethe-storage/lethe"
)

// PartCommit makes an uploaded blob a part of its upload (pending to live). It replaces the
// part of the same number.
type PartCommit struct {
	Op   lethe.ID
	Part Part
	Late bool
	// CRC32C and Blocks are those of the part's bytes, as in Uploaded.
	CRC32C uint32
	Blocks lethe.BlockSums
}

// Completion makes an object of exactly the named parts of an upload, in ascending order,
// without copying bytes. The other parts are condemned.
type Completion struct {
	Op       lethe.ID
	UploadID lethe.ID
	Bucket   string
	Key      string
	Parts    []PartName
	MinPart  int64  // smallest size of every part but the last
	Commit   Commit // Object.ETag, Attrs, If, ByKey; the rest comes from the upload
}

// PartName identifies a part as the client does.
type PartName struct {
	Number int
	ETag   string
}

// UploadQuery asks for open uploads of a bucket, ordered by key, then id.
type UploadQuery struct {
	Bucket      string
	Prefix      string
	AfterKey    string
	AfterUpload lethe.ID
	Limit       int
}

// Choose returns the stored parts that the completion names, in its order.
func (c Completion) Choose(stored []Part) ([]Part, error) {
	if len(c.Parts) == 0 {
		return nil, fmt.Errorf("the request names no parts: %w", lethe.ErrInvalidPart)
	}
	for i, name := range c.Parts[1:] {
		if name.Number <= c.Parts[i].Number {
			return nil, fmt.Errorf("part %d after part %d: %w", name.Number, c.Parts[i].Number, lethe.ErrInvalidPartOrder)
		}
	}
	byNumber := make(map[int]Part, len(stored))
	for _, p := range stored {
		byNumber[p.Number] = p
	}
	parts := make([]Part, len(c.Parts))
	for i, name := range c.Parts {
		p, found := byNumber[name.Number]
		if !found || p.ETag != name.ETag {
			return nil, fmt.Errorf("part %d with ETag %q: %w", name.Number, name.ETag, lethe.ErrInvalidPart)
		}
		parts[i] = p
	}
	for _, p := range parts[:len(parts)-1] {
		if p.Size < c.MinPart {
			return nil, fmt.Errorf("part %d has %d bytes, the minimum is %d: %w", p.Number, p.Size, c.MinPart, lethe.ErrPartTooSmall)
		}
	}
	return parts, nil
}

// SegmentsOf returns the parts that become segments of the content: those with bytes.
func SegmentsOf(parts []Part) []Part {
	var out []Part
	for _, p := range parts {
		if p.Size > 0 {
			out = append(out, p)
		}
	}
	return out
}

// Compose returns the commit of an object from the upload and its parts.
func (c Completion) Compose(u Upload, parts []Part) (Commit, error) {
	commit := c.Commit
	commit.Op, commit.What, commit.Blobs, commit.Source = c.Op, "complete", nil, nil
	o := &commit.Object
	o.Bucket, o.Key, o.Tags, o.Size = u.Bucket, u.Key, u.Tags, 0
	commit.TTL, o.TTLAt, o.ReadsLeft, o.IdleFor = u.TTL, u.TTLAt, u.Reads, u.Idle
	var sums []lethe.SegmentSum
	for _, p := range SegmentsOf(parts) {
		o.Size += p.Size
		sums = append(sums, lethe.SegmentSum{Digest: p.Digest, Size: p.Size})
	}
	digest, err := lethe.MultipartDigest(sums)
	commit.Content = ContentKey{Kind: lethe.Multipart, Digest: digest, Size: o.Size}
	return commit, err
}
