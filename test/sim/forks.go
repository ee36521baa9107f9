package sim

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// Forks: two ledgers that came from one are alive at once over the same backends (docs/protocol.md,
// rule 13). In the middle of a run a copy of the ledger, made just then or earlier, gets
// processes of its own, or the ledger is rolled back row for row under one process while
// the other goes on with what it was. Clients and the routines that destroy work on both,
// by the real guard, loop and gates; every call on a ledger or a backend is an effect and
// meets faults, as in all worlds. Disks are taken away meanwhile, others lie in their
// places, and a person may decide.

// beat is that of the guards.
var beat = safety.Beat

// forks is a world with a ledger that may become two.
type forks struct {
	*World
	rng   *rand.Rand // of what is done to it
	kind  forking
	sides []*side
	nodes []*forkNode
	early *memledger.DB // a copy made before
	away  map[string]*shelf
	// winner is whom a person has given the backends last, in the turn decided; nil: nobody
	// has decided, or is at it (undecided).
	winner    *side
	undecided bool
	decided   int
	asking    map[string]int // how many ask about a backend's epoch
	looks     map[*actor]*look
	gone      map[lethe.ID]bool  // blobs that were deleted rightly although another ledger lists them
	taken     map[lethe.ID]*side // orphans that a ledger took for blobs that it had lost
	tardy     func() bool        // the next delete takes effect late, and nothing else fails
}

// forking is how a ledger becomes two.
type forking int

const (
	alone      forking = iota // not at all: processes die, and others take over
	copiedNow                 // a copy is started
	copiedOnce                // a copy of some time ago is started
	rolledBack                // one process finds the ledger as it was some time ago
	forkings
)

// shelf is what lies in a backend's place while its disk is away.
type shelf struct {
	other *memblob.Store // nil: the disk is in its place
	since int            // the turn of the last change
}

// side is a ledger, and what the oracle knows of who works on it.
type side struct {
	name  string
	db    *memledger.DB
	life  string              // of its database server
	wrote map[string]forkSpan // by backend: from an epoch to the end of the call on the guard that wrote it
	beats map[string]forkSpan // by backend: the last heartbeat that ended well
	began int                 // the turn in which it became one of two; 0 for the first
}

// forkSpan is when something began and ended.
type forkSpan struct {
	from, to int // turns
	begun    lethe.Time
}

// forkNode is a process.
type forkNode struct {
	*process
	f       *forks
	side    *side
	pairing *pairing.Pairing // outlives its actors when the ledger is rolled back under it
	forkMemory
}

// forkEffects is about how many effects a world has before its end.
const forkEffects = 1500

// RunForks runs one schedule of forks to its end. Of the configuration it takes the seed,
// the rate of faults, and whether the trace is kept.
func RunForks(cfg Config) Result {
	f, err := newForks(cfg)
	if err == nil {
		f.unpanicked("the forks", f.play)
	}
	f.fail(err)
	for _, n := range f.nodes {
		n.die()
		n.bury()
	}
	return Result{
		Config: f.cfg, Err: f.err, Violation: violation(f.err), Hash: hex.EncodeToString(f.trace.Sum(nil)[:16]),
		Effects: f.effects, Faults: f.faults, Trace: f.lines,
	}
}

func newForks(cfg Config) (*forks, error) {
	if cfg.Rate == 0 {
		cfg.Rate = 10 + hash2(cfg.Seed, 4)%50
	}
	w := emptyWorld(cfg)
	w.forked = true
	f := &forks{
		World: w, rng: rand.New(rand.NewPCG(cfg.Seed, 9500)), kind: forking(hash2(cfg.Seed, 95) % uint64(forkings)),
		away: map[string]*shelf{}, gone: map[lethe.ID]bool{}, taken: map[lethe.ID]*side{}, looks: map[*actor]*look{}, asking: map[string]int{},
	}
	for _, id := range shelves {
		w.disks[id] = memblob.New(memblob.Options{Clock: w})
		f.away[id] = &shelf{}
	}
	w.oracle = newOracle(w)
	first := f.side("original", memledger.New(ledger.Options{
		Clock: w, Random: w.source("ledger"), MaxRefs: 4,
		ReadGrace: safety.ReadGrace, MovedGrace: safety.ReadGrace, LateWindow: safety.LateWindow, OpsKept: safety.OpsKept,
	}))
	ctx := context.Background()
	is, err := first.db.Identity(ctx)
	if err != nil {
		return f, err
	}
	w.store = is.ID
	for _, id := range shelves {
		if _, err := first.db.AddBackend(ctx, ledger.Backend{ID: id}); err != nil {
			return f, err
		}
	}
	if _, err := first.db.CreateBucket(ctx, ledger.Bucket{Name: "plain", Owner: "owner", Domain: "owner"}); err != nil {
		return f, err
	}
	for range processCount {
		f.start(first)
	}
	return f, nil
}

func (f *forks) side(name string, db *memledger.DB) *side {
	s := &side{name: name, db: db, life: name, wrote: map[string]forkSpan{}, beats: map[string]forkSpan{}, began: f.turn}
	f.sides = append(f.sides, s)
	return s
}

// start starts a process on a ledger.
func (f *forks) start(s *side) *forkNode {
	n := &forkNode{f: f, side: s, process: &process{w: f.World, index: len(f.nodes), life: -1}}
	f.nodes = append(f.nodes, n)
	f.procs = append(f.procs, n.process)
	n.start(true)
	return n
}

