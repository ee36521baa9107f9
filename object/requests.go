package object

import (
	"io"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// PutRequest stores an object.
type PutRequest struct {
	Bucket string
	// BucketID, if set, is that of the intended bucket: ErrNoSuchBucket if another
	// one has the name when the body has been read.
	BucketID lethe.ID
	Key      string
	// What is recorded of the write: "post" of a form, "copy" of a copy; empty: "put".
	What string
	// Send sends the body even if its content is known. Then the client cannot
	// measure whether others have it.
	Send bool
	Body io.Reader // read to its end
	Size int64     // bytes the body must have; -1: unknown
	// Digests that the body must have if set: hex SHA-256, hex MD5.
	SHA256, MD5 string
	Attrs       ledger.Attrs
	Tags        map[string]string
	TTL         time.Duration // counted from the commit; 0: none
	TTLAt       lethe.Time    // absolute; 0: none
	Reads       int64         // how often it can be read; 0: that is not counted
	ByKey       ledger.KeyTTL // of the access key that writes
	Idle        time.Duration // idle time; 0: the bucket's default
	If          ledger.Precondition
	// Finish, if set, is called after the body was read to its end and matched
	// its digests, and before anything refers to it. It may amend the attributes
	// (checksums known only at the end) or refuse the body by an error.
	Finish func(*ledger.Attrs) error
}

// PutResult is what a put, copy or completion made.
type PutResult struct {
	Object    ledger.Object
	Duplicate bool // the content existed already
}

// Range selects part of an object: Length -1 is to the end. A negative Offset
// counts from the end (the last -Offset bytes).
type Range struct {
	Offset, Length int64
}

// GetRequest reads an object. Part, if above 0, selects that part of an object that
// was uploaded in parts (or the whole of one that was not, as part 1). They are counted from 1
// to their number, whatever the numbers of their upload.
type GetRequest struct {
	Bucket string
	// BucketID, if set, is that of the intended bucket: ErrNoSuchBucket if another one has the name.
	BucketID lethe.ID
	Key      string
	ID       lethe.ID // the version, if set: ErrPreconditionFailed if there is another one
	Range    *Range
	// RangeIf, if set, reports for which version Range is meant. Another one is read whole.
	RangeIf func(ledger.Object) bool
	Part    int
	If      ReadCondition
	// Check, if set, is one more condition on the object; its error is returned.
	Check func(ledger.Object) error
	// Counts has Head count as a read for the idle time of the object, as Get does.
	Counts bool
	// Uncounted has Get not count as a read: an operator looks at what is stored.
	Uncounted bool
}

// ReadCondition guards a read as in HTTP (RFC 9110 section 13): it fails with
// ErrPreconditionFailed or ErrNotModified.
type ReadCondition struct {
	IfMatch, IfNoneMatch               string // ETags without quotes, comma separated, or "*"
	IfModifiedSince, IfUnmodifiedSince lethe.Time
}

// Reader is an open object. Body delivers exactly Length bytes from Offset or
// fails. It verifies each block by its CRC-32C, or a segment of one block by its
// digest, before it returns a byte of it. The caller closes it.
type Reader struct {
	Object         ledger.Object
	Offset, Length int64
	Body           io.ReadCloser
}

// CopyRequest copies an object onto another key or onto itself.
type CopyRequest struct {
	SourceBucket, SourceKey string
	SourceID                lethe.ID // the version to copy; empty: whichever there is
	Bucket, Key             string
	BucketID                lethe.ID // as in PutRequest
	If                      ledger.Precondition
	// Attrs and Tags replace the source's if not nil.
	Attrs *ledger.Attrs
	Tags  *map[string]string
	TTL   time.Duration
	TTLAt lethe.Time
	Reads int64         // of the copy, as in PutRequest
	Idle  time.Duration // of the copy, as in PutRequest
	ByKey ledger.KeyTTL
	// KeepTTL keeps the source's remaining time to live when neither TTL nor TTLAt
	// is set, and its idle time when Idle is not.
	KeepTTL bool
}

// UploadRequest opens a multipart upload.
type UploadRequest struct {
	Bucket, Key string
	BucketID    lethe.ID // as in PutRequest
	Owner       string
	Attrs       ledger.Attrs
	Tags        map[string]string
	TTL         time.Duration
	TTLAt       lethe.Time
	Reads       int64         // of the object, as in PutRequest
	Idle        time.Duration // of the object, as in PutRequest
	ByKey       ledger.KeyTTL
}

// PartRequest stores a part.
type PartRequest struct {
	Bucket, Key string
	Upload      lethe.ID
	Number      int // 1..10000
	Body        io.Reader
	Size        int64 // -1: unknown
	SHA256, MD5 string
	// Finish is as in PutRequest; it returns the part's checksums.
	Finish func() (map[string]string, error)
}

// PartCopyRequest stores a part from a range of an existing object.
type PartCopyRequest struct {
	Bucket, Key             string
	Upload                  lethe.ID
	Number                  int
	SourceBucket, SourceKey string
	SourceID                lethe.ID // as in CopyRequest
	Range                   *Range
	// Wrap, if set, sees the bytes on their way (to compute checksums), and
	// Finish returns the checksums afterwards.
	Wrap   func(io.Reader) io.Reader
	Finish func() (map[string]string, error)
}

// CompleteRequest makes an object of parts. The object's ETag is that of S3: the MD5
// of the parts' MD5s, "-", and the number of parts.
type CompleteRequest struct {
	Bucket, Key string
	Upload      lethe.ID
	Parts       []ledger.PartName
	If          ledger.Precondition
	// Finish, if set, receives the named stored parts, in order, and may amend the
	// attributes (composite checksums) or refuse by an error.
	Finish func([]ledger.Part, *ledger.Attrs) error
	Size   int64 // the total the client expects; 0: not given
	ByKey  ledger.KeyTTL
}

// DeleteRequest deletes up to 1,000 keys of one bucket.
type DeleteRequest struct {
	Bucket   string
	BucketID lethe.ID // as in GetRequest
	Items    []ledger.DeleteItem
}

// PartQuery lists the parts of an open upload, in ascending order.
type PartQuery struct {
	Bucket, Key string
	Upload      lethe.ID
	After       int // exclusive; 0: from the first
	Limit       int
}
