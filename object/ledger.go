package object

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Ledger is what objects need of the ledger, by subject; *sqlledger.DB implements
// every part, and every part is needed. Every method is atomic: it happened whole or
// not at all, except that ErrUnknownOutcome leaves open which (look the operation up
// by Outcome). Besides the errors named here, any method may fail with
// lethe.ErrUnavailable. Invalid input (a negative quota, an id that is taken) fails
// with an unspecified error. ledger/ledgertest is the suite that every ledger passes.
//
// A key has 1 to 1,024 bytes of UTF-8 without NUL, else ErrInvalidKey. A limit of
// zero or less is no limit, except in List. An object past its ttl_at is absent for
// every method but the engine's: a write over it replaces nothing, and its content
// is released as if it had expired. Every transaction that writes or removes a key,
// even an absent one, removes the promotions of the key (docs/protocol.md, rule
// 19).
type Ledger struct {
	Buckets   BucketLedger
	Documents DocumentLedger
	Rules     RuleLedger
	Holds     HoldLedger
	Objects   ObjectLedger
	Reads     ReadLedger
	Intents   IntentLedger
	Copies    CopyLedger
	Uploads   UploadLedger
	Trash     TrashLedger
}

func (l Ledger) incomplete() bool {
	return l.Buckets == nil || l.Documents == nil || l.Rules == nil || l.Holds == nil || l.Objects == nil || l.Reads == nil ||
		l.Intents == nil || l.Copies == nil || l.Uploads == nil || l.Trash == nil
}

// BucketLedger keeps buckets.
type BucketLedger interface {
	// CreateBucket: ErrBucketExists if the name is taken, with the existing bucket.
	// ErrTooManyBuckets if the owner has Most already.
	CreateBucket(ctx context.Context, b ledger.Bucket) (ledger.Bucket, error)
	// Bucket: ErrNoSuchBucket.
	Bucket(ctx context.Context, name string) (ledger.Bucket, error)
	Buckets(ctx context.Context, q ledger.BucketQuery) ([]ledger.Bucket, error)
	// ConfigureBucket: ErrPreconditionFailed unless the settings are those seen; nil: any.
	ConfigureBucket(ctx context.Context, name string, s ledger.BucketSettings, seen *ledger.BucketSettings) (ledger.Bucket, error)
	// DeleteBucket: ErrNoSuchBucket if another bucket than id has the name (empty: any is
	// meant); ErrBucketNotEmpty while it has visible objects, then ErrHeld while
	// it has holds, then ErrBucketNotEmpty while it has open uploads. Objects past their
	// time to live do not count; they stay attached to the nameless bucket row until they
	// are reclaimed. Trash entries keep their undo window. Documents and promotions are
	// removed with the name.
	DeleteBucket(ctx context.Context, name string, id lethe.ID) error
	// Evict makes room in a bucket that evicts, by a batch: ErrNoSuchBucket, ErrUnpaired, and
	// ErrClock where a clock in doubt decides what is old enough.
	Evict(ctx context.Context, r ledger.EvictRequest) (ledger.Evicted, error)
}

// DocumentLedger keeps opaque documents of a bucket (ACL, policy, CORS, tags).
type DocumentLedger interface {
	PutDocument(ctx context.Context, d ledger.Document) error
	// Document returns nil, nil if there is none.
	Document(ctx context.Context, bucket, kind string) ([]byte, error)
	DeleteDocument(ctx context.Context, d ledger.Document) error
	// SetBucketOwner changes the owner; the dedup domain stays.
	SetBucketOwner(ctx context.Context, bucket, owner string) error
}

// RuleLedger keeps the lifecycle rules of buckets. Every transaction that writes an
// object reads them, and none that deletes by them survives a change
// (docs/protocol.md, rule 21).
type RuleLedger interface {
	// SetRules replaces the rules; an empty list removes them. It returns
	// ledger.ErrRulesConfigured if they come from the configuration and the caller
	// is another. Unchanged rules keep their number; stamps of other numbers have
	// no effect from then on.
	SetRules(ctx context.Context, c ledger.RulesChange) (ledger.BucketRules, error)
	Rules(ctx context.Context, bucket string) (ledger.BucketRules, error)
}

