package adoptsim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// Site is what a world is of.
type Site string

// Sites.
const (
	Records     Site = "records"     // rows that are claimed
	Coarse      Site = "coarse"      // so too, and the watchdog is faster than the clock of claims
	Quarantined Site = "quarantined" // so too, without a guard: objects are moved away
	Numbered    Site = "numbered"    // so too, and contents have a number beside the key of their object
	Taken       Site = "taken"       // rows without columns for a claim
	Folders     Site = "folders"
	Keys        Site = "keys"
	Owned       Site = "owned"  // rows that own objects, or folders
	Paired      Site = "paired" // keys, and copies of their database beside one bucket
)

// Config is all that a run depends on.
type Config struct {
	Seed uint64
	Site Site // Records, if it is empty
	// Keep keeps the trace as text.
	Keep bool
}

// Result is what a run was and found.
type Result struct {
	Err   error  // the first thing that does not hold, nil if there is none
	Hash  string // of the trace
	Trace []string
	// Counts is how often what happened: steps, faults by step, and what the routines
	// counted.
	Counts map[string]int
}

// world is one run.
type world struct {
	cfg   Config
	rng   *rand.Rand // the schedule
	now   lethe.Time
	begin lethe.Time
	grace adopt.Grace
	kind  kind

	db     *memadopt.DB
	objs   *memblob.Store
	cache  map[string]entry
	actors []*actor
	cur    *actor
	late   []landing
	quiet  bool // faults have stopped
	oracle oracle
	keeper *keeper
	site   site

	trace  hash.Hash
	lines  []string
	counts map[string]int
	err    error
}

// site is what the actors of a world work at.
type site interface {
	// holds looks at everything after a step.
	holds(step string) error
	// nap lets an actor stand still, for about as long as something protects from it.
	nap(a *actor)
	// end lets all become quiet, and looks at what is left.
	end()
}

// kind is what a world is like.
type kind struct {
	leases    bool // the application fills its cache under leases
	keep      bool // rows that end are kept as deleted
	forgets   bool // the application removes contents without references itself
	miscounts bool // counts are wrong beforehand
	direct    bool // keys are whole at the bucket, and not below a prefix
	faults    uint64
	focus     focus
}

// Now makes the world the clock of everything in it.
func (w *world) Now() lethe.Time { return w.now }

// landing is an effect that its caller has given up on and that still happens.
type landing struct {
	what  string
	keys  []string // of the bucket, below the prefix
	at    lethe.Time
	apply func()
}

// Run runs one schedule to its quiet end.
func Run(cfg Config) Result {
	w := newWorld(cfg)
	switch cfg.Site {
	case Folders:
		w.site = newFolderSite(w)
	case Keys:
		w.site = newKeySite(w)
	case Owned:
		w.site = newOwnedSite(w)
	case Paired:
		w.site = newPairedSite(w)
	default:
		w.site = newRecordSite(w)
	}
	return w.play()
}

// play lets the actors run, and all become quiet.
func (w *world) play() Result {
	for w.err == nil && w.turn() {
	}
	for _, a := range w.actors {
		a.stop()
	}
	if w.err == nil {
		w.site.end()
	}
	return Result{Err: w.err, Hash: hex.EncodeToString(w.trace.Sum(nil)[:16]), Trace: w.lines, Counts: w.counts}
}

func newWorld(cfg Config) *world {
	w := &world{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 7)), begin: lethe.FromTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)),
		cache: map[string]entry{}, trace: sha256.New(), counts: map[string]int{},
	}
	w.now, w.objs = w.begin, memblob.New(memblob.Options{Clock: w})
	return w
}

// recordSite is an application whose rows expire.
type recordSite struct{ *world }

func (s recordSite) holds(step string) error { return s.oracle.holds(step) }

func (w *world) pick(of ...time.Duration) time.Duration { return of[w.rng.IntN(len(of))] }

