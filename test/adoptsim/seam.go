package adoptsim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// Fault is what a step meets.
type Fault string

// The faults. Not every one applies to every step.
const (
	none        Fault = ""
	notDone     Fault = "not-done"     // no effect, certain error
	undone      Fault = "unknown-not"  // no effect, the caller cannot tell
	doneError   Fault = "unknown-done" // the effect, the caller cannot tell
	late        Fault = "late"         // the caller is told unknown, the effect lands later
	lateDone    Fault = "late-done"    // the effect lands later, and a request after it succeeds at once
	lateCrash   Fault = "late-crash"   // the caller dies, the effect lands later
	lastMoment  Fault = "last-moment"  // so too, sent as late as a worker may, and as late as it may
	slow        Fault = "slow"         // the effect lands later, and the caller waits for it
	partial     Fault = "partial"      // part of it, the rest fails
	short       Fault = "short"        // all of it or less, the answer leaves keys out
	crashBefore Fault = "crash-before"
	crashAfter  Fault = "crash-after"
	stall       Fault = "stall" // the actor stands still before it, for longer than some grace
	stallAfter  Fault = "stall-after"
)

var (
	txFaults     = []Fault{notDone, undone, doneError, late, crashBefore, crashAfter, stall, stallAfter}
	readFaults   = []Fault{notDone, crashBefore, stall}
	deleteFaults = []Fault{notDone, undone, doneError, late, lateDone, lateCrash, lastMoment, lastMoment, slow, partial, short, short, crashBefore, crashAfter, stall, stall}
	dropFaults   = []Fault{notDone, undone, doneError, partial, crashBefore, crashAfter, stall}
	putFaults    = []Fault{notDone, undone, doneError, late, crashBefore, crashAfter}
)

// focus is what fails most in a world, so that many worlds have what it takes several
// such faults for, one after the other.
type focus struct {
	steps  string // with spaces around each
	faults []Fault
	rate   uint64   // in 1,000
	latest bool     // deletes that take effect later do so as late as they may
	tended []string // routines that a worker of their own runs all the time
}

// commitWithin is how long after it was sent a transaction may commit.
const commitWithin = time.Minute

// without leaves faults out.
func without(faults []Fault, not ...Fault) []Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return slices.Contains(not, f) })
}

// mix is splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// arrive parks the actor before a step and returns the fault that it meets once it
// goes on.
func (w *world) arrive(step, detail string, faults []Fault) Fault {
	a := w.cur
	if a == nil {
		w.note("%s %s", step, detail)
		return none
	}
	a.wait()
	a.effects++
	w.counts["steps"]++
	h := mix(mix(mix(w.cfg.Seed)^uint64(a.index)<<32^uint64(a.life)) ^ uint64(a.effects))
	fault := none
	rate := w.kind.faults * weight(a, step)
	if strings.Contains(w.kind.focus.steps, " "+step+" ") && (w.kind.focus.steps != behind || a.moment != nil) {
		rate, faults = w.kind.focus.rate, w.kind.focus.faults
	}
	if h%1000 < rate && !w.quiet {
		fault = faults[(h>>32)%uint64(len(faults))]
		w.counts[step+"/"+string(fault)]++
	}
	if a.tardy && slices.Contains(faults, lastMoment) {
		fault, a.tardy = lastMoment, false
	}
	w.note("%s %s %s %s", a.name, step, detail, fault)
	switch fault {
	case crashBefore:
		a.dies()
	case stall:
		w.site.nap(a)
		if h>>60%2 == 0 {
			return none
		}
		rest := without(faults, stall, crashBefore)
		return rest[(h>>40)%uint64(len(rest))]
	}
	return fault
}

// weight makes the steps of the protocol fail more often than the application's.
func weight(a *actor, step string) uint64 {
	switch {
	case step == "unlink":
		return 6
	case step == "settle" || step == "mark":
		return 4
	case step == "copy" || step == "copy-back" || step == "moved":
		return 11
	case strings.HasPrefix(a.name, "worker") && strings.Contains(" condemn marked forget proceed purged gone see end ", " "+step+" "):
		return 8
	case strings.HasPrefix(a.name, "worker"):
		return 2
	}
	return 1
}

