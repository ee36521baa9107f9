package service

import (
	"cmp"
	"log/slog"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/object/importer"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// Options of a Service. All but Serving and Runtime are required.
type Options struct {
	Ledger   *sqlledger.DB
	Objects  *object.Store
	Backends map[string]blob.Store
	Cache    cache.Cache
	Loop     *reclaim.Loop
	Pairing  *pairing.Pairing
	// StoreID begins the names of the store's blobs.
	StoreID lethe.ID
	// Verify returns a pass of the store's fsck.
	Verify func(checksums bool) *routine.Verify
	// Reconcile returns a walk over the named backends; nil if there is none.
	Reconcile func(only []string, dryRun bool, report func(ledger.Finding)) *reconcile.Routine
	// Importer returns the importer of a backend's foreign keys; nil if there
	// is none.
	Importer func(backend string) (*importer.Importer, error)
	Safety   reclaim.Safety
	// Limits are the deletion limits of expire and purge.
	Limits ledger.Limits
	Clock  lethe.Clock
	// Scratch is a folder for backups in progress.
	Scratch string
	Version string
	// Serving reports that this process runs the routines by their schedules.
	Serving bool
	// Runtime describes the process, its backends and its peers; optional.
	Runtime RuntimeInfo
	// Failures is the clock of the limit on failed authorisations (default:
	// lethe.Monotonic).
	Failures lethe.Clock
	// Stopwatch is the clock of cached counts that are expensive (default:
	// lethe.Monotonic).
	Stopwatch lethe.Clock
	// MaxCounted is how many rows are counted for one request (default 100,000). What has
	// more is shown as the routine usage counted it last.
	MaxCounted int
	// RootKey returns the id of the root key, which no other key may have; nil
	// if unknown.
	RootKey func() string
	// Audit records a destructive decision.
	Audit func(event, reason string, attrs ...slog.Attr)
	// Audited returns the last of these decisions, the latest first; nil if none are kept.
	Audited func() []api.AuditLine
	// Gets returns how many gets of a bucket this process has answered with and without an object;
	// nil if they are not counted.
	Gets func(bucket string) (found, missed int64)
	// Targets are who may be told of objects.
	Targets Targets
	// Instance names this process among those that share the ledger; empty: none does.
	Instance string
}

// Service implements the operations of the admin API. It is safe for concurrent
// use.
type Service struct {
	o       Options
	started lethe.Time
	cache   statusCache
	gauges  bucketGauges
	probes  probes
	outages outages
}

// New returns a service.
func New(o Options) *Service {
	o.MaxCounted = cmp.Or(o.MaxCounted, 100_000)
	o.Stopwatch = cmp.Or[lethe.Clock](o.Stopwatch, lethe.Monotonic{})
	return &Service{o: o, started: o.Clock.Now()}
}
