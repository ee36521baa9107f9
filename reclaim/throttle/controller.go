package throttle

import (
	"context"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

// Controller decides how fast reclaiming may go. It backs off while clients wait
// longer than usual, here or at another instance, and while the database or a
// backend is slower than usual. The slowest level of all causes counts, and not the
// sum, so that reclaiming never stops. It also holds deletes to the operator's
// rates.
//
// The zero value with a Clock backs off for nothing and limits nothing. A nil
// Controller does the same. It is safe for concurrent use.
type Controller struct {
	// ClientLatency is how many times its usual value the slowest hundredth of the
	// requests of a kind may take. 0 disables it, and what other instances ask for.
	ClientLatency float64
	// Load is how many times its usual value the median duration of transactions, or of
	// deletes on a backend, may take. 0 disables it.
	Load  float64
	Clock lethe.Clock // one that never jumps, lethe.Monotonic
	// Sleep waits for d or the end of ctx (default lethe.Sleep).
	Sleep func(ctx context.Context, d time.Duration) error
	// Backends are those that differ from the zero Backend, by id.
	Backends map[string]Backend
	// Changed, if set, is called with each change of Slowed; it must not call the
	// Controller.
	Changed func(Slowed)

	mu            sync.Mutex
	reads, writes latency
	loads         map[string]*load // by backend; Database
	peers         Peer             // the slowest level of all, and whether one reclaims
	told          Slowed
	active        int        // steps under way
	did           lethe.Time // when a step ended that reclaimed something; 0: none
	worked        bool       // something was reclaimed since Self was called
	rates         rates
}

// Backend is how batches of deletes on a backend are best sent.
type Backend struct {
	// Parallel is how many batches may be under way at full speed; 0 is 1.
	Parallel int
	// Requests: a call costs a request, whatever its size. For clients' sake batches
	// are halved at most.
	Requests bool
}

// Kind is what a client's request does: requests are compared with those of their kind.
type Kind string

// Reads get an object, or its description; Writes put or delete one.
const (
	Reads  Kind = "reads"
	Writes Kind = "writes"
)

// Database is the load of the ledger's database, beside those of backends.
const Database = ""

// Slowed is by how much reclaiming is slowed, and why. A start beside clients is not counted.
type Slowed struct {
	Level Level
	// By is the cause of the slowest level; empty at full speed.
	By string
	// Requests are those whose latency is the cause, if they are this instance's:
	// reads if both kinds are.
	Requests Kind
}

// Peer is what an instance reports to the others on the same ledger.
type Peer struct {
	Level      Level // for the latency of its clients
	Reclaiming bool  // it has reclaimed something since its last report
	Reclaims   bool  // it is one of those that reclaim, and takes part in the rates
}

// afterStep is how long requests are affected by a step that reclaimed something.
const afterStep = 500 * time.Millisecond

// Request records a client's request that was answered, and the server's time for
// it, without the time of the client's connection.
func (c *Controller) Request(k Kind, took time.Duration) {
	if c == nil || c.ClientLatency == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.writes
	if k == Reads {
		l = &c.reads
	}
	now := c.Clock.Now()
	l.note(now, took, c.busy(now), c.ClientLatency)
}

// busy reports whether something is reclaimed, here or elsewhere, or was just now.
func (c *Controller) busy(now lethe.Time) bool {
	return c.active > 0 || c.peers.Reclaiming || c.did != 0 && now.Sub(c.did) < afterStep
}

// Time begins to time work of a kind on a backend, or on the Database. The returned
// function records that it succeeded, and on how many rows or keys; 0 records
// nothing.
func (c *Controller) Time(on, kind string) (end func(n int)) {
	if c == nil || c.Load == 0 {
		return func(int) {}
	}
	began := c.Clock.Now()
	return func(n int) {
		if n == 0 {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.loads == nil {
			c.loads = make(map[string]*load)
		}
		if c.loads[on] == nil {
			c.loads[on] = &load{}
		}
		now := c.Clock.Now()
		c.loads[on].note(now, kind, n, now.Sub(began), c.Load)
	}
}

// loadOf is the level for the load of a backend or the Database.
func (c *Controller) loadOf(on string) Level {
	l := c.loads[on]
	if l == nil {
		return 0
	}
	l.advance(c.Clock.Now())
	return l.level
}

// Run does a step, and rests after it if it succeeded and more is to do. Did
// reports whether the step reclaimed something.
func (c *Controller) Run(ctx context.Context, step func() (did, more bool, err error)) (more bool, err error) {
	if c == nil {
		_, more, err = step()
		return more, err
	}
	began := c.Clock.Now()
	c.enter(1, false)
	did, more, err := step()
	rest := c.enter(-1, did).rest(c.Clock.Now().Sub(began))
	if err == nil && more {
		c.sleep(ctx, rest)
	}
	return more, err
}

// enter counts steps under way, and returns the level.
func (c *Controller) enter(steps int, did bool) Level {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active += steps
	if did {
		c.worked, c.did = true, c.Clock.Now()
	}
	return c.level()
}

// Batch rests after a batch on a backend for as long as the backend's load requires
// beyond the rest that follows a step.
func (c *Controller) Batch(ctx context.Context, backend string, do func() error) error {
	if c == nil {
		return do()
	}
	began := c.Clock.Now()
	if err := do(); err != nil {
		return err
	}
	c.mu.Lock()
	beyond := c.loadOf(backend) - c.level()
	c.mu.Unlock()
	c.sleep(ctx, beyond.rest(c.Clock.Now().Sub(began)))
	return nil
}

// sleep waits for d or the end of ctx, which its caller checks.
func (c *Controller) sleep(ctx context.Context, d time.Duration) {
	if d > 0 {
		_ = c.wait(ctx, d)
	}
}

func (c *Controller) wait(ctx context.Context, d time.Duration) error {
	if c.Sleep == nil {
		return lethe.Sleep(ctx, d)
	}
	return c.Sleep(ctx, d)
}

// Size is how much of a full batch to take now. 0 stays 0: no limit.
func (c *Controller) Size(full int) int {
	if c == nil {
		return full
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level().size(full)
}

// Deletes is how many blobs of a backend to delete in a batch now, of a full one, and
// how many batches may be under way. Only full batches are sent in parallel.
func (c *Controller) Deletes(backend string, full int) (size, parallel int) {
	if c == nil {
		return full, 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.Backends[backend]
	size = c.level().size(full)
	if b.Requests {
		size = max(size, full/2)
	}
	size = c.rates.size(backend, min(size, c.loadOf(backend).size(full)))
	if size < full {
		return size, 1
	}
	return size, max(b.Parallel, 1)
}

// level is the slowest level of all causes, and of a start beside clients.
func (c *Controller) level() Level {
	now := c.Clock.Now()
	busy := c.busy(now)
	c.reads.advance(now, busy, c.ClientLatency)
	c.writes.advance(now, busy, c.ClientLatency)
	slowed := Slowed{}
	for _, s := range []Slowed{
		{c.reads.level, "client latency", Reads}, {c.writes.level, "client latency", Writes},
		{c.peers.Level, "client latency elsewhere", ""}, {c.loadOf(Database), "database load", ""},
	} {
		if s.Level > slowed.Level {
			slowed = s
		}
	}
	if slowed != c.told {
		c.told = slowed
		if c.Changed != nil {
			c.Changed(slowed)
		}
	}
	return max(slowed.Level, c.reads.pace(), c.writes.pace())
}

// Slowed returns by how much reclaiming is slowed now.
func (c *Controller) Slowed() Slowed {
	if c == nil {
		return Slowed{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.level()
	return c.told
}

// LoadLevel is the level for the load of a backend.
func (c *Controller) LoadLevel(backend string) Level {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loadOf(backend)
}

// Self returns what other instances should know of this one, except Reclaims.
func (c *Controller) Self() (p Peer) {
	if c == nil {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.level()
	p = Peer{Level: max(c.reads.level, c.writes.level), Reclaiming: c.worked || c.active > 0}
	c.worked = false
	return p
}

// SetPeers sets the last reports of the other instances. The rates are divided by
// this instance and those of them that reclaim.
func (c *Controller) SetPeers(list []Peer) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = Peer{}
	instances := 1
	for _, p := range list {
		if c.ClientLatency > 0 {
			c.peers.Level = max(c.peers.Level, min(p.Level, Slowest))
			c.peers.Reclaiming = c.peers.Reclaiming || p.Reclaiming
		}
		if p.Reclaims {
			instances++
		}
	}
	c.rates.divide(c.Clock.Now().Time(), instances)
	c.level()
}