// start gives a process a new life; with new memory, unless only its connections broke.
func (n *forkNode) start(memory bool) {
	n.crashed = false
	n.life++
	if memory {
		n.pairing = nil
	}
	n.open()
	for i, body := range []func() func(*actor){n.heart, n.work, n.work, n.client} {
		n.spawn([]string{"heart", "worker", "worker", "client"}[i], 4*n.index+i, body())
	}
	if n.index == 0 && hash2(n.f.cfg.Seed, 96)%2 == 0 {
		n.spawn("person", 40, n.person())
	}
}

// play runs the world, and what comes after.
func (f *forks) play() {
	fork := 200 + f.rng.IntN(400)
	copy := f.rng.IntN(fork)
	for f.err == nil && f.effects < forkEffects {
		f.land(false)
		a := f.awake()
		f.run(a)
		f.revive()
		f.pass()
		if f.early == nil && f.effects >= copy {
			f.early = duplicate(f.sides[0].db)
		}
		if len(f.sides) == 1 && f.kind != alone && f.effects >= fork {
			f.fork()
		}
		f.meddle()
	}
	f.end()
}

// awake picks the actor that goes on.
func (f *forks) awake() *actor {
	var awake []*actor
	var first *actor
	for _, n := range f.nodes {
		for _, a := range n.actors {
			switch {
			case a.done:
				continue
			case a.asleep <= f.now:
				awake = append(awake, a)
			}
			if first == nil || a.asleep < first.asleep {
				first = a
			}
		}
	}
	if len(awake) == 0 {
		f.advance(first.asleep)
		return first
	}
	return pick(f.World.rng, awake)
}

func (f *forks) revive() {
	for _, n := range f.nodes {
		if n.crashed {
			f.note("restart process %d", n.index)
			n.bury()
			n.start(true)
		}
	}
}

// pass lets some time pass: heartbeats are a minute apart.
func (f *forks) pass() {
	d := time.Duration(1+f.World.rng.IntN(40)) * time.Millisecond
	switch n := f.World.rng.IntN(100); {
	case n < 4:
		d = time.Duration(5+f.World.rng.IntN(40)) * time.Second
	case n < 25:
		d = time.Duration(200+f.World.rng.IntN(4000)) * time.Millisecond
	}
	f.advance(f.now.Add(d))
}

// fork makes two ledgers of one, of which neither is held, and both know the backends.
func (f *forks) fork() {
	from := f.sides[0].db
	if f.kind != copiedNow {
		from = f.early
	}
	for _, b := range rows(from) {
		if b.Held != "" || b.Epoch == 0 {
			return
		}
	}
	s := f.side("copy", duplicate(from))
	f.note("the ledger becomes two (%d)", f.kind)
	for _, b := range s.blobs() {
		if _, there := f.disks[b.Backend].Bytes(lethe.BlobKey(f.store, b.ID)); !there {
			f.gone[b.ID] = true // before it began
		}
	}
	if f.kind != rolledBack {
		for range 1 + f.rng.IntN(2) {
			f.start(s)
		}
		return
	}
	n := f.nodes[f.rng.IntN(len(f.nodes))]
	n.die()
	n.bury()
	n.side = s
	n.start(false)
}

func rows(db *memledger.DB) []ledger.Backend {
	out, _ := db.Backends(context.Background()) // no error without a deadline
	return out
}

func (s *side) row(backend string) ledger.Backend {
	all := rows(s.db)
	return all[slices.IndexFunc(all, func(b ledger.Backend) bool { return b.ID == backend })]
}

// meddle takes disks away and puts them back, and kills all processes of a ledger.
func (f *forks) meddle() {
	switch n := f.rng.IntN(1500); {
	case n < 4 && !f.undecided:
		f.swap(pick(f.rng, shelves))
	case n < 7 && f.kind == alone:
		for _, node := range f.nodes {
			node.die()
		}
	}
}

// shelves are the backends.
var shelves = []string{"a", "b"}

func (f *forks) swap(id string) {
	s := f.away[id]
	// Nobody can tell yet whose disk it is; or one who was asked to advance the backend
	// writes what another has confirmed meanwhile to whatever lies in its place.
	if f.sides[0].row(id).Epoch == 0 || f.asking[id] > 1 {
		return
	}
	if s.other == nil {
		s.other = memblob.New(memblob.Options{Clock: f.World})
	} else {
		s.other = nil
	}
	s.since = f.turn
	f.note("the disk of backend %s is away: %v", id, s.other != nil)
}

// person decides, by now and then, whose the backends are.
func (n *forkNode) person() func(*actor) {
	return func(a *actor) {
		f := n.f
		for {
			a.pause(time.Duration(60+f.rng.IntN(15*60)) * time.Second)
			if len(f.sides) > 1 && f.away["a"].other == nil && f.away["b"].other == nil {
				f.decide(f.sides[f.rng.IntN(2)])
			}
		}
	}
}

// decide has a person give the backends to a ledger, by one of its processes, until that
// has been done.
func (f *forks) decide(s *side) {
	f.winner, f.undecided = nil, true
	for _, id := range shelves {
		for f.err == nil {
			err := f.of(s).pairing.Accept(context.Background(), id)
			f.note("a person gives %s to the %s: %s", id, s.name, class(err))
			f.say(err)
			if err == nil {
				break
			}
		}
	}
	f.winner, f.undecided, f.decided = s, false, f.turn
}

// of is a process that works on a ledger.
func (f *forks) of(s *side) *forkNode {
	return f.nodes[slices.IndexFunc(f.nodes, func(n *forkNode) bool { return n.side == s })]
}
