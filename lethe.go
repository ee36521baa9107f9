// Package lethe is the vocabulary of Lethe: a store of objects that, above
// all, forgets them correctly.
//
// # The protocol
//
// Bytes are on backends; the ledger records why they are there and until when. Every
// physical thing on a backend is a blob, and every blob is one ledger row in exactly one
// state:
//
//	           commit                    last reference gone
//	pending ------------> live -------------------------------> condemned ----settled----> (row gone)
//	   |                                                         |  ^   |
//	   |  reaped: absent, superseded, unverifiable, abandoned    |  |   | attempts used up
//	   +---------------------------------------------------------+  |   v
//	      reaped: complete and proven -> live             requeued  +-- dead ---written off--> (row gone)
//
// A write commits its pending row (the intent) before it sends a byte, streams
// the bytes, and then in one transaction makes the blob live, references the
// content, replaces the object row, dereferences what was replaced and moves
// the counters. A delete or an expiry removes object rows, counts references
// down by the rows really removed, and condemns the blobs of a content in the
// transaction that drops its last reference. Physical deletes are issued for
// condemned blobs only, after that state is durable, by one routine.
//
// A blob's name is random and never used twice. A delete that comes late, twice, or from a
// worker believed dead therefore hits only bytes without references. No lock, lease or clock
// protects live data, the name does. Claims and fences only keep the counters exact and
// avoid wasted work.
//
// Time is a value, taken from the ledger's clock; a remote call has four
// outcomes (done, not done, unknown, lands late) and never happens inside a
// transaction.
//
// What lives here: ids, states, reasons, times, digests and sentinel errors. It imports the
// standard library only; the ledger, the stores and the engine are packages of their own.
package lethe

import (
	"errors"
	"fmt"
	"slices"
)

// State is the state of a blob in the ledger. The numbers are stored.
type State int

// The four states of a blob; a row that is gone has none.
const (
	// Pending is an intent: committed before the first byte is sent.
	Pending State = 1
	// Live is referenced by a content or owned by an open upload.
	Live State = 2
	// Condemned is no longer referenced and is deleted when due.
	Condemned State = 3
	// Dead is condemned with no attempts left; its bytes are still stored.
	Dead State = 4
)

// States lists all states in the order of a blob's life.
var States = []State{Pending, Live, Condemned, Dead}

// String returns the state's lower-case name as shown to operators.
func (s State) String() string {
	switch s {
	case Pending:
		return "pending"
	case Live:
		return "live"
	case Condemned:
		return "condemned"
	case Dead:
		return "dead"
	}
	return fmt.Sprintf("state(%d)", int(s))
}

// Reason is why a blob was condemned; dead letters keep it.
type Reason string

// The reasons for which a blob is condemned.
const (
	ReasonDelete       Reason = "delete"        // a client deleted the last object
	ReasonOverwrite    Reason = "overwrite"     // a client replaced the last object
	ReasonExpiry       Reason = "expiry"        // the last object's time to live passed
	ReasonRead         Reason = "read"          // the last object was read as often as it could be
	ReasonIdle         Reason = "idle"          // the last object was not read for its idle time
	ReasonEvicted      Reason = "evicted"       // the last object made room in its bucket
	ReasonLifecycle    Reason = "lifecycle"     // a lifecycle rule ended the last object
	ReasonPurge        Reason = "purge"         // the last object left the trash
	ReasonDuplicate    Reason = "duplicate"     // the content turned out to exist already
	ReasonUploadOrphan Reason = "upload_orphan" // a write that never committed
	ReasonPart         Reason = "part"          // a part replaced, aborted or left out
	ReasonRebalance    Reason = "rebalance"     // moved to another backend, or into the ledger
	ReasonDamaged      Reason = "damaged"       // a damaged or lost copy beside a sound one
	ReasonSurplus      Reason = "surplus"       // more replicas than wanted
	ReasonUnverified   Reason = "unverified"    // a copy not verified recently, beside the same bytes just uploaded
	ReasonOrphan       Reason = "orphan"        // a key of this store without a row
)

// ContentKind is what a content's digest covers.
type ContentKind string

// The kinds of content.
const (
	// Whole is one segment; the digest is the SHA-256 of its bytes.
	Whole ContentKind = "whole"
	// Multipart is composed of segments; the digest is the SHA-256 over the
	// ordered list of (part SHA-256, part size).
	Multipart ContentKind = "multipart"
)