// nap is how long an actor stands still: about the late window, or beyond all that
// protects the name, or beyond the watchdog.
func (w *world) nap(a *actor) {
	g := w.grace
	long := a.between(g.Late, 3*g.Late+2*g.LongestWrite)
	switch a.rng.IntN(5) {
	case 0:
		long = a.between(g.Late/4, g.Late/3)
	case 1:
		long = a.between(g.Late/3, g.Late)
	case 2:
		long = a.between(g.Watchdog, g.Watchdog+g.Watchdog/2)
	}
	switch {
	case a.moment != nil && w.kind.focus.steps == behind:
		long = g.Landed()
	case a.moment != nil:
		long = 2*g.Watchdog + 3*g.Late
	}
	a.sleepUntil(a.moment, long)
	w.note("%s wakes", a.name)
}

// overstays lets a worker learn so late that its marks stand that they do not any more
// when what it sends takes effect, sent as late as it may.
func (a *actor) overstays() {
	g := a.w.grace
	a.sleep(a.between(2*g.Late/3+g.LongestWrite, 2*g.Late+g.LongestWrite))
	a.tardy = true
	a.w.note("%s learns late of its marks", a.name)
}

// write is a transaction.
func write[T any](w *world, step, detail string, fn func() (T, error)) (out T, err error) {
	fault := w.arrive(step, detail, txFaults)
	a := w.cur
	switch fault {
	case notDone:
		return out, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnavailable)
	case undone:
		return out, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnknownOutcome)
	case late:
		w.later(step, nil, commitWithin, func() {
			_, _ = fn() // nobody is told
			w.check(step)
		})
		return out, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnknownOutcome)
	}
	result, err := fn()
	w.check(step)
	switch {
	case fault == crashAfter:
		a.dies()
	case fault == stallAfter && (step == "mark" || step == "settle") && a.one(2):
		a.overstays()
	case fault == stallAfter:
		w.site.nap(a)
	case fault == doneError && err == nil:
		return out, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnknownOutcome)
	}
	return result, err
}

// read is a transaction that changes nothing.
func read[T any](w *world, step, detail string, fn func() (T, error)) (out T, err error) {
	if w.arrive(step, detail, readFaults) == notDone {
		return out, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnavailable)
	}
	return fn()
}

// tables are the database as workers see it.
type tables struct {
	w  *world
	db *memadopt.DB
}

func (t tables) Claim(ctx context.Context, limit int) (adopt.Claim, error) {
	return write(t.w, "claim", "", func() (adopt.Claim, error) {
		c, err := t.db.Claim(ctx, limit)
		t.w.oracle.claimed(c)
		return c, err
	})
}

func (t tables) Settle(ctx context.Context, c adopt.Claim, again time.Duration) (adopt.Settled, error) {
	if a := t.w.cur; a != nil && a.one(2) {
		a.moment = func() bool { return t.w.claimedAgain(c) }
		defer func() { a.moment = nil }()
	}
	return write(t.w, "settle", rowsOf(c), func() (adopt.Settled, error) {
		t.w.oracle.settles()
		s, err := t.db.Settle(ctx, c, again)
		t.w.oracle.settled(c)
		return s, err
	})
}

func (t tables) End(ctx context.Context, c adopt.Claim, r adopt.EndRequest) (s adopt.Settled, m adopt.Marked, err error) {
	if a := t.w.cur; a != nil && a.one(2) {
		a.moment = func() bool { return t.w.claimedAgain(c) }
		defer func() { a.moment = nil }()
	}
	m, err = write(t.w, "settle", rowsOf(c), func() (m adopt.Marked, err error) {
		t.w.oracle.settles()
		s, m, err = t.db.End(ctx, c, r)
		t.w.oracle.settled(c)
		t.w.fail(t.w.oracle.marked(m))
		return m, err
	})
	if err != nil {
		return adopt.Settled{}, adopt.Marked{}, err
	}
	return s, m, nil
}

