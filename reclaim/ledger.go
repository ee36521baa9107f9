package reclaim

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// The interfaces of this file are what the routines need of the ledger, each its part. Every
// method is atomic. A limit that is not above zero is no limit. "Older than" and "for age"
// include the instant itself. Fences are drawn by claims that find something, and grow.
// ledger/ledgertest is the suite that every ledger passes.

// AgeLedger reports whether its clock is in doubt, so that nothing is removed by
// age.
type AgeLedger interface {
	// ClockBehind returns how far the machine's clock is behind the latest time in
	// the ledger, and 0 if that is a minute at most.
	ClockBehind() time.Duration
	// ClockAhead returns by how much the clock was set forward since the ledger was
	// opened, and 0 for ordinary corrections.
	ClockAhead() time.Duration
}

// ExpireLedger removes objects past their time.
type ExpireLedger interface {
	AgeLedger
	FairLedger
	// Expire removes up to a batch of due objects, oldest first or of the given
	// buckets, in one transaction: it deletes rows, counts references down, drops
	// contents without references, condemns their blobs and moves the counters. The
	// blobs died when the last of their references was due. A batch ends before the
	// row that would condemn more than MaxBlobs, but takes one row at least.
	Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error)
	ExpireBacklog(ctx context.Context) (ledger.Backlog, error)
	// Foresee stops what is due beyond the limits before the first of it is
	// removed, and returns what it stopped just now.
	Foresee(ctx context.Context, l ledger.Limits) ([]ledger.Guard, error)
	// Unpark requeues up to limit deferred rows: those of a hold that was released,
	// or of a limit that allows them now.
	Unpark(ctx context.Context, limit int) (ledger.Unparked, error)
}

// LimitLedger records what a tripped limit, or a clock in doubt, has stopped.
type LimitLedger interface {
	Guards(ctx context.Context) ([]ledger.Guard, error)
	// AllowGuard ends a stop, and allows so much more.
	AllowGuard(ctx context.Context, a ledger.Allowance) error
	// EndStops ends the stops of limits that no longer exist, and returns them.
	EndStops(ctx context.Context, l ledger.Limits) (ended []ledger.Guard, err error)
	ClockLedger
}

// ClockLedger records that clocks are in doubt.
type ClockLedger interface {
	// DoubtClock records why the clock of a backend, or the ledger's own if none is
	// named, is in doubt, or that it is not. It returns what was recorded before.
	DoubtClock(ctx context.Context, backend, why string) (before string, err error)
	ClockDoubt(ctx context.Context, backend string) (why string, err error)
	// LedgerTime returns the ledger's current time.
	LedgerTime(ctx context.Context) (lethe.Time, error)
}

// CleanLedger hands out condemned blobs and records their results.
type CleanLedger interface {
	FairLedger
	// CondemnedDue reports whether there is something to claim, due at after or later.
	CondemnedDue(ctx context.Context, backend string, after lethe.Time) (bool, error)
	// ClaimCondemned stamps due, unclaimed condemned blobs of one backend. It
	// refuses with ErrBackendMismatch while deletes on the backend are held, or if
	// it is not registered.
	ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error)
	// Settle removes the rows of bytes that are confirmed gone, schedules retries,
	// and moves the rest to the dead letters. A row whose claim is older than its
	// late_until is kept, due then: an upload may have landed after the delete,
	// however late it is settled. Fence 0 settles nothing.
	Settle(ctx context.Context, s ledger.Settlement) (ledger.Settled, error)
	// RecoverClaims takes back claims (of condemned and pending rows) older than
	// grace.
	RecoverClaims(ctx context.Context, grace time.Duration, limit int) ([]ledger.Recovered, error)
	CleanBacklog(ctx context.Context, backend string) (ledger.Backlog, error)
}