// Sentinel errors, for errors.Is. Packages wrap them with the operation and the name
// concerned.
var (
	ErrNoSuchBucket       = errors.New("no such bucket")
	ErrBucketExists       = errors.New("bucket already exists")
	ErrBucketNotEmpty     = errors.New("bucket is not empty")
	ErrTooManyBuckets     = errors.New("too many buckets")
	ErrNoSuchKey          = errors.New("no such key")
	ErrNoSuchUpload       = errors.New("no such upload")
	ErrNoSuchAccessKey    = errors.New("no such access key")
	ErrAccessKeyExists    = errors.New("access key already exists")
	ErrInvalidPart        = errors.New("invalid part")
	ErrInvalidPartOrder   = errors.New("parts are not in ascending order")
	ErrPartTooSmall       = errors.New("part is smaller than the minimum")
	ErrInvalidKey         = errors.New("invalid object key")
	ErrInvalidBucketName  = errors.New("invalid bucket name")
	ErrInvalidTTL         = errors.New("invalid time to live")
	ErrInvalidReads       = errors.New("invalid number of reads")
	ErrInvalidRange       = errors.New("range not satisfiable")
	ErrPreconditionFailed = errors.New("precondition failed")
	ErrNotModified        = errors.New("not modified")
	ErrDigestMismatch     = errors.New("body does not match its digest")
	ErrIncompleteBody     = errors.New("body ended before its declared length")
	ErrTooLarge           = errors.New("entity too large")
	ErrQuotaExceeded      = errors.New("bucket quota exceeded")
	ErrNoRoom             = errors.New("no backend has room")
	ErrBackendInUse       = errors.New("backend is in use")
	ErrTrashNotFound      = errors.New("no such trash entry")
	// ErrCounted: the reads of the object are counted, so it is neither copied nor changed
	// into such an object in place.
	ErrCounted = errors.New("reads are counted")
	// ErrHeld: a hold protects the object from being deleted or replaced.
	ErrHeld = errors.New("held")

	// ErrReaped: the intent was reaped or abandoned before it was committed. The write must
	// fail; its bytes are being removed.
	ErrReaped = errors.New("write intent was reaped")
	// ErrFenced: another claim took the row over, or it left the state that the transition
	// starts from. Nothing was changed.
	ErrFenced = errors.New("claim was taken over")
	// ErrContentKnown: a write need not send its bytes. They are stored already and can be
	// referenced.
	ErrContentKnown = errors.New("content is there already")
	// ErrContentGone: a write without an upload found no content to reference that is open
	// and sound.
	ErrContentGone = errors.New("content is not available for reference")
	// ErrUnverified: no copy of the content was written or verified within the trust window.
	// Read a copy first, or upload.
	ErrUnverified = errors.New("content was not verified lately")
	// ErrUnknownOutcome: a transaction may or may not have been committed. Look the
	// operation up by its id; never guess.
	ErrUnknownOutcome = errors.New("outcome of the transaction is unknown")
	// ErrCorrupt: rows or bytes are inconsistent; the message names them.
	ErrCorrupt = errors.New("corrupt")
	// ErrBackendMismatch: the backend has another store's identity, or a newer epoch than
	// the ledger's. Deletes are held until a person decides.
	ErrBackendMismatch = errors.New("backend and ledger do not belong together")
	// ErrClock: the clock ran back behind the ledger's, or was set forward. Until it has
	// caught up nothing is removed for its age.
	ErrClock = errors.New("clock is in doubt")
	// ErrUnavailable: the ledger or every copy on the backends is unreachable.
	ErrUnavailable = errors.New("unavailable")
)

// refusals are errors by which a ledger reports that it did nothing, because of its state.
var refusals = []error{
	ErrNoSuchBucket, ErrNoSuchKey, ErrNoSuchUpload, ErrTrashNotFound,
	ErrPreconditionFailed, ErrContentGone, ErrContentKnown, ErrReaped, ErrFenced, ErrBackendMismatch,
	ErrQuotaExceeded, ErrNoRoom, ErrClock, ErrInvalidKey, ErrInvalidTTL, ErrInvalidReads, ErrHeld,
	ErrInvalidPart, ErrInvalidPartOrder, ErrPartTooSmall, ErrUnverified,
}

// Refused reports whether an error of a ledger means that its transaction certainly did not
// happen. Errors that are not listed may come from an operation that was done before.
// ErrUnavailable is not a refusal: it is not about the rows.
func Refused(err error) bool {
	return !errors.Is(err, ErrUnknownOutcome) && slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) })
}
