package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// Options of the routine. Ledger, Stores, Pairing, Store, Clock and NewID are needed.
type Options struct {
	Ledger  Ledger
	Stores  map[string]blob.Store
	Pairing Pairing
	Store   lethe.ID
	Clock   lethe.Clock
	NewID   func() lethe.ID // ids of walks

	// Only names the backends to walk over; none: all.
	Only []string
	// DryRun changes nothing: no row, no mark, no finding.
	DryRun bool
	// Grace is the minimum age of an orphan, by its first sighting and by its name.
	Grace time.Duration
	// Chunk is how many rows are held in memory at once, at 24 bytes each (default
	// 2,000,000). A backend of up to Small rows is listed as a whole instead of by
	// folder (default 100,000; negative: never).
	Chunk, Small int
	// Page is how many rows one transaction reads or changes (default 1,000).
	Page int
	// Parallel is how many folders are listed in parallel (default 1).
	Parallel int
	// Call is called, and may wait, before each call to a backend: a page of a
	// listing (1,000 keys), or a look-up of one key. Nil: no limit.
	Call func(ctx context.Context) error
	// Keep is how many findings of each backend are kept (default 10,000).
	Keep int
	// MostOrphans is how many orphans one walk condemns (default 10,000); the rest
	// waits for the next. MostShare is the share of the listed keys from which on
	// more than a few orphans are implausible (default a tenth): none is condemned
	// until an operator raises it.
	MostOrphans int
	MostShare   float64

	// Misses, if set, returns why orphans may be bytes that the ledger misses elsewhere. No orphan
	// is condemned unless it returns "", and they are searched for what is lost if it does not.
	Misses func(ctx context.Context) (why string, err error)
	// Wait is for how long after a person accepted a backend none is taken there: deletes may yet
	// take effect that were sent before, of names that the ledger does not know.
	Wait time.Duration

	Events *Events
	// Would, if set, receives what a dry run would change. It is called from one
	// goroutine at a time.
	Would func(Change)
	// Only, if not nil, is all that is changed; the rest is only found.
	Chosen map[Place]bool
	// Did, if set, receives what was changed.
	Did func(Change)
	// Report, if set, receives every finding. It is called from one goroutine at a
	// time.
	Report func(ledger.Finding)
}

// Place is a key of a backend.
type Place struct {
	Backend, Key string
	Take         bool // only as the copy of a lost blob
}

// Change is what a run does about a finding: it condemns an orphan, takes it for a
// lost blob, or marks a dangling blob suspect.
type Change struct {
	ledger.Finding
	// For is the lost blob whose bytes an orphan has.
	For lethe.ID
	// Copies are the other copies of a dangling blob, from which it is healed.
	Copies int
}

// fewOrphans are too few to be implausible, whatever their share.
const fewOrphans = 100

// giveUp is the age at which an interrupted walk is begun anew instead of
// continued: its comparisons are outdated by then.
const giveUp = 3 * 24 * time.Hour

// maxPage keeps lists in statements short.
const maxPage = 10_000

func (o Options) withDefaults() Options {
	o.Chunk = cmp.Or(max(o.Chunk, 0), 2_000_000)
	o.Small = cmp.Or(o.Small, 100_000)
	o.Page = min(cmp.Or(max(o.Page, 0), 1000), maxPage)
	o.Parallel = max(o.Parallel, 1)
	o.Keep = cmp.Or(max(o.Keep, 0), 10_000)
	o.MostOrphans = cmp.Or(max(o.MostOrphans, 0), 10_000)
	o.MostShare = cmp.Or(max(o.MostShare, 0), 0.1)
	if o.Call == nil {
		o.Call = func(context.Context) error { return nil }
	}
	return o
}

// Routine is the routine "reconcile". It walks over everything, once at a time.
type Routine struct {
	o     Options
	known map[string]map[string]string // what the last pass read of orphans, by backend and key: digests
}

// New makes the routine.
func New(o Options) *Routine { return &Routine{o.withDefaults(), map[string]map[string]string{}} }

// Name returns "reconcile", or "reconcile-dry" for a dry run, which does not count
// as a success of the routine.
func (r *Routine) Name() string {
	if r.o.DryRun {
		return "reconcile-dry"
	}
	return name
}

// WhySafe implements reclaim.SafeUnpaired.
func (*Routine) WhySafe() string {
	return "it reports, and its orphans are condemned by a transaction that refuses where deletes are held"
}

// Plan returns nothing: only a walk shows whether there is something to do.
func (*Routine) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// part is what a pass does on one backend.
type part struct {
	backend string
	step    reclaim.Step
}

// parts are those of a pass: a walk over each backend, and then, as all that is missing is known,
// the search for it.
func (r *Routine) parts() (list []part) {
	backends := slices.Sorted(maps.Keys(r.o.Stores))
	if len(r.o.Only) > 0 {
		backends = r.o.Only
	}
	for _, b := range backends {
		list = append(list, part{b, r.walk(b).step})
	}
	for _, b := range backends {
		s := &search{o: r.o, backend: b, known: r.known[b], met: map[string]string{}}
		r.known[b] = s.met
		list = append(list, part{b, s.step})
	}
	return list
}

// Pass works on one backend after the other. One that fails does not block the
// others; the pass fails in the end.
func (r *Routine) Pass(string) reclaim.Step {
	todo := r.parts()
	var failures []error
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		if len(todo) == 0 {
			return false, nil
		}
		at := todo[0]
		more, err := at.step(ctx, add)
		if ctx.Err() != nil {
			return false, ctx.Err() // the failure proves nothing
		}
		if err != nil {
			err = fmt.Errorf("reconcile: backend %s: %w", at.backend, err)
			r.o.Events.broken(at.backend, err)
			failures = append(failures, err)
		}
		if err != nil || !more {
			todo = todo[1:]
		}
		if len(todo) == 0 {
			return false, errors.Join(failures...)
		}
		return true, nil
	}
}

func (r *Routine) walk(backend string) *walk {
	return &walk{o: r.o, backend: backend, store: r.o.Stores[backend], counts: &reclaim.Counts{}}
}
