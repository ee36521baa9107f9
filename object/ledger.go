package object

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Ledger is what objects need of the ledger; *sqlledger.DB satisfies it. Every method
// is atomic: it happened whole or not at all, except that ErrUnknownOutcome
// leaves open which (look the operation up by Outcome). Besides the errors named
// here, any method may fail with lethe.ErrUnavailable; input that makes no sense
// (a negative quota, an id that is taken) fails with an error of no kind.
// ledger/ledgertest is the suite that every ledger passes.
//
// A key has 1 to 1,024 bytes of UTF-8 without NUL, else ErrInvalidKey. A limit
// that is not above zero is no limit, except in List. An object past its ttl_at
// is absent for every method but the engine's: who writes over it replaces
// nothing, and its content goes as if it had expired. Every transaction that
// writes or removes a key, be it that nothing lay there, takes the promotions of
// the key away (docs/protocol.md, rule 19).
type Ledger interface {
	BucketLedger
	DocumentLedger
	RuleLedger
	IntentLedger
	LateLedger
	CopyLedger
	ObjectLedger
	UploadLedger
	UploadLister
	TrashLedger
	HoldLedger
}

// BucketLedger keeps buckets.
type BucketLedger interface {
	// CreateBucket: ErrBucketExists if the name is taken; then the answer is the
	// existing bucket. ErrTooManyBuckets if the owner has Most already.
	CreateBucket(ctx context.Context, b ledger.Bucket) (ledger.Bucket, error)
	// Bucket: ErrNoSuchBucket.
	Bucket(ctx context.Context, name string) (ledger.Bucket, error)
	Buckets(ctx context.Context, q ledger.BucketQuery) ([]ledger.Bucket, error)
	ConfigureBucket(ctx context.Context, name string, s ledger.BucketSettings) (ledger.Bucket, error)
	// DeleteBucket: ErrBucketNotEmpty while it has visible objects or open
	// uploads, ErrHeld while it has holds. Objects that are past their time to live do not count; they stay
	// attached to the nameless bucket row until they are reclaimed. Trash entries
	// keep their undo window. Documents and promotions go with the name.
	DeleteBucket(ctx context.Context, name string) error
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

// RuleLedger keeps the lifecycle rules of buckets. They are read in every
// transaction that writes an object, and no transaction that deletes by them
// outlives a change (docs/protocol.md, rule 21).
type RuleLedger interface {
	// SetRules replaces them, none removes them: ledger.ErrRulesConfigured if they are
	// set in the configuration, and not by it. What stays the same keeps its number;
	// stamps of other numbers end nothing from now on.
	SetRules(ctx context.Context, c ledger.RulesChange) (ledger.BucketRules, error)
	Rules(ctx context.Context, bucket string) (ledger.BucketRules, error)
}

// IntentLedger begins and ends writes.
type IntentLedger interface {
	// Begin commits a pending row: ErrContentKnown if that is not needed (see
	// ledger.Intent.Unknown), ErrNoRoom if the backend's quota has no place,
	// ErrBackendMismatch if it is not registered, ErrNoSuchUpload of a part,
	// ErrNoSuchBucket and ErrInvalidKey of a promotion.
	Begin(ctx context.Context, in ledger.Intent) (ledger.Blob, error)
	// Beat keeps a pending row alive and grows its reservation to size (never
	// shrinks it): ErrReaped if the row is no longer an unclaimed pending one,
	// ErrNoRoom.
	Beat(ctx context.Context, blob lethe.ID, size int64) error
	// Abandon condemns a pending row that its writer gives up, due now. late: an
	// upload may still land, the row stays until a second delete after the late
	// window. ErrReaped if it is no longer an unclaimed pending one (nothing to do).
	Abandon(ctx context.Context, blob lethe.ID, late bool) error
	// Outcome looks up what an operation did: found is false if it did nothing
	// (or is older than OpsKept). Read from the primary, behind every write that
	// was begun before.
	Outcome(ctx context.Context, op lethe.ID) (out ledger.Outcome, found bool, err error)
	// ExtendGrace puts off the deletion of the condemned, unclaimed blobs of a
	// content to at least a read grace from now, for a reader still at work.
	ExtendGrace(ctx context.Context, content lethe.ID) error
}

// LateLedger knows of bytes that were sent too late.
type LateLedger interface {
	// CondemnLate gives bytes a row that were sent when that of their intent may have
	// gone already: condemned, kept until a delete after the late window. A row that is
	// there stays in its state; a condemned one is kept as long. ErrBackendMismatch.
	CondemnLate(ctx context.Context, b ledger.LateBytes) error
}

// CopyLedger keeps what is known of the copies of contents.
type CopyLedger interface {
	// MarkSuspect marks live blobs whose bytes were found missing or damaged. Blobs
	// that are not live any more are left alone; it returns how many rows it changed.
	MarkSuspect(ctx context.Context, blobs []lethe.ID, why string) (int, error)
	// MarkSound records that they were found sound by reads that began so long ago.
	MarkSound(ctx context.Context, blobs []lethe.ID, ago time.Duration) (int, error)
	// BlockSums returns the sums of the blocks of a blob from one to another, both of
	// them included; none unless all of them are known.
	BlockSums(ctx context.Context, blob lethe.ID, from, to int64) ([]uint32, error)
	// NoteBlocks keeps the sums of a live blob of size bytes that was read and had its
	// digest, in the place of those that are known; it reports whether it did: not if
	// the blob is not live any more.
	NoteBlocks(ctx context.Context, blob lethe.ID, size int64, sums lethe.BlockSums) (bool, error)
}

// ObjectLedger reads and writes objects.
type ObjectLedger interface {
	// Commit: ErrInvalidKey, ErrNoSuchBucket, ErrPreconditionFailed, ErrInvalidTTL,
	// ErrHeld, ErrReaped, ErrContentGone, ErrNoSuchKey (Source), ErrQuotaExceeded, found in
	// this order. An operation that is recorded already is not applied again: the
	// answer is the object that it made. The content's domain is the bucket's.
	// Content that is suspect takes no reference without bytes; with bytes they
	// join it as one more copy. Quotas refuse only what grows.
	Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error)
	// Delete: ErrNoSuchBucket. Items fail alone, with ErrInvalidKey, ErrHeld or
	// ErrPreconditionFailed (a condition on an object fails where none lies). What
	// is deleted goes into the trash if the bucket has an undo window.
	Delete(ctx context.Context, d ledger.Deletion) (ledger.Deletions, error)
	// Update: ErrNoSuchBucket, ErrNoSuchKey, ErrPreconditionFailed, ErrInvalidTTL;
	// ErrHeld of what is held, if its attributes would change or its end come sooner.
	// What is held and past its time may be given a new one, and is seen again.
	Update(ctx context.Context, u ledger.Update) (ledger.Object, error)
	// Resolve: ErrNoSuchBucket, ErrNoSuchKey (also from the instant its ttl_at has
	// passed, by the ledger's clock).
	Resolve(ctx context.Context, bucket, key string) (ledger.Resolved, error)
	// List: ErrNoSuchBucket. A page may hold fewer entries than asked for, even
	// none, and yet say that there are more.
	List(ctx context.Context, q ledger.ListQuery) (ledger.ListPage, error)
}

