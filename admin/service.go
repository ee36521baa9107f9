package admin

import (
	"cmp"
	"log/slog"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/object/importer"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// Options of a Service. All but Serving and Around are needed.
type Options struct {
	Ledger   *sqlledger.DB
	Objects  *object.Store
	Backends map[string]blob.Store
	Cache    cache.Cache
	Loop     *reclaim.Loop
	Guard    *reclaim.Guard
	// Verify makes a pass of the store's fsck.
	Verify func(checksums bool) *reclaim.Verify
	// Reconcile makes a walk over the named backends; nil: there is none.
	Reconcile func(only []string, dryRun bool, report func(ledger.Finding)) *reconcile.Routine
	// Importer makes objects of the foreign keys of a backend; nil: there is none.
	Importer func(backend string) (*importer.Importer, error)
	Safety   reclaim.Safety
	// Limits are those of what expires by itself.
	Limits ledger.Limits
	Clock  lethe.Clock
	// Scratch is a folder for backups that are being made.
	Scratch string
	Version string
	// Serving says that the routines run by their schedules in this process.
	Serving bool
	// Around is what the store works with; it may be left out.
	Around Surroundings
	// Failures is the clock by which failed authorisations are limited (default:
	// lethe.Monotonic).
	Failures lethe.Clock
	// Stopwatch says when what takes long to count is counted anew (default:
	// lethe.Monotonic).
	Stopwatch lethe.Clock
	// RootKey is the id of the root key, which no other key may have; nil: not known.
	RootKey func() string
	// Audit records a destructive decision.
	Audit func(event, reason string, attrs ...slog.Attr)
}

// Service answers what operators ask and does what they say. Its methods may be
// called from any number of goroutines.
type Service struct {
	o       Options
	started lethe.Time
	glance  glance
}

// New makes a service.
func New(o Options) *Service {
	o.Stopwatch = cmp.Or[lethe.Clock](o.Stopwatch, lethe.Monotonic{})
	return &Service{o: o, started: o.Clock.Now()}
}