func newRecordSite(w *world) recordSite {
	pick := w.pick
	w.grace = adopt.Grace{
		Watchdog: pick(20*time.Minute, adopt.DefaultGrace.Watchdog), Unreferenced: pick(0, time.Minute, adopt.DefaultGrace.Unreferenced),
		LongestWrite: pick(30*time.Second, 2*time.Minute, adopt.DefaultGrace.LongestWrite), Late: pick(3*time.Minute, adopt.DefaultGrace.Late),
		CacheAgain: adopt.DefaultGrace.CacheAgain,
	}
	w.kind = kind{
		leases: w.rng.IntN(2) == 0, keep: w.rng.IntN(4) == 0, forgets: w.rng.IntN(6) == 0,
		miscounts: w.rng.IntN(6) == 0, direct: w.rng.IntN(2) == 0, faults: 10 + w.rng.Uint64N(80),
	}
	if w.cfg.Site == Numbered {
		w.kind.forgets, w.kind.miscounts = false, false
	}
	w.narrow()
	var unit time.Duration
	if w.cfg.Site == Coarse {
		unit, w.grace.Watchdog = 3*time.Hour, 20*time.Minute
	}
	w.db = memadopt.New(memadopt.Options{
		Clock: w, Grace: w.grace, Unit: unit, Keep: w.kind.keep, Shared: true, Numbered: w.cfg.Site == Numbered, Quarantine: w.cfg.Site == Quarantined,
		Copies: func(r memadopt.Row) (keys []string) {
			if keys = []string{cacheKey(r.Key)}; r.Name != "" {
				keys = append(keys, nameKey(r.Name))
			}
			return keys
		},
	})
	w.oracle = newOracle(w)
	w.keeper = newKeeper(w, w.db, w, func() bool { return w.claimed() != "" }, chosen)
	for range 2 + w.rng.IntN(2) {
		w.enter("worker", func(a *actor) { work(a, w.routines()) })
	}
	for range 2 + w.rng.IntN(2) {
		w.enter("app", serve)
	}
	if w.cfg.Site == Quarantined {
		w.enter("tender", func(a *actor) { tend(a, "quarantine pastes") })
	}
	w.enter("racer", race)
	w.enter("reader", gaze)
	w.enter("owner", meddle)
	every := uint64(4)
	if w.cfg.Site == Quarantined {
		every = 3
	}
	if w.cfg.Seed%every == 0 {
		w.enter("holder", w.keeper.keep)
	}
	if w.cfg.Site != Quarantined && w.cfg.Seed%5 == 2 {
		w.enter("renamer", rename)
	}
	w.enterFocused()
	return recordSite{w}
}

// enterFocused enters the actors that a focus needs.
func (w *world) enterFocused() {
	switch w.kind.focus.steps {
	case " confirm ":
		w.enter("recaller", recall)
	case behind:
		w.enter("recaller", comeBack)
		w.enter("recaller", comeBack)
	}
	for _, name := range w.kind.focus.tended {
		w.enter("tender", func(a *actor) { tend(a, name) })
	}
}

// narrow lets some steps fail in one way in some worlds, and others seldom.
func (w *world) narrow() {
	switch w.cfg.Seed % 12 {
	case 1, 7:
		w.kind.focus = focus{steps: " unlink ", faults: []Fault{late, lateDone, lastMoment}, rate: 400, latest: true, tended: []string{"clean pastes"}}
		w.grace.Unreferenced, w.grace.Late, w.grace.LongestWrite = 0, 15*time.Minute, 2*time.Minute
	case 9:
		w.kind.focus = focus{steps: " mark settle ", faults: []Fault{stallAfter}, rate: 400, latest: true, tended: []string{"clean pastes"}}
		w.grace.Unreferenced, w.grace.Late, w.grace.LongestWrite = 0, 3*time.Minute, 30*time.Second
	case 3:
		if w.cfg.Site == Quarantined {
			w.kind.focus = focus{steps: behind, faults: []Fault{stall, stall, stall, none}, rate: 700, tended: []string{"clean pastes", "expire pastes"}}
			w.grace.Unreferenced, w.grace.Late, w.grace.LongestWrite = 0, 3*time.Minute, 30*time.Second
			break
		}
		w.kind.focus = focus{steps: " drop ", faults: []Fault{notDone, undone, partial}, rate: 300, tended: []string{"expire pastes", "recache pastes"}}
	case 5, 11:
		if w.cfg.Site != Quarantined {
			return
		}
		w.kind.focus = focus{steps: " confirm ", faults: []Fault{notDone, undone, late, crashBefore}, rate: 700}
		w.grace.Unreferenced, w.grace.Late, w.grace.LongestWrite = 0, 3*time.Minute, 30*time.Second
	default:
		return
	}
	w.kind.faults /= 4
}

func (w *world) enter(name string, body func(*actor)) {
	a := &actor{w: w, name: fmt.Sprintf("%s%d", name, len(w.actors)), index: len(w.actors), body: body}
	a.start()
	w.actors = append(w.actors, a)
}

