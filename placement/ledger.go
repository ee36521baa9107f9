package placement

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Ledger is what placement needs of the ledger; *sqlledger.DB satisfies it. Every
// method is atomic, and ledger/ledgertest is the suite that every ledger passes.
type Ledger interface {
	QueueLedger
	CopyLedger
	LateLedger
	BackendLedger
	UsageLedger
	WalkLedger
	QueueReader
}

// QueueReader shows the queue for plans.
type QueueReader interface {
	// QueuedPlacements returns what is queued, and claims nothing.
	QueuedPlacements(ctx context.Context, q ledger.PlacementQuery) ([]ledger.QueuedPlacement, error)
}

// QueueLedger hands out what has to be looked at. What makes a content due (a new
// one while a factor of more than one is kept, a copy that becomes suspect or
// ceases to be, an upload that joins as one more copy) queues it in its own
// transaction.
type QueueLedger interface {
	// ClaimPlacements stamps subjects that are due with a fence, for the lease.
	ClaimPlacements(ctx context.Context, r ledger.PlacementClaim) (ledger.Placements, error)
	// SettlePlacements records how that ended; what was taken over, or has to be
	// looked at again, is left alone and counted.
	SettlePlacements(ctx context.Context, fence int64, results []ledger.PlacementResult) (fenced int, err error)
	// KeepPlacement begins the lease of a claimed subject anew: ErrFenced.
	KeepPlacement(ctx context.Context, subject lethe.ID, fence int64, lease time.Duration) error
	// Misplace queues subjects that are not queued yet; it returns how many.
	Misplace(ctx context.Context, subjects []ledger.Subject) (int, error)
	PlaceBacklog(ctx context.Context) (ledger.Backlog, error)
}

// CopyLedger makes and ends copies, under the claim of what they are copies of.
type CopyLedger interface {
	// BeginCopy commits the pending row of one more copy of a live blob:
	// ErrContentGone, ErrNoRoom, ErrBackendMismatch, ErrFenced.
	BeginCopy(ctx context.Context, in ledger.CopyIntent) (ledger.Blob, error)
	// CommitCopy makes it live; that of a part takes the source's place, which is
	// condemned: ErrReaped, ErrContentGone, ErrDigestMismatch, ErrFenced.
	CommitCopy(ctx context.Context, c ledger.CopyCommit) error
	// TrimCopies condemns copies, each beside one of the same segment that stays and
	// was verified (docs/protocol.md, rule 17): ErrPreconditionFailed, ErrContentGone,
	// ErrFenced.
	TrimCopies(ctx context.Context, r ledger.Trim) (int, error)
	// Beat and Abandon are those of every write: ErrReaped.
	Beat(ctx context.Context, blob lethe.ID, size int64) error
	Abandon(ctx context.Context, blob lethe.ID, late bool) error
}

// LateLedger knows of bytes that were sent too late.
type LateLedger interface {
	// CondemnLate gives bytes a row that were sent when that of their intent may have
	// gone already: condemned, kept until a delete after the late window. A row that is
	// there stays in its state.
	CondemnLate(ctx context.Context, b ledger.LateBytes) error
}

// BackendLedger drains backends and forgets them.
type BackendLedger interface {
	// SetDraining: ErrBackendMismatch if there is no such backend. Nothing is begun
	// on one that drains (ErrNoRoom).
	SetDraining(ctx context.Context, backend string, draining bool) error
	// RemoveBackend: ErrBackendMismatch, ErrBackendInUse unless it drains and no blob
	// has a row there.
	RemoveBackend(ctx context.Context, backend string) error
}

// UsageLedger says how full the backends are.
type UsageLedger interface {
	Backends(ctx context.Context) ([]ledger.Backend, error)
	Totals(ctx context.Context) ([]ledger.Total, error)
}

// WalkLedger walks what is there, and marks what is found.
type WalkLedger interface {
	// PlacedContents returns a page of all contents by id.
	PlacedContents(ctx context.Context, after lethe.ID, limit int) ([]ledger.Placement, error)
	// Placed returns where the bytes of subjects lie, each named once, in their order.
	Placed(ctx context.Context, subjects []ledger.Subject) ([]ledger.Placement, error)
	Blobs(ctx context.Context, q ledger.BlobQuery) ([]ledger.Blob, error)
	BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error)
	MarkLedger
}

// MarkLedger notes what was found of the bytes of live blobs; both answer how many rows
// they changed.
type MarkLedger interface {
	MarkSuspect(ctx context.Context, blobs []lethe.ID, why string) (int, error)
	// MarkSound notes that they were found sound by reads that began so long ago.
	MarkSound(ctx context.Context, blobs []lethe.ID, ago time.Duration) (int, error)
}