// ReapLedger resolves intents without a heartbeat.
type ReapLedger interface {
	AgeLedger
	// ClaimIntents stamps unclaimed pending rows whose heartbeat is older than
	// MinAge, so that their writer fails (ErrReaped) from now on.
	ClaimIntents(ctx context.Context, r ledger.ClaimRequest) (ledger.ClaimedIntents, error)
	// Promote commits a proven intent in its writer's place: ErrFenced,
	// ErrPreconditionFailed if it was superseded meanwhile (nothing changed), and
	// the errors of Commit. What the writer has in flight may land late. The sums
	// are those of the proving bytes, kept if the writer recorded none.
	Promote(ctx context.Context, fence int64, blob lethe.ID, sums lethe.BlockSums) (ledger.Committed, error)
	// CondemnIntent condemns a claimed intent, due after the late window: ErrFenced.
	CondemnIntent(ctx context.Context, fence int64, blob lethe.ID) error
	// ReleaseIntent gives a claimed intent back for the next tick: ErrFenced.
	ReleaseIntent(ctx context.Context, fence int64, blob lethe.ID) error
	ReapBacklog(ctx context.Context, minAge time.Duration) (ledger.Backlog, error)
}

// UploadLedger finds and aborts stale multipart uploads.
type UploadLedger interface {
	AgeLedger
	// StaleUploads lists stale uploads. AbortStale makes the same decision again in
	// its own transaction and aborts one: ErrNoSuchUpload if it is gone or not
	// stale, ErrHeld while a hold keeps it.
	StaleUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error)
	AbortStale(ctx context.Context, upload lethe.ID, s ledger.Stale) error
	UploadBacklog(ctx context.Context, s ledger.Stale) (ledger.Backlog, error)
}

// LifecycleLedger applies the lifecycle rules of buckets. Rules stamp an end on
// objects, which Expire then removes.
type LifecycleLedger interface {
	AgeLedger
	// RuledBuckets lists buckets with rules, or with stamps of rules they had.
	RuledBuckets(ctx context.Context) ([]ledger.BucketRules, error)
	// Restamp reapplies the rules to up to limit objects of one bucket whose rules
	// changed, and records its progress.
	Restamp(ctx context.Context, limit int) (ledger.Restamped, error)
	RestampBacklog(ctx context.Context) (ledger.Backlog, error)
	// RuledUploads lists open uploads that rules abort now. AbortRuled aborts one
	// if a rule in force in that transaction requires it, and returns the rule:
	// ErrNoSuchUpload otherwise, and ErrHeld while a hold keeps the upload.
	RuledUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error)
	AbortRuled(ctx context.Context, upload lethe.ID) (rule string, err error)
}

// PurgeLedger empties the trash and drops records whose time is over.
type PurgeLedger interface {
	AgeLedger
	// Purge removes up to a batch of trash entries that are due.
	Purge(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error)
	PurgeBacklog(ctx context.Context) (ledger.Backlog, error)
	// Prune drops operation outcomes older than OpsKept, finished runs beyond the
	// last 1,000 of each routine, and empty nameless buckets, up to limit rows. It
	// returns how many it dropped.
	Prune(ctx context.Context, limit int) (int, error)
}

// RunLedger records passes of routines.
type RunLedger interface {
	StartRun(ctx context.Context, r ledger.Run) error
	// BeatRun and FinishRun: ErrFenced if the run is not in progress.
	BeatRun(ctx context.Context, id lethe.ID, counts map[string]int64) error
	FinishRun(ctx context.Context, id lethe.ID, outcome string, counts map[string]int64) error
	// LastRuns returns the newest run of each routine and, separately, its newest
	// successful one.
	LastRuns(ctx context.Context) (last, succeeded map[string]ledger.Run, err error)
	// InterruptRuns marks the unfinished runs of a dead worker.
	InterruptRuns(ctx context.Context, worker string) (int, error)
	SoloLedger
}

// SoloLedger decides which instance runs a routine that must run once at a time.
type SoloLedger interface {
	// BeginRun starts a run of a routine unless another BeginRun's is in progress
	// on another worker with a heartbeat younger than Stale, or a run succeeded that
	// began after Seen. A stale one is ended first, whether the new run begins or not.
	BeginRun(ctx context.Context, s ledger.Solo) (ledger.Begun, error)
	// EndStaleRuns ends every run in progress whose heartbeat is older than age,
	// and returns them.
	EndStaleRuns(ctx context.Context, age time.Duration) ([]ledger.Run, error)
}