// HoldLedger keeps holds: what they cover is not deleted, replaced or expired, and
// not purged from the trash. Every transaction that does so reads them
// (docs/protocol.md, rule 21): lethe.ErrHeld.
type HoldLedger interface {
	// AddHold: ErrNoSuchBucket, ErrInvalidKey. An existing hold is returned.
	AddHold(ctx context.Context, h ledger.Hold) (ledger.Hold, error)
	// ReleaseHold: ErrNoSuchBucket, ledger.ErrNoSuchHold.
	ReleaseHold(ctx context.Context, h ledger.Hold) error
	Holds(ctx context.Context, q ledger.HoldQuery) ([]ledger.Hold, error)
	// HoldsOn lists the holds that cover a key: ErrNoSuchBucket.
	HoldsOn(ctx context.Context, bucket, key string) ([]ledger.Hold, error)
}

// IntentLedger begins and ends writes.
type IntentLedger interface {
	// Begin commits a pending row: ErrContentKnown if that is not needed (see
	// ledger.Intent.Unknown), ErrNoRoom if the backend's quota is used up,
	// ErrBackendMismatch if it is not registered, ErrNoSuchUpload of a part,
	// ErrNoSuchBucket and ErrInvalidKey of a promotion.
	Begin(ctx context.Context, in ledger.Intent) (ledger.Blob, error)
	// Beat renews the heartbeat of a pending row and grows its reservation to size
	// (never shrinks it): ErrReaped if the row is no longer an unclaimed pending
	// one, ErrNoRoom.
	Beat(ctx context.Context, blob lethe.ID, size int64) error
	// Abandon condemns a pending row that its writer gives up, due now. late: an
	// upload may still land, and the row stays until a second delete after the late
	// window. ErrReaped if it is no longer an unclaimed pending one.
	Abandon(ctx context.Context, blob lethe.ID, late bool) error
	// Outcome looks up the result of an operation: found is false if it had no
	// effect (or is older than OpsKept). It reads from the primary, after every
	// write that was begun before.
	Outcome(ctx context.Context, op lethe.ID) (out ledger.Outcome, found bool, err error)
	// ExtendGrace postpones the deletion of the condemned, unclaimed blobs of a
	// content to at least a read grace from now, for a reader in progress.
	ExtendGrace(ctx context.Context, content lethe.ID) error
	// CondemnLate gives a row to bytes that were sent when the row of their intent
	// may have been gone. The row is condemned, and kept until a delete after the
	// late window. An existing row keeps its state; if it is condemned it is kept
	// as long. ErrBackendMismatch.
	CondemnLate(ctx context.Context, b ledger.LateBytes) error
}

// CopyLedger records what is known of the copies of contents.
type CopyLedger interface {
	// MarkSuspect marks live blobs whose bytes were found missing or damaged. Blobs
	// that are not live any more are left alone. It returns how many rows it
	// changed.
	MarkSuspect(ctx context.Context, blobs []lethe.ID, why string) (int, error)
	// MarkSound records that they were found sound by reads that began so long ago.
	MarkSound(ctx context.Context, blobs []lethe.ID, ago time.Duration) (int, error)
	// BlockSums returns the sums of the blocks of a blob from first to last, both
	// included. It returns none unless all of them are recorded.
	BlockSums(ctx context.Context, blob lethe.ID, from, to int64) ([]uint32, error)
	// NoteBlocks records the sums of a live blob of size bytes that was read and
	// matched its digest, replacing those recorded before. It reports whether it
	// did: not if the blob is not live any more.
	NoteBlocks(ctx context.Context, blob lethe.ID, size int64, sums lethe.BlockSums) (bool, error)
}

