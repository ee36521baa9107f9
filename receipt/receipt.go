// Package receipt is what is kept of things that are gone: receipts of deletion,
// the form in which they are stored, and the chain of hashes that shows whether
// somebody has rewritten them. It knows no database: the ledger stores receipts,
// the engine seals them, and whoever holds a head of the chain can check both.
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

// Kind says what a receipt is about.
type Kind string

// The kinds of receipts.
const (
	// Object: a version of an object is gone: no key and no trash entry holds it.
	Object Kind = "object"
	// Bytes: one blob is off the books of its backend: a content's, a part of an
	// upload, what a writer gave up, or an orphan that reconcile found.
	Bytes Kind = "bytes"
	// Those of adoption: Object (the object of a content, by the content's key, or one of a
	// folder), a row, a folder; an orphan, or one whose delete was allowed and its end not
	// seen; an object that was moved into quarantine, copied back, or purged there.
	Row         Kind = "row"
	Folder      Kind = "folder"
	Orphan      Kind = "orphan"
	Unconfirmed Kind = "unconfirmed"
	Quarantined Kind = "quarantined"
	Restored    Kind = "restored"
	Purged      Kind = "purged"
)

// How a blob left the books.
const (
	Deleted    = "deleted"     // the backend confirmed the delete
	Absent     = "absent"      // the backend confirmed that nothing is there
	WrittenOff = "written-off" // an operator took it off the books: its bytes may still lie there
)

// ReasonRestored is why a version in the trash is gone that was put back under its
// key as a new version.
const ReasonRestored lethe.Reason = "restored"

// Receipt is one thing that went. It holds names, sizes, digests and times, and
// never a secret, an attribute or a tag of the client's.
type Receipt struct {
	Kind Kind `json:"kind"`
	// At is when it went, by the ledger's clock, in the transaction that took it.
	At     Instant      `json:"at"`
	Reason lethe.Reason `json:"reason"`
	Size   int64        `json:"size"` // bytes
	// Content is whose bytes they were; empty for zero bytes, and for a blob that
	// never was a content's.
	Content lethe.ID `json:"content,omitempty"`

	// Of an object.
	Bucket   string   `json:"bucket,omitempty"` // the name that it had
	BucketID lethe.ID `json:"bucket_id,omitempty"`
	Key      string   `json:"key,omitempty"`     // of adoption: of the row, content, folder or object
	Version  lethe.ID `json:"version,omitempty"` // the operation that wrote it
	ETag     string   `json:"etag,omitempty"`
	// Due is when its time ended, if that is why it went.
	Due Instant `json:"due,omitempty"`
	// Rule and RuleNumber are the lifecycle rule that ended it. The number is the
	// rule's in this bucket forever: a changed rule has another.
	Rule       string `json:"rule,omitempty"`
	RuleNumber int64  `json:"rule_number,omitempty"`
	// Op is the operation that deleted or replaced it; empty for the engine.
	Op lethe.ID `json:"op,omitempty"`
	// By is on whose behalf.
	By lethe.Caller `json:"by,omitzero"`
	// Trash is set if it lay in the trash before it went.
	Trash *Trash `json:"trash,omitempty"`

	// Of bytes.
	Blob    lethe.ID `json:"blob,omitempty"`
	Backend string   `json:"backend,omitempty"`
	// How it left the books: Deleted, Absent or WrittenOff.
	How string `json:"how,omitempty"`

	// Collection is adoption's: what was described. Nothing else is told of these but kind,
	// time and key.
	Collection string `json:"collection,omitempty"`
}

// MarshalJSON writes what is known: of adoption there is neither a reason nor a size.
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
	// EndedBy is who asked for it to be purged before its time, if somebody did.
	EndedBy lethe.Caller `json:"ended_by,omitzero"`
	// As is the version that it was restored as.
	As lethe.ID `json:"as,omitempty"`
}

// Instant is a lethe.Time that is written for people and sorts as text.
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

// Name is what receipts are looked up by.
type Name int64

// OfObject names the receipts of a key of a bucket, of all its versions.
func OfObject(bucket, key string) Name { return name("object", bucket, key) }

// OfContent names the receipts of a content's bytes.
func OfContent(content lethe.ID) Name { return name("content", string(content)) }

// OfBlob names the receipt of a blob that was no content's.
func OfBlob(blob lethe.ID) Name { return name("blob", string(blob)) }

// OfAdopted names the receipts of a key of a collection of adoption.
func OfAdopted(collection, key string) Name { return name("adopted", collection, key) }

// name is 64 bits of a digest: two things may have the same one, so who looks
// something up compares what is found.
func name(parts ...string) Name {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return Name(binary.BigEndian.Uint64(h.Sum(nil)))
}

// Name is what the receipt is looked up by.
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

// Sort puts receipts in the order in which they went.
func Sort(list []Receipt) {
	slices.SortFunc(list, func(a, b Receipt) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Version, b.Version), cmp.Compare(a.Blob, b.Blob))
	})
}

// line is the receipt's canonical form: what is stored, exported and hashed.
func (r *Receipt) line() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return append(b, '\n'), nil
}
