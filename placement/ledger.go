package placement

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Ledger is what placement needs of the ledger, by subject; *sqlledger.DB implements
// every part, and every part is needed. Every method is atomic, and ledger/ledgertest
// is the suite that every ledger passes.
type Ledger struct {
	Queue    QueueLedger
	Copies   CopyLedger
	Backends BackendLedger
	Walk     WalkLedger
	Inline   InlineLedger
}

// InlineLedger moves contents into the ledger. They leave it by BeginCopy and CommitCopy.
type InlineLedger interface {
	// MisplacedContents returns a page of the contents that store.inline has elsewhere.
	MisplacedContents(ctx context.Context, q ledger.Misplaced) (ledger.ContentPage, error)
	// InlineBody returns the bytes of an inline content, not checked: ErrContentGone if
	// it is gone or lies on backends.
	InlineBody(ctx context.Context, content lethe.ID) (ledger.Body, error)
	// MoveToLedger writes the bytes of a content that lies on backends, condemns its blobs,
	// and returns how many: ErrContentGone if it is gone or inline, ErrDigestMismatch.
	MoveToLedger(ctx context.Context, content lethe.ID, b ledger.Body) (int, error)
}

// QueueLedger hands out queued subjects. The transaction that makes a content due
// also queues it: the content is new and more than one copy is wanted, a copy becomes
// suspect or stops being so, or an upload adds one more copy.
type QueueLedger interface {
	// ClaimPlacements stamps subjects that are due with a fence, for the lease.
	ClaimPlacements(ctx context.Context, r ledger.PlacementClaim) (ledger.Placements, error)
	// SettlePlacements records the results. Subjects that were taken over, or have
	// to be processed again, are left alone and counted.
	SettlePlacements(ctx context.Context, fence int64, results []ledger.PlacementResult) (fenced int, err error)
	// KeepPlacement renews the lease of a claimed subject: ErrFenced.
	KeepPlacement(ctx context.Context, subject lethe.ID, fence int64, lease time.Duration) error
	// QueuePlacements queues subjects that are not queued yet, and returns how many.
	QueuePlacements(ctx context.Context, subjects []ledger.Subject) (int, error)
	PlaceBacklog(ctx context.Context) (ledger.Backlog, error)
	// QueuedPlacements returns what is queued, and claims nothing.
	QueuedPlacements(ctx context.Context, q ledger.PlacementQuery) ([]ledger.QueuedPlacement, error)
}

// CopyLedger begins and ends copies, under the claim of their subject.
type CopyLedger interface {
	// BeginCopy commits the pending row of one more copy of a live blob, or of the first
	// one of an inline content: ErrContentGone, ErrNoRoom, ErrBackendMismatch, ErrFenced.
	BeginCopy(ctx context.Context, in ledger.CopyIntent) (ledger.Blob, error)
	// CommitCopy makes it live. The copy of a part takes the source's place, and
	// the source is condemned; that of an inline content takes the place of its bytes: ErrReaped, ErrContentGone, ErrDigestMismatch,
	// ErrFenced.
	CommitCopy(ctx context.Context, c ledger.CopyCommit) error
	// TrimCopies condemns copies, each beside one of the same segment that stays and
	// was verified (docs/protocol.md, rule 17): ErrPreconditionFailed, ErrContentGone,
	// ErrFenced.
	TrimCopies(ctx context.Context, r ledger.Trim) (int, error)
	// Beat and Abandon are those of every write: ErrReaped.
	Beat(ctx context.Context, blob lethe.ID, size int64) error
	Abandon(ctx context.Context, blob lethe.ID, late bool) error
	// CondemnLate gives a condemned row to bytes that were sent when the row of
	// their intent may have been gone. It is kept until a delete after the late
	// window. An existing row keeps its state.
	CondemnLate(ctx context.Context, b ledger.LateBytes) error
}

// BackendLedger drains and removes backends.
type BackendLedger interface {
	// SetDraining: ErrBackendMismatch if there is no such backend. Nothing is begun
	// on a draining one (ErrNoRoom).
	SetDraining(ctx context.Context, backend string, draining bool) error
	// RemoveBackend: ErrBackendMismatch, ErrBackendInUse unless it drains and no blob
	// has a row there.
	RemoveBackend(ctx context.Context, backend string) error
	UsageLedger
}

// UsageLedger reads how full the backends are.
type UsageLedger interface {
	Backends(ctx context.Context) ([]ledger.Backend, error)
	Totals(ctx context.Context) ([]ledger.Total, error)
}

// WalkLedger walks over all contents, and marks findings.
type WalkLedger interface {
	// PlacedContents returns a page of all contents by id.
	PlacedContents(ctx context.Context, after lethe.ID, limit int) ([]ledger.Placement, error)
	// Placed returns where the bytes of subjects lie, each named once, in their
	// order.
	Placed(ctx context.Context, subjects []ledger.Subject) ([]ledger.Placement, error)
	Blobs(ctx context.Context, q ledger.BlobQuery) ([]ledger.Blob, error)
	BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error)
	MarkLedger
}

// MarkLedger records what was found of the bytes of live blobs; both methods return
// how many rows they changed.
type MarkLedger interface {
	MarkSuspect(ctx context.Context, blobs []lethe.ID, why string) (int, error)
	// MarkSound records that they were found sound by reads that began so long ago.
	MarkSound(ctx context.Context, blobs []lethe.ID, ago time.Duration) (int, error)
}
