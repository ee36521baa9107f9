package placement

import (
	"cmp"
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// Options of the routines. Ledger, Stores, Store, Order, Clock and NewID are
// required.
type Options struct {
	Ledger Ledger
	Stores map[string]blob.Store // by backend id
	Store  lethe.ID              // begins the name of every blob
	Order  []string              // ids of all backends, in the order of configuration

	Strategy Strategy // where one more copy goes first (default Pack)
	Replicas int      // copies of each content, each on its own backend (default 1)
	// Inline is the largest content that Inline moves into the ledger, up to
	// ledger.MaxInline; larger ones it moves out.
	Inline int64
	// Health returns why a backend takes no writes now (intercept.Breaker.Writable), or
	// nil. Nil: every backend takes writes.
	Health func(backend string) error

	// Threshold is how much the ratios of two backends may differ before Rebalance
	// moves something (default 0.1).
	Threshold float64
	// MaxMove is the most that one pass of Rebalance queues, in bytes (default 10 GiB).
	MaxMove int64

	// Claim is how many subjects Replicate claims at once (default 16): few, because the
	// last waits for the others within its lease.
	Claim int
	Page  int           // rows read at once (default 500)
	Lease time.Duration // of a claim (default 5 min)
	Beat  time.Duration // heartbeat of a copy in flight (default 30 s)
	// MinAge is the age at which the reaper takes the intent of a copy (default 5
	// min).
	MinAge time.Duration
	// Throttle is called with the number of bytes before they are copied or read
	// back, and waits as long as a rate limit requires. Nil: no limit.
	Throttle func(ctx context.Context, bytes int64) error

	Clock  lethe.Clock // times heartbeats; runs on while the machine is suspended, and never back (lethe.Monotonic)
	NewID  func() lethe.ID
	Events *Events
}

func (o Options) withDefaults() *Options {
	o.Strategy = cmp.Or(o.Strategy, Pack)
	o.Replicas = max(o.Replicas, 1)
	o.Threshold = cmp.Or(o.Threshold, 0.1)
	o.MaxMove = cmp.Or(o.MaxMove, 10<<30)
	o.Claim = cmp.Or(max(o.Claim, 0), 16)
	o.Page = cmp.Or(max(o.Page, 0), 500)
	o.Lease = cmp.Or(o.Lease, 5*time.Minute)
	o.Beat = cmp.Or(o.Beat, 30*time.Second)
	o.MinAge = cmp.Or(o.MinAge, 5*time.Minute)
	if o.Events == nil {
		o.Events = &Events{}
	}
	return &o
}

// minRetry and maxRetry bound the waits between attempts, which double.
const minRetry, maxRetry = time.Minute, time.Hour

// backoff is the wait after so many failed attempts.
func backoff(attempts int) time.Duration {
	return lethe.Backoff(minRetry, maxRetry, attempts)
}

// aims reads how full the backends are, and returns the goals.
func (o *Options) aims(ctx context.Context) (aims, error) {
	figures, err := readUsage(ctx, o.Ledger.Backends, o.Order)
	if err != nil {
		return aims{}, err
	}
	for i := range figures {
		if sp, ok := o.Stores[figures[i].ID].(blob.Spacer); ok {
			figures[i].ask(ctx, sp)
		}
	}
	markDown(figures, o.Health)
	return newAims(o, figures), nil
}

// Step does one bounded batch, reports to add what it did, and returns whether more
// is due now: a step of a routine of the engine.
type Step = func(ctx context.Context, add func(name string, n int64)) (more bool, err error)

// The names of counts.
const (
	items       = "items"        // subjects or rows looked at: measures progress
	copiesMade  = "copies"       // made and committed
	copiedBytes = "copied_bytes" // of them
	copyFailed  = "copies_failed"
	sourceGone  = "gone"    // while it was copied
	trimmed     = "trimmed" // copies condemned
	verified    = "verified"
	suspected   = "suspect"   // copies found missing or damaged
	movedIn     = "moved_in"  // contents moved into the ledger
	movedOut    = "moved_out" // contents moved to a backend
	stuck       = "stuck"     // subjects that wait for room or for a backend
	queued      = "queued"    // subjects that were not queued yet
	fenced      = "fenced"    // subjects that another worker took over
)

// Events are called as things happen; any may be nil. They return fast.
type Events struct {
	// Planned: what is about to be done for a subject, in one line.
	Planned func(s ledger.Subject, plan string)
	// Copied: a copy of source was made and committed.
	Copied func(source, copied ledger.Blob)
	// CopyFailed: a copy was given up.
	CopyFailed func(source ledger.Blob, to string, err error)
	// Unrecorded: bytes of a copy may lie on its backend, and the ledger recorded
	// neither the copy nor its abandonment (stage "abandon"), which the reaper
	// resolves. At stage "late" the bytes got no row, and reconcile finds them.
	Unrecorded func(copied ledger.Blob, stage string, err error)
	// Trimmed: copies of a content were condemned.
	Trimmed func(content lethe.ID, blobs []lethe.ID, reason lethe.Reason)
	// Suspect: a copy was found missing or damaged.
	Suspect func(b ledger.Blob, err error)
	// Stuck: less can be done for a subject than is wanted, until retry.
	Stuck func(s ledger.Subject, why string, retry lethe.Time)
}
