package reclaim

import (
	"context"
	"maps"
	"sync"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Routine is one kind of work of the engine.
type Routine interface {
	// Name is the routine's name in configuration, runs and metrics.
	Name() string
	// Pass begins a pass: a walk over everything that is due, in steps. Passes of
	// several workers may run at once; claims keep them disjoint.
	Pass(worker string) Step
	// Plan returns what a pass would find to do now; it changes nothing.
	Plan(ctx context.Context) (ledger.Backlog, error)
}

// Step does one bounded batch, adds to the counts what it did, and reports whether
// more is due now. It and Add are other names of plain functions, so that the routines
// of packages that do not import this one are Routines as well.
type Step = func(ctx context.Context, add Add) (more bool, err error)

// Add adds n to the count with a name. It is safe for concurrent use.
type Add = func(name string, n int64)

// Counts adds up what a run did, by name. It is safe for concurrent use. "items"
// measures progress for rate limits and progress bars.
type Counts struct {
	mu sync.Mutex
	n  map[string]int64
	to Add // if set, called as well
}

// Items is the name of the count that measures progress.
const Items = "items"

// Add adds n under name.
func (c *Counts) Add(name string, n int64) {
	if n == 0 {
		return
	}
	if c.to != nil {
		c.to(name, n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int64{}
	}
	c.n[name] += n
}

// Get returns the count under name.
func (c *Counts) Get(name string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// Map returns a copy of all counts that are not zero.
func (c *Counts) Map() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// Planner is a routine that can list item by item what a pass would take now, and
// take exactly such items.
type Planner interface {
	Routine
	// Items passes every item that a pass would take now to yield, and changes
	// nothing. It reads by the conditions under which a pass takes them.
	Items(ctx context.Context, yield func(plan.Item) error) error
	// Apply takes the items that a pass would still take, and that are still as
	// they were seen. Their own transaction checks that. It takes nothing else, and
	// returns one result for each item that it came to.
	Apply(ctx context.Context, worker string, items []plan.Item, add Add) ([]plan.Result, error)
}

// Backlogged is a routine that can report whether something is due now, by reads whose
// cost does not grow with how much is due.
type Backlogged interface {
	Routine
	HasBacklog(ctx context.Context) (bool, error)
}

// SafeUnpaired is a routine that runs even while it is not confirmed that the ledger is
// the one that the backends belong to. Every other routine waits.
type SafeUnpaired interface {
	Routine
	// WhySafe returns why the routine destroys nothing then.
	WhySafe() string
}