// stop unwinds an actor.
func (a *actor) stop() {
	a.kill()
	if a.onDeath != nil {
		a.onDeath()
		a.onDeath = nil
	}
}

// turn lets one actor go on to its next step; it reports false once the application
// is done.
func (w *world) turn() bool {
	var awake []*actor
	var first, ahead *actor
	apps := false
	for _, a := range w.actors {
		if a.done {
			continue
		}
		apps = apps || isApp(a)
		if a.awake() {
			awake = append(awake, a)
			if a.ahead {
				ahead = a
			}
		}
		if first == nil || a.asleep < first.asleep {
			first = a
		}
	}
	if !apps {
		return false
	}
	if len(awake) == 0 {
		w.advance(first.asleep)
		return true
	}
	next := awake[w.rng.IntN(len(awake))]
	if ahead != nil {
		next = ahead
	}
	w.run(next)
	w.tick()
	return true
}

// isApp reports whether the world goes on for it.
func isApp(a *actor) bool { return strings.HasPrefix(a.name, "app") }

func (w *world) run(a *actor) {
	w.cur = a
	a.step()
	w.cur = nil
	if a.failure != nil {
		w.fail(a.failure)
	}
	if a.crashed && w.err == nil {
		w.note("%s starts again", a.name)
		a.stop()
		a.life++
		a.start()
	}
}

// tick moves the clock: mostly a little, now and then beyond a grace.
func (w *world) tick() {
	to := w.now.Add(w.span())
	for _, a := range w.actors {
		if a.onTime && !a.done {
			to = min(to, a.asleep)
		}
	}
	w.advance(to)
}

func (w *world) span() time.Duration {
	n := w.rng.IntN(1000)
	if w.kind.focus.steps != "" {
		n = max(n, 20) // what these worlds are for takes place within a minute
	}
	switch {
	case n < 3:
		return time.Duration(1+w.rng.IntN(180)) * time.Minute
	case n < 20:
		return time.Duration(1+w.rng.IntN(600)) * time.Second
	case n < 100:
		return time.Duration(1+w.rng.IntN(20)) * time.Second
	}
	return time.Duration(1+w.rng.IntN(60)) * time.Millisecond
}

// advance sets the clock; late effects land at their instants, and whoever waits for
// one may be woken by it.
func (w *world) advance(to lethe.Time) {
	for len(w.late) > 0 && w.late[0].at <= to {
		l := w.late[0]
		w.late = w.late[1:]
		w.now = max(w.now, l.at)
		w.land(l)
	}
	w.now = max(w.now, to)
}

func (w *world) land(l landing) {
	w.note("lands late: %s %v", l.what, l.keys)
	w.counts[l.what+" landed late"]++
	l.apply()
}

// landNow lets transactions that are on their way land before one that needs their locks.
func (w *world) landNow(what string) {
	for _, l := range slices.Clone(w.late) {
		if l.what == what {
			w.late = slices.DeleteFunc(w.late, func(x landing) bool { return x.what == what && x.at == l.at })
			w.land(l)
		}
	}
}

// later notes an effect that lands within the window: often soon, or right at its end.
func (w *world) later(what string, keys []string, window time.Duration, apply func()) {
	after := time.Duration(w.rng.Int64N(int64(window)))
	switch w.rng.IntN(4) {
	case 0:
		after = min(after, time.Duration(w.rng.IntN(3000))*time.Millisecond)
	case 1:
		after = window - time.Duration(1+w.rng.IntN(1000))*time.Millisecond
	}
	w.lands(landing{what, keys, w.now.Add(after), apply})
}

func (w *world) lands(l landing) {
	w.late = append(w.late, l)
	slices.SortStableFunc(w.late, func(a, b landing) int { return int(a.at - b.at) })
}

// fail records the first thing that does not hold.
func (w *world) fail(err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("seed %d, %s after the start: %w", w.cfg.Seed, w.now.Sub(w.begin), err)
		w.note("VIOLATION %v", err)
	}
}

// note writes a line of the trace.
func (w *world) note(format string, args ...any) {
	line := fmt.Appendf(nil, "%d "+format+"\n", append([]any{int64(w.now - w.begin)}, args...)...)
	w.trace.Write(line)
	if w.cfg.Keep {
		w.lines = append(w.lines, fmt.Sprintf("%12s %s", w.now.Sub(w.begin), fmt.Sprintf(format, args...)))
	}
}
