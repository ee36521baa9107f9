// Package receipt is the record of deletions: receipts, their stored form, and the chain of
// hashes that reveals whether they were rewritten. It knows no database: the ledger stores
// receipts, the engine seals them, and anyone with a head of the chain can check both.
package receipt

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Kind is what a receipt is about.
type Kind string

// The kinds of receipts.
const (
	// Object: a version of an object is gone; no key and no trash entry has it.
	Object Kind = "object"
	// Bytes: one blob was removed from a backend: of a content, a part of an upload, an
	// abandoned write, or an orphan that reconcile found.
	Bytes Kind = "bytes"
	// Kinds of adoption. Object: a content's object, by its key, or an object of a folder.
	// Row and Folder: as they are named. Orphan: an object without a row. Unconfirmed: the
	// same, if its delete was allowed and the result is not known. Quarantined, Restored,
	// Purged: an object moved into quarantine, copied back, or purged there.
	Row         Kind = "row"
	Folder      Kind = "folder"
	Orphan      Kind = "orphan"
	Unconfirmed Kind = "unconfirmed"
	Quarantined Kind = "quarantined"
	Restored    Kind = "restored"
	Purged      Kind = "purged"
)

// How a blob was removed.
const (
	Deleted    = "deleted"     // the backend confirmed the delete
	Absent     = "absent"      // the backend confirmed that nothing is there
	WrittenOff = "written-off" // an operator wrote it off: its bytes may still be stored
	Inline     = "inline"      // it lay in the ledger, and went with its last reference
)

// ReasonRestored is why a trash entry is gone that was restored as a new version.
const ReasonRestored lethe.Reason = "restored"

// Receipt records one deletion. It has names, sizes, digests and times, and never a secret,
// or a client's attribute or tag.
type Receipt struct {
	Kind Kind `json:"kind"`
	// At is when it went, by the ledger's clock, in the deleting transaction.
	At     Instant      `json:"at"`
	Reason lethe.Reason `json:"reason"`
	Size   int64        `json:"size"` // bytes
	// Content is the content of the bytes; empty for zero bytes, and for a blob that never
	// belonged to one.
	Content lethe.ID `json:"content,omitempty"`

	// Fields of an object.
	Bucket   string   `json:"bucket,omitempty"` // its name at the time
	BucketID lethe.ID `json:"bucket_id,omitempty"`
	Key      string   `json:"key,omitempty"`     // of adoption: of the row, content, folder or object
	Version  lethe.ID `json:"version,omitempty"` // the operation that wrote it
	ETag     string   `json:"etag,omitempty"`
	// Due is when its time ended, if it expired.
	Due Instant `json:"due,omitempty"`
	// Rule and RuleNumber identify the lifecycle rule that ended it. The number is never
	// reused in the bucket: a changed rule has another.
	Rule       string `json:"rule,omitempty"`
	RuleNumber int64  `json:"rule_number,omitempty"`
	// Op is the operation that deleted or replaced it; empty if the engine did.
	Op lethe.ID `json:"op,omitempty"`
	// By is the caller of the deletion.
	By lethe.Caller `json:"by,omitzero"`
	// Trash is set if it was in the trash before.
	Trash *Trash `json:"trash,omitempty"`

	// Fields of bytes.
	Blob    lethe.ID `json:"blob,omitempty"`
	Backend string   `json:"backend,omitempty"`
	// How it was removed: Deleted, Absent, WrittenOff or Inline. Inline bytes have neither
	// a blob nor a backend.
	How string `json:"how,omitempty"`

	// Collection is the collection of an adoption. Such a receipt has no other fields than
	// kind, time and key.
	Collection string `json:"collection,omitempty"`
}

// MarshalJSON omits reason and size of a receipt of adoption, which has neither.
func (r Receipt) MarshalJSON() ([]byte, error) {
	type whole Receipt
	if r.Collection == "" {
		return json.Marshal(whole(r))
	}
	return json.Marshal(struct {
		whole
		Reason lethe.Reason `json:"reason,omitempty"`
		Size   int64        `json:"size,omitempty"`
	}{whole: whole(r)})
}

// Trash is how a version came into the trash.
type Trash struct {
	At     Instant      `json:"at"`
	Reason lethe.Reason `json:"reason"` // delete or overwrite
	Op     lethe.ID     `json:"op,omitempty"`
	By     lethe.Caller `json:"by,omitzero"`
	// EndedBy is the caller that purged it early, if one did.
	EndedBy lethe.Caller `json:"ended_by,omitzero"`
	// As is the version as which it was restored.
	As lethe.ID `json:"as,omitempty"`
}

// Instant is a lethe.Time in JSON that people can read and that sorts as text.
type Instant lethe.Time

const instant = "2006-01-02T15:04:05.000000Z"

// MarshalJSON writes the instant in UTC with microseconds.
func (i Instant) MarshalJSON() ([]byte, error) {
	return []byte(`"` + lethe.Time(i).Time().Format(instant) + `"`), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (i *Instant) UnmarshalJSON(b []byte) error {
	t, err := time.Parse(`"`+instant+`"`, string(b))
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	*i = Instant(lethe.FromTime(t))
	return nil
}

// Name is a hash by which receipts are looked up.
type Name int64

// OfObject returns the name of the receipts of a key of a bucket, of all its versions.
func OfObject(bucket, key string) Name { return name("object", bucket, key) }

// OfContent returns the name of the receipts of a content's bytes.
func OfContent(content lethe.ID) Name { return name("content", string(content)) }

// OfBlob returns the name of the receipt of a blob that belonged to no content.
func OfBlob(blob lethe.ID) Name { return name("blob", string(blob)) }

// OfAdopted returns the name of the receipts of a key in a collection of an adoption.
func OfAdopted(collection, key string) Name { return name("adopted", collection, key) }

// name returns 64 bits of a digest. Two things may have the same name, so a look-up must
// compare what it finds.
func name(parts ...string) Name {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return Name(binary.BigEndian.Uint64(h.Sum(nil)))
}

// Name returns the name by which the receipt is looked up.
func (r *Receipt) Name() Name {
	switch {
	case r.Collection != "":
		return OfAdopted(r.Collection, r.Key)
	case r.Kind == Object:
		return OfObject(r.Bucket, r.Key)
	case r.Content == "":
		return OfBlob(r.Blob)
	}
	return OfContent(r.Content)
}

// Sort sorts receipts in the order in which things went.
func Sort(list []Receipt) {
	slices.SortFunc(list, func(a, b Receipt) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Blob, b.Blob), cmp.Compare(a.Content, b.Content))
	})
}
