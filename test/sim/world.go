package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// Config is all that a run depends on.
type Config struct {
	Seed    uint64
	Clients int // default 3 or 4, by the seed
	Workers int // default 2 or 3
	Ops     int // operations per client; default 8 to 17
	// Rate is how many of 1,000 effects meet a fault; default 10 to 60.
	Rate uint64
	// NoOp leaves out operations by their number; Shrink sets it.
	NoOp map[int]bool
	// pinned are the faults that are met, in place of those that the seed draws;
	// order is another order of the actors. Shrink sets them.
	pinned map[spot]met
	order  uint64
	// NewLedger makes the ledger; nil: NewMemory.
	NewLedger func(ledger.Options) (Ledger, error)
	// Plans has plans made and applied beside the routines.
	Plans bool
	// Predict has the quiet end begin with a prediction that is compared with what goes.
	Predict bool
	// Inline has the instances keep small contents in the ledger, each up to a size of its own.
	Inline bool
	// Keep keeps the trace as text.
	Keep bool
}

// Result is what a run was and found.
type Result struct {
	Config Config
	Err    error  // the first violation, nil if there is none
	Hash   string // of the trace
	// Violation names what is broken, without the ids, numbers and times in Err: it
	// is the same in every run in which the same is. Empty if nothing is.
	Violation string
	Effects   int
	Ops       int
	Faults    []Cell // that acted: an answer is lost only of what was done
	Trace     []string
	Taken     int // orphans, by one of two ledgers
	Reached
	met      []met
	lingered int
}

// Reached is what came about in a run, of what a run is there for.
type Reached struct {
	Clients   int // that did something
	Workers   int // that ran a step of a routine
	Writers   int // bodies that were sent slowly
	Readers   int // bodies that were read slowly
	Overtaken int // settles that came when their claim had been taken over
	Overslept int // blobs that landed when their intent had gone
}

// safety is the engine's grace periods in a simulated world: the defaults, so
// that what is simulated is what is shipped, but for fewer attempts, so that
// there are dead letters.
var safety = reclaim.Safety{Attempts: 3}.WithDefaults()

// World is one run.
type World struct {
	cfg      Config
	rng      *rand.Rand // the schedule
	ids      *rand.ChaCha8
	now      lethe.Time
	begin    lethe.Time
	ledger   Ledger
	store    lethe.ID
	identity ledger.Store
	disks    map[string]*memblob.Store
	procs    []*process
	cur      *actor
	late     []*landing
	landing  bool // a transaction lands late
	// instances counts those that keep contents in the ledger, by a size of their own.
	instances uint64
	inside    Step // the transaction that is open
	oracle    *oracle
	script    []*script // of each client
	quiet     bool      // faults have stopped

	draining  string // the backend that is being drained in the quiet end
	undrained bool   // one was, and is no more
	destroyed bool   // a backend lost its bytes
	forked    bool   // two ledgers are alive: graces are short there
	orphans   map[lethe.ID]*planted
	sleepers  map[lethe.ID]*sleeper // by what they sent
	prey      string                // the backend that the operator is about to lose
	foreign   []string
	dwelling  lethe.ID // the content in the middle of which a reader stands still

	inbox  inbox         // of events
	limits ledger.Limits // that processes are started with
	doubts doubts
	turn   int // counts how often an actor went on

	trace   hash.Hash
	lines   []string
	line    []byte
	effects int
	faults  []Cell
	met     []met
	reached Reached
	active  uint64 // a bit for each actor that came to an effect
	// lingered counts the operations beyond scripts.
	lingered int
	err      error
}

// Now makes the World the clock of everything in it.
func (w *World) Now() lethe.Time { return w.now }

// Run runs one schedule to its quiet end.
func Run(cfg Config) Result {
	w := newWorld(cfg)
	if w.err == nil {
		w.play()
	}
	if w.err == nil {
		w.unpanicked("the quiet end", w.end)
	}
	for _, p := range w.procs {
		p.die()
		p.bury()
	}
	w.close()
	return Result{
		Config: w.cfg, Err: w.err, Violation: violation(w.err), Hash: hex.EncodeToString(w.trace.Sum(nil)[:16]),
		Effects: w.effects, Ops: w.oracle.ops, Faults: w.faults, Trace: w.lines, Reached: w.reached, met: w.met, lingered: w.lingered,
	}
}

func newWorld(cfg Config) *World {
	s := cfg.Seed
	setDefault(&cfg.Clients, 3+int(hash2(s, 1)%2))
	setDefault(&cfg.Workers, 2+int(hash2(s, 2)%2))
	setDefault(&cfg.Ops, 8+int(hash2(s, 3)%10))
	if cfg.Rate == 0 {
		cfg.Rate = 10 + hash2(s, 4)%50
	}
	w := emptyWorld(cfg)
	for _, id := range w.backends() {
		w.disks[id] = memblob.New(memblob.Options{Clock: apart{w, id}})
	}
	w.err = w.found()
	return w
}

