package reconcile

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Ledger is what the routine needs of the ledger; *sqlledger.DB implements it.
// Every method is atomic, and ledger/ledgertest is the suite that every ledger
// passes.
type Ledger interface {
	WalkLedger
	FindingLedger
	RowLedger
}

// WalkLedger records the progress of walks.
type WalkLedger interface {
	// BeginWalk begins a walk over a backend, or returns the interrupted one:
	// ErrBackendMismatch.
	BeginWalk(ctx context.Context, s ledger.WalkStart) (ledger.Walk, error)
	// SaveWalk records progress: ErrFenced if the walk has ended, or has another
	// position.
	SaveWalk(ctx context.Context, s ledger.WalkStep) error
	// FinishWalk ends a walk. If the walk compared everything, findings that it did
	// not meet are dropped: ErrFenced.
	FinishWalk(ctx context.Context, e ledger.WalkEnd) (ledger.WalkEnded, error)
}

// FindingLedger records what walks found, and acts on it.
type FindingLedger interface {
	// Sight records findings of a walk, up to a number of each backend: ErrFenced.
	Sight(ctx context.Context, s ledger.Sighting) (recorded int, err error)
	Findings(ctx context.Context, q ledger.FindingQuery) ([]ledger.Finding, error)
	// CondemnOrphans gives orphans a row, condemned, if all conditions hold in that
	// transaction: ErrBackendMismatch, ErrClock, ErrFenced.
	CondemnOrphans(ctx context.Context, r ledger.OrphanRequest) (ledger.Orphans, error)
	// TakeOrphan makes an orphan whose bytes were read the copy of a lost blob:
	// ErrContentGone, ErrDigestMismatch, ErrBackendMismatch, ErrClock, ErrFenced.
	TakeOrphan(ctx context.Context, f ledger.Found) (ledger.Blob, error)
	// Standings returns, for the blobs that are live, what depends on them.
	Standings(ctx context.Context, blobs []lethe.ID, limit int) ([]ledger.Standing, error)
}

// RowLedger reads rows, and marks them.
type RowLedger interface {
	// BlobStubs returns a page of all blobs after an id, by id.
	BlobStubs(ctx context.Context, after lethe.ID, limit int) ([]ledger.Stub, error)
	BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error)
	MarkSuspect(ctx context.Context, ids []lethe.ID, why string) (int, error)
	Backends(ctx context.Context) ([]ledger.Backend, error)
}

// Pairing checks the pairing of a backend and the ledger; *pairing.Pairing implements
// it.
type Pairing interface {
	// Check returns ErrBackendMismatch if they do not belong together, or an
	// operator has to decide that. Another error means that the check failed.
	Check(ctx context.Context, backend string) error
	// Admit also returns an error until no other ledger can delete there: ErrNotQuiet.
	Admit(ctx context.Context, backend string) error
}