func (t tables) Take(ctx context.Context, limit int, again time.Duration) (adopt.Settled, error) {
	return write(t.w, "take", "", func() (adopt.Settled, error) { return t.db.Take(ctx, limit, again) })
}

// claimedAgain reports whether a row of a claim is another's by now.
func (w *world) claimedAgain(c adopt.Claim) bool {
	for _, r := range w.db.Rows() {
		if r.Status == memadopt.Claimed && w.oracle.claimedAt[r.Key] != c.At && slices.ContainsFunc(c.Rows, func(mine adopt.Row) bool { return mine.Key == r.Key }) {
			return true
		}
	}
	return false
}

func rowsOf(c adopt.Claim) string {
	var keys []string
	for _, r := range c.Rows {
		keys = append(keys, r.Key)
	}
	return strings.Join(keys, " ")
}

func (t tables) Release(ctx context.Context, c adopt.Claim) (int, error) {
	return write(t.w, "release", rowsOf(c), func() (int, error) { return t.db.Release(ctx, c) })
}

func (t tables) AddHold(ctx context.Context, h adopt.Hold) (adopt.Hold, adopt.UnderWay, error) {
	_, err := write(t.w, "hold", h.Key, func() (none struct{}, err error) {
		h, _, err = t.db.AddHold(ctx, h)
		return none, err
	})
	return h, adopt.UnderWay{}, err
}

func (t tables) Recover(ctx context.Context, age time.Duration, limit int) (int, error) {
	return write(t.w, "recover", "", func() (int, error) { return t.db.Recover(ctx, age, limit) })
}

func (t tables) Due(ctx context.Context) (adopt.Backlog, error) { return t.db.Due(ctx) }

func (t tables) Find(ctx context.Context, after string, limit int, grace time.Duration) (found int, next string, err error) {
	found, err = write(t.w, "find", after, func() (n int, err error) {
		n, next, err = t.db.Find(ctx, after, limit, grace)
		return n, err
	})
	if err != nil {
		next = ""
	}
	return found, next, err
}

func (t tables) Mark(ctx context.Context, r adopt.MarkRequest) (adopt.Marked, error) {
	return write(t.w, "mark", "", func() (adopt.Marked, error) {
		m, err := t.db.Mark(ctx, r)
		t.w.fail(t.w.oracle.marked(m))
		return m, err
	})
}

func (t tables) Confirm(ctx context.Context, fence int64, outcomes []adopt.Outcome, g adopt.Grace) (adopt.Confirmed, error) {
	defer t.w.until(slices.ContainsFunc(outcomes, func(o adopt.Outcome) bool { return o.Failed == "" }), func() bool {
		return slices.ContainsFunc(outcomes, t.w.comesBack)
	})()
	return write(t.w, "confirm", fmt.Sprint(fence, outcomes), func() (adopt.Confirmed, error) {
		before := t.db.Marks()
		out, err := t.db.Confirm(ctx, fence, outcomes, g)
		t.w.fail(t.w.oracle.confirmed(fence, before))
		return out, err
	})
}

func (t tables) Unmark(ctx context.Context, limit int) (int, error) {
	return write(t.w, "unmark", "", func() (int, error) { return t.db.Unmark(ctx, limit) })
}

func (t tables) Waiting(ctx context.Context) (adopt.Backlog, error) { return t.db.Waiting(ctx) }

func (t tables) DropAgain(ctx context.Context, limit int) ([]adopt.Again, error) {
	return read(t.w, "drop-again", "", func() ([]adopt.Again, error) { return t.db.DropAgain(ctx, limit) })
}

func (t tables) Dropped(ctx context.Context, ids []int64) error {
	_, err := write(t.w, "dropped", fmt.Sprint(ids), func() (struct{}, error) { return struct{}{}, t.db.Dropped(ctx, ids) })
	return err
}

// bucket is the bucket as workers see it, by whole keys or below the prefix. A delete that was sent
// takes effect within Late, or never.
type bucket struct {
	w *world
	// within is how long after it was looked a delete is still sent, about.
	within time.Duration
	// send is told that a delete is being sent; what it returns takes effect.
	send func(keys []string) (lose func(keys []string))
}