// emptyWorld is one in which nothing is yet.
func emptyWorld(cfg Config) *World {
	w := &World{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 5+cfg.order<<8)),
		now:   lethe.FromTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)),
		disks: map[string]*memblob.Store{}, sleepers: map[lethe.ID]*sleeper{}, trace: sha256.New(), doubts: newDoubts(),
	}
	w.begin, w.inbox = w.now, newInbox(w)
	w.ids = w.source("nodes")
	return w
}

// source is a stream of random bits for ids.
func (w *World) source(of string) *rand.ChaCha8 {
	var key [32]byte
	copy(key[:], fmt.Sprintf("%s %016x", of, w.cfg.Seed))
	return rand.NewChaCha8(key)
}

func hash2(seed, what uint64) uint64 { return mix(mix(seed) ^ what) }

func setDefault(n *int, v int) {
	if *n == 0 {
		*n = v
	}
}

// play lets the actors run, one effect at a time, until the clients are done.
func (w *World) play() {
	for w.err == nil {
		w.land(false)
		a := w.next()
		if a == nil {
			return
		}
		w.run(a)
		w.restart()
		w.tick()
	}
}

// run lets one actor go on to its next effect.
func (w *World) run(a *actor) {
	w.cur = a
	w.turn++
	_, alive := a.step()
	w.cur = nil
	if !alive {
		a.done = true
	}
	if a.failure != nil {
		w.fail(a.failure)
	}
}

// next picks the actor that goes on: any that is awake. If all sleep, the clock
// moves to the first that wakes. It returns nil when every client is done, and two
// workers have done something.
func (w *World) next() *actor {
	var awake []*actor
	var first *actor
	clients := false
	for _, p := range w.procs {
		for _, a := range p.actors {
			if a.done {
				continue
			}
			clients = clients || a.op != nil || a.index < w.cfg.Clients
			if a.asleep <= w.now {
				awake = append(awake, a)
			}
			if first == nil || a.asleep < first.asleep {
				first = a
			}
		}
	}
	switch {
	case !clients && w.reached.Workers >= min(2, w.cfg.Workers):
		return nil
	case len(awake) == 0:
		w.advance(first.asleep)
		return first
	}
	return awake[w.rng.IntN(len(awake))]
}

// restart brings crashed processes back: buried, with new memory.
func (w *World) restart() {
	for _, p := range w.procs {
		if p.crashed {
			w.note("restart process %d", p.index)
			p.bury()
			p.boot()
		}
	}
}

// tick moves the clock: mostly a little, now and then beyond a grace.
func (w *World) tick() {
	switch n := w.rng.IntN(1000); {
	case n < 8 && w.mood() == lasting:
		w.advance(w.now.Add(time.Duration(1+w.rng.IntN(50)) * time.Hour))
	case n < 2:
		w.advance(w.now.Add(time.Duration(1+w.rng.IntN(30)) * time.Hour))
	case n < 8:
		w.advance(w.now.Add(time.Duration(5+w.rng.IntN(90)) * time.Minute))
	case n < 40:
		w.advance(w.now.Add(time.Duration(10+w.rng.IntN(120)) * time.Second))
	default:
		w.advance(w.now.Add(time.Duration(1+w.rng.IntN(40)) * time.Millisecond))
	}
}

// advance sets the clock; late effects land before their last instant.
func (w *World) advance(to lethe.Time) {
	if to = w.caughtUp(to); to <= w.now {
		return
	}
	for _, l := range w.late {
		if l.until <= to {
			w.now = max(w.now, l.until)
			l.due = true
		}
	}
	w.land(true)
	w.now = max(w.now, to)
}

// fail records the first violation.
func (w *World) fail(err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("seed %d, effect %d, %s after the start: %w", w.cfg.Seed, w.effects, w.now.Sub(w.begin), err)
		w.note("VIOLATION %v", err)
	}
}

// note writes a line of the trace.
func (w *World) note(format string, args ...any) {
	w.line = append(fmt.Appendf(w.line[:0], format, args...), '\n')
	w.trace.Write(w.line)
	if w.cfg.Keep {
		w.lines = append(w.lines, fmt.Sprintf("%12s %s", w.now.Sub(w.begin), w.line[:len(w.line)-1]))
	}
}

// say adds an error's text to the trace that is kept, not to its hash.
func (w *World) say(err error) {
	if w.cfg.Keep && err != nil {
		w.lines = append(w.lines, fmt.Sprintf("%12s   because %v", "", err))
	}
}