// ObjectLedger reads and writes objects.
type ObjectLedger interface {
	// Commit: ErrInvalidKey, ErrNoSuchBucket, ErrPreconditionFailed, ErrInvalidTTL,
	// ErrInvalidReads, ErrHeld, ErrReaped, ErrContentGone, ErrNoSuchKey (Source), ErrQuotaExceeded,
	// checked in this order. A recorded operation is not applied again: Commit
	// returns the object that it made. The content's domain is the bucket's.
	// Suspect content takes no reference without bytes; with bytes they join it as
	// one more copy. Quotas refuse only growth.
	Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error)
	// Delete: ErrNoSuchBucket. Items fail alone, with ErrInvalidKey, ErrHeld or
	// ErrPreconditionFailed (a condition on an object fails if there is none).
	// Deleted objects go to the trash if the bucket has an undo window.
	Delete(ctx context.Context, d ledger.Deletion) (ledger.Deletions, error)
	// Update: ErrNoSuchBucket, ErrNoSuchKey, ErrPreconditionFailed, ErrInvalidTTL;
	// ErrHeld for a held object if its attributes would change or its end come
	// sooner. A held object past its end may be given a new one, and is visible
	// again.
	Update(ctx context.Context, u ledger.Update) (ledger.Object, error)
	// Resolve: ErrNoSuchBucket, ErrNoSuchKey (also from the instant its ttl_at has
	// passed, by the ledger's clock).
	Resolve(ctx context.Context, bucket, key string) (ledger.Resolved, error)
	// StatObject is Resolve without the bytes, and without where they lie.
	StatObject(ctx context.Context, bucket, key string) (ledger.Resolved, error)
	// List: ErrNoSuchBucket. A page may hold fewer entries than requested, even
	// none, and still report that there are more.
	List(ctx context.Context, q ledger.ListQuery) (ledger.ListPage, error)
}

// ReadLedger counts and notes reads.
type ReadLedger interface {
	// CountRead takes one of the reads that an object has left, and returns it with
	// its ReadsLeft and TTLAt of then: ErrInvalidKey; ErrNoSuchKey unless the same
	// version is visible and has one. The last read ends the object.
	CountRead(ctx context.Context, o ledger.Object) (ledger.Object, error)
	// NoteReads notes reads, of each version at most one, and returns how many objects
	// it changed. An end by idleness moves forward only, by more than a tenth of the
	// idle time, for a read that was before it. A version that is gone is not changed,
	// nor the one in its place. awaited says that a client waits.
	NoteReads(ctx context.Context, reads []ledger.Read, awaited bool) (int, error)
}

// UploadLedger keeps multipart uploads.
type UploadLedger interface {
	UploadLister
	// CreateUpload: ErrInvalidKey, ErrNoSuchBucket, ErrInvalidTTL, ErrInvalidReads.
	CreateUpload(ctx context.Context, u ledger.Upload) (ledger.Upload, error)
	// Upload: ErrNoSuchUpload, also if bucket or key differ.
	Upload(ctx context.Context, bucket, key string, id lethe.ID) (ledger.Upload, error)
	// CommitPart: ErrNoSuchUpload, ErrReaped.
	CommitPart(ctx context.Context, c ledger.PartCommit) (ledger.Part, error)
	// Complete: ErrNoSuchUpload, ErrInvalidPart (also of a suspect part),
	// ErrInvalidPartOrder, ErrPartTooSmall, ErrUnverified (see ledger.UnreadParts),
	// and the errors of Commit. Parts of zero bytes are no segments. Repeated by the same
	// operation, it returns the object as long as that has its key.
	Complete(ctx context.Context, c ledger.Completion) (ledger.Committed, error)
	// AbortUpload condemns all parts of the upload, and its pending part intents,
	// claimed or not, due after the late window: ErrNoSuchUpload. Complete does the
	// same to the parts that it does not name.
	AbortUpload(ctx context.Context, op lethe.ID, bucket, key string, id lethe.ID) error
}

// UploadLister lists uploads and their parts.
type UploadLister interface {
	// Uploads: ErrNoSuchBucket. AfterKey alone skips the key's uploads.
	Uploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.Upload, error)
	// Parts lists up to limit parts with numbers above after, ascending, without
	// suspect ones; none if there is no such upload.
	Parts(ctx context.Context, upload lethe.ID, after, limit int) ([]ledger.Part, error)
}

// TrashLedger keeps what was deleted or replaced and can be restored.
type TrashLedger interface {
	Trash(ctx context.Context, q ledger.TrashQuery) ([]ledger.TrashEntry, error)
	// Restore puts an entry back under its key, as a new version made by op:
	// ErrTrashNotFound, ErrNoSuchBucket (also if a bucket of another dedup domain
	// has the name now), ErrPreconditionFailed if the key is taken and not
	// overwrite, ErrQuotaExceeded. What it replaces is handled as in every write.
	Restore(ctx context.Context, op, entry lethe.ID, overwrite bool) (ledger.Object, error)
	// PurgeTrash makes entries due at once; the purge routine removes them. It
	// returns how many were not due before.
	PurgeTrash(ctx context.Context, entries []lethe.ID) (int, error)
}