// UploadLedger keeps multipart uploads.
type UploadLedger interface {
	// CreateUpload: ErrInvalidKey, ErrNoSuchBucket, ErrInvalidTTL.
	CreateUpload(ctx context.Context, u ledger.Upload) (ledger.Upload, error)
	// Upload: ErrNoSuchUpload, also if bucket or key differ.
	Upload(ctx context.Context, bucket, key string, id lethe.ID) (ledger.Upload, error)
	// CommitPart: ErrNoSuchUpload, ErrReaped.
	CommitPart(ctx context.Context, c ledger.PartCommit) (ledger.Part, error)
	// Complete: ErrNoSuchUpload, ErrInvalidPart (also of a part that is suspect),
	// ErrInvalidPartOrder, ErrPartTooSmall, and the errors of Commit. Parts of zero
	// bytes are no segments. Asked again by the same operation, it returns the object as long as
	// that lies under its key.
	Complete(ctx context.Context, c ledger.Completion) (ledger.Committed, error)
	// AbortUpload condemns all parts of the upload, and its pending part intents,
	// claimed or not, due after the late window: ErrNoSuchUpload. So does Complete
	// with the parts that it does not name.
	AbortUpload(ctx context.Context, op lethe.ID, bucket, key string, id lethe.ID) error
}

// UploadLister lists uploads and their parts.
type UploadLister interface {
	// Uploads: ErrNoSuchBucket. AfterKey alone passes over the key's uploads.
	Uploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.Upload, error)
	// Parts lists up to limit parts with numbers above after, ascending; none if
	// there is no such upload, and none that is suspect.
	Parts(ctx context.Context, upload lethe.ID, after, limit int) ([]ledger.Part, error)
	// UploadByID: ErrNoSuchUpload.
	UploadByID(ctx context.Context, id lethe.ID) (ledger.Upload, error)
}

// HoldLedger keeps holds: what they cover is not deleted, replaced or expired, and
// not purged from the trash. Every transaction that does any of that reads them
// (docs/protocol.md, rule 21): lethe.ErrHeld.
type HoldLedger interface {
	// AddHold: ErrNoSuchBucket, ErrInvalidKey. One that is set already is answered.
	AddHold(ctx context.Context, h ledger.Hold) (ledger.Hold, error)
	// LiftHold: ErrNoSuchBucket, ledger.ErrNoSuchHold.
	LiftHold(ctx context.Context, h ledger.Hold) error
	Holds(ctx context.Context, q ledger.HoldQuery) ([]ledger.Hold, error)
	// HoldsOn lists those that cover a key: ErrNoSuchBucket.
	HoldsOn(ctx context.Context, bucket, key string) ([]ledger.Hold, error)
}

// TrashLedger keeps what was deleted or replaced and can be restored.
type TrashLedger interface {
	Trash(ctx context.Context, q ledger.TrashQuery) ([]ledger.TrashEntry, error)
	// Restore puts an entry back under its key, as a new version made by op:
	// ErrTrashNotFound, ErrNoSuchBucket (also if another one of another dedup domain
	// has the name now), ErrPreconditionFailed if the key is taken and not
	// overwrite, ErrQuotaExceeded. What it replaces goes the ordinary way.
	Restore(ctx context.Context, op, entry lethe.ID, overwrite bool) (ledger.Object, error)
	// PurgeTrash makes entries due at once; the purge routine takes them. It
	// returns how many were not due before.
	PurgeTrash(ctx context.Context, entries []lethe.ID) (int, error)
}