// decide says which fault the effect meets that an actor has reached, by a hash
// of the seed and the effect's place in the actor's life, so that leaving one
// fault out does not change the others.
func (w *World) decide(a *actor, step Step, detail string) Fault {
	w.effects++
	fault, h := w.meets(a, step)
	w.note("%s %s %s %s", a.name, step, detail, fault)
	w.acts(a)
	if fault != None {
		w.met = append(w.met, met{a.spot(), fault, h})
	}
	switch fault {
	case Zombie:
		a.asleep = w.now.Add(w.nap(h))
		if !a.park(effect{step, "asleep"}) {
			panic(errCrash)
		}
		w.note("%s %s %s wakes", a.name, step, detail)
		w.acted(step, fault)
	case CrashBefore:
		w.acted(step, fault)
		a.proc.die()
		panic(errCrash)
	}
	return fault
}

// nap is how long a zombie sleeps: longer than any grace, or, where heartbeats are what
// counts, a few of them.
func (w *World) nap(h uint64) time.Duration {
	if w.forked {
		return time.Duration(10+h>>40%230) * time.Second
	}
	return safety.LateWindow + time.Duration(h>>40%180)*time.Minute
}

// acted counts a fault once it has done what it is: one that an effect met that was
// refused anyway counts for nothing.
func (w *World) acted(step Step, f Fault) { w.faults = append(w.faults, Cell{step, f}) }

// acts counts the clients and workers that come to an effect.
func (w *World) acts(a *actor) {
	bit := uint64(1) << a.index
	switch {
	case w.active&bit != 0:
	case a.index < w.cfg.Clients:
		w.reached.Clients++
	case a.index < w.cfg.Clients+w.cfg.Workers:
		w.reached.Workers++
	}
	w.active |= bit
}

// meets draws the fault, or looks for one that is pinned here, with the bits that
// decide the rest.
func (w *World) meets(a *actor, step Step) (Fault, uint64) {
	choices := table[step]
	if w.cfg.pinned != nil {
		if m, ok := w.cfg.pinned[a.spot()]; ok && slices.Contains(choices, m.fault) && !w.quiet {
			return m.fault, m.bits
		}
		return None, 0
	}
	h := draw(w.cfg.Seed, uint64(a.index), uint64(a.proc.life), uint64(a.effects))
	if !w.quiet && len(choices) > 0 && !w.calm(a) && (h%1000 < w.rate(step) || w.spared()) {
		return choices[(h>>32)%uint64(len(choices))], h
	}
	return None, h
}

// spared says that a world has met no fault in so many effects that it may come to
// its end without one.
func (w *World) spared() bool { return len(w.met) == 0 && w.effects > 50 }

// mood is what is worse in a world than in others.
type mood uint64

// In one world of four the backends refuse most deletes, so that there are dead
// letters; in another, uploads and their ends go wrong and clients fight over a
// key, so that the reaper has work; in a third, days pass, so that rules have.
const (
	stubborn mood = iota
	dropping
	lasting
	moods = 4
)

func (w *World) mood() mood { return mood(hash2(w.cfg.Seed, 6) % moods) }

// rate is how many of 1,000 effects of a step meet a fault.
func (w *World) rate(step Step) uint64 {
	switch w.mood() {
	case stubborn:
		if step == "unlink" {
			return 600
		}
	case dropping:
		if step == "put" || step == "abandon" {
			return 350
		}
	}
	most := uint64(700)
	if step == "promote" { // the rarest of all
		most = 900
	}
	return min(w.cfg.Rate*max(rare[step], 1), most)
}

// landing is an effect that its caller has given up on and that still happens.
type landing struct {
	what  string
	from  lethe.Time // not before
	until lethe.Time // it lands by then
	due   bool
	apply func()

	commit Step   // a transaction
	locks  []lock // that it holds meanwhile
	stuck  bool   // for longer than anybody waits for them
}

// later notes an effect that lands within the window: half of them soon, the
// others at any time of it.
func (w *World) later(what string, window time.Duration, apply func()) {
	l := &landing{what: what, until: w.now.Add(window), apply: apply}
	if w.rng.IntN(2) == 0 {
		l.from = w.now.Add(time.Duration(w.rng.Int64N(int64(window))))
	}
	w.late = append(w.late, l)
}

// land lets late effects happen: those whose last instant has come, and others
// as the schedule wants.
func (w *World) land(force bool) {
	rest := w.late[:0:0]
	for _, l := range w.late {
		if !l.due && (force || w.now < l.from || w.rng.IntN(40) != 0) {
			rest = append(rest, l)
			continue
		}
		w.note("lands late: %s", l.what)
		l.apply()
	}
	w.late = rest
}