const prefix = "content/"

func (b bucket) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	fault := b.w.arrive("unlink", strings.Join(keys, " "), deleteFaults)
	if a := b.w.cur; fault == lastMoment {
		a.onTime = true
		a.sleep(b.within - time.Second)
		a.onTime = false
	}
	if err := blob.Check(ctx); err != nil {
		return nil, fmt.Errorf("sim: unlink: %w: %w", err, blob.ErrNotDone)
	}
	unknown := fmt.Errorf("sim: unlink: %w", blob.ErrUnknown)
	switch fault {
	case notDone:
		return nil, fmt.Errorf("sim: unlink: %w: %w", blob.ErrDown, blob.ErrNotDone)
	case undone:
		return nil, unknown
	}
	lose := b.send(keys)
	switch fault {
	case late, lateCrash, lastMoment:
		b.landsLate(keys, fault == lastMoment, lose)
		if fault != late {
			b.w.cur.dies()
		}
		return nil, unknown
	case slow:
		a := b.w.cur
		a.onTime = true
		a.sleep(a.between(0, b.w.grace.Late-time.Second))
		a.onTime = false
	case partial:
		half := keys[:len(keys)/2]
		lose(half)
		return b.answer(keys, len(half), len(keys), fmt.Errorf("sim: unlink: slow down: %w", blob.ErrNotDone)), nil
	case short:
		half := len(keys) / 2
		lose(keys[:half])
		b.landsLate(keys[half:], false, lose)
		return b.answer(keys, half, half, nil), nil
	}
	lose(keys)
	switch fault {
	case crashAfter:
		b.w.cur.dies()
	case doneError:
		return nil, unknown
	case lateDone:
		b.landsLate(keys, false, lose)
		return b.answer(keys, 0, len(keys), fmt.Errorf("sim: unlink: %w", blob.ErrLate)), nil
	}
	return b.answer(keys, len(keys), len(keys), nil), nil
}

// answer is that of the first keys: the first done of them are gone, err is the others'.
func (b bucket) answer(keys []string, done, told int, err error) (out []blob.Result) {
	for i, k := range keys[:told] {
		r := blob.Result{Key: k}
		if i >= done {
			r.Err = err
		}
		out = append(out, r)
	}
	return out
}

// landsLate is a delete that takes effect when nobody waits for it any more, or as late
// as one may.
func (b bucket) landsLate(keys []string, last bool, lose func([]string)) {
	var contents []string
	for _, k := range keys {
		contents = append(contents, strings.TrimPrefix(k, prefix))
	}
	if last || b.w.kind.focus.latest {
		b.w.lands(landing{"unlink", contents, b.w.now.Add(b.w.grace.Late - time.Millisecond), func() { lose(keys) }})
		return
	}
	b.w.later("unlink", contents, b.w.grace.Late, func() { lose(keys) })
}

// objects is the bucket of contents.
func (w *world) objects() bucket {
	return bucket{w, w.grace.Late / 3, func([]string) func([]string) { return w.loses }}
}

func (w *world) loses(keys []string) {
	for _, k := range keys {
		w.objs.Lose(prefix + strings.TrimPrefix(k, prefix))
	}
	w.check("unlink")
}

// copies are the cache as workers see it.
type copies struct{ w *world }

func (c copies) Drop(_ context.Context, keys []string) error {
	switch fault := c.w.arrive("drop", strings.Join(keys, " "), dropFaults); fault {
	case notDone, undone:
		return fmt.Errorf("sim: drop: %w", lethe.ErrUnavailable)
	case partial:
		c.drop(keys[:len(keys)/2])
		return fmt.Errorf("sim: drop: %w", lethe.ErrUnavailable)
	case doneError:
		c.drop(keys)
		return fmt.Errorf("sim: drop: %w", lethe.ErrUnavailable)
	case crashAfter:
		c.drop(keys)
		c.w.cur.dies()
	}
	c.drop(keys)
	return nil
}

func (c copies) drop(keys []string) {
	for _, k := range keys {
		delete(c.w.cache, k)
		c.w.oracle.dropped[k] = c.w.now
	}
}