// PairingLedger keeps the pairing of ledger and backends (docs/protocol.md, rule 13).
type PairingLedger interface {
	ClockLedger
	Identity(ctx context.Context) (ledger.Store, error)
	// AddBackend registers a backend or updates its quota.
	AddBackend(ctx context.Context, b ledger.Backend) (ledger.Backend, error)
	Backends(ctx context.Context) ([]ledger.Backend, error)
	// SetEpoch moves (intended, epoch) forward and never back. What is intended has
	// to be confirmed before another is: ErrFenced.
	SetEpoch(ctx context.Context, backend string, intended, epoch int64) error
	// HoldBackend holds deletes on a backend for a reason, or releases them with an
	// empty one.
	HoldBackend(ctx context.Context, backend, reason string) error
	HoldChanger
}

// HoldChanger holds backends for callers that check them concurrently.
type HoldChanger interface {
	// ChangeHold holds deletes on a backend, or releases them with the zero hold,
	// if hold and epoch are as seen: ErrFenced otherwise.
	ChangeHold(ctx context.Context, seen ledger.Backend, s ledger.BackendHold) error
	// AcceptEpoch gives a backend to this ledger under an epoch beyond what it intends,
	// and ends its hold: ErrFenced.
	AcceptEpoch(ctx context.Context, backend string, epoch int64) error
}

// DeadLedger keeps the dead letters.
type DeadLedger interface {
	Dead(ctx context.Context, q ledger.DeadQuery) ([]ledger.DeadLetter, error)
	// DeadByID returns the rows that are dead letters, in any order.
	DeadByID(ctx context.Context, ids []lethe.ID) ([]ledger.DeadLetter, error)
	// Requeue condemns dead blobs again, due now, attempts at zero.
	Requeue(ctx context.Context, ids []lethe.ID) (int, error)
	// WriteOff removes dead rows: the operator vouches that the bytes are gone. Rows
	// whose upload may still land stay.
	WriteOff(ctx context.Context, ids []lethe.ID) (int, error)
	Totals(ctx context.Context) ([]ledger.Total, error)
}

// VerifyLedger is what verify recounts and marks.
type VerifyLedger interface {
	// Recount recomputes references, counters and state rules from the rows in
	// one snapshot and returns every difference; there should be none.
	Recount(ctx context.Context) ([]ledger.Discrepancy, error)
	Blobs(ctx context.Context, q ledger.BlobQuery) ([]ledger.Blob, error)
	Marker
	// BlobsByID returns the rows that exist, in any order.
	BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error)
	// BlockSums returns the sums of the blocks of a blob from first to last, both
	// included. It returns none unless all of them are recorded.
	BlockSums(ctx context.Context, blob lethe.ID, from, to int64) ([]uint32, error)
	// NoteBlocks records the sums of a live blob of size bytes that was read and
	// matched its digest, replacing those recorded before. It reports whether it
	// did: not if the blob is not live any more.
	NoteBlocks(ctx context.Context, blob lethe.ID, size int64, sums lethe.BlockSums) (bool, error)
	ReceiptReader
}

// Marker records what was found of the bytes of live blobs. Rows that are not live
// any more are left alone; both methods return how many rows they changed.
type Marker interface {
	MarkSuspect(ctx context.Context, ids []lethe.ID, why string) (int, error)
	// MarkSound records that they were found sound by reads that began so long ago.
	MarkSound(ctx context.Context, ids []lethe.ID, ago time.Duration) (int, error)
}

// PlanLedger lists what the routines would take now, item by item, by the
// conditions under which they take it.
type PlanLedger interface {
	DueObjects(ctx context.Context, q ledger.DueQuery) (ledger.DuePage, error)
	DueTrash(ctx context.Context, q ledger.DueQuery) (ledger.DuePage, error)
	DueBlobs(ctx context.Context, q ledger.DueQuery) ([]ledger.Blob, error)
	// ObjectsNamed and BlobsByID read the rows that a plan names as they are now.
	ObjectsNamed(ctx context.Context, names []ledger.Named) ([]ledger.Due, error)
	BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error)
}
