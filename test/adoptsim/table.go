package adoptsim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
)

// namedRows are rows of the application that name something each, and their holds.
type namedRows interface {
	adopt.Holder
	Insert(name string)
	Remove(name string)
}

// times are those of the rules of a site.
type times struct{ minAge, retention, interval time.Duration }

// table is what sites have in common whose rows name something each, and of which one
// run goes on at a time.
type table struct {
	w       *world
	times   times
	db      *clock
	rows    namedRows
	objects *pile
	solo    *solo
	row     func(name string) string // what a row says that names it

	named     map[string]bool // what rows name, as the application's transactions left them
	hidden    lethe.Time      // since when most rows cannot be seen; 0: all can
	shown     int             // of them can
	elsewhere bool            // the others name keys that lie elsewhere
	last      int64           // how many rows there were at the last look that was noted,
	countedAt lethe.Time      // and when that was
	jumps     bool            // clocks are set forward
	keeper    *keeper
}

// populate lets rows be there that are never removed, and workers and applications run.
// object is the key of a name's object.
func (t *table) populate(object func(name string) string, routine func(*run) routine, ended func(*run) error, serve func(*actor)) {
	t.named = map[string]bool{}
	t.solo = &solo{w: t.w, db: t.db, runs: memledger.New(ledger.Options{Clock: t.db}), interval: t.times.interval, routine: routine, ended: ended}
	for i := range anchors {
		name := fmt.Sprintf("anchor%d", i)
		t.objects.put(object(name))
		t.rows.Insert(t.row(name))
		t.named[name] = true
	}
	for range 2 + t.w.rng.IntN(2) {
		t.w.enter("worker", t.solo.work)
	}
	for range 2 {
		t.w.enter("app", serve)
	}
}

// live returns what rows name, in order.
func (t *table) live() []string { return slices.Sorted(maps.Keys(t.named)) }

// visible reports whether a row is one of those that can be seen while others cannot.
func (t *table) visible(name string) bool { return slices.Index(t.live(), name) < t.shown }

// rowsSeen counts the rows that can be seen.
func (t *table) rowsSeen() int64 {
	if t.hidden == 0 {
		return int64(len(t.named))
	}
	return int64(min(t.shown, len(t.named)))
}

// counted notes how many rows a look has found.
func (t *table) counted(rows int64, at lethe.Time) {
	if at >= t.countedAt {
		t.last, t.countedAt = rows, at
	}
}

// use is an instance of the application, which does one thing after the other.
func (t *table) use(a *actor, ops []func(*actor)) {
	for range 12 + a.rng.IntN(12) {
		ops[a.rng.IntN(len(ops))](a)
		switch a.rng.IntN(3) {
		case 0:
			a.sleep(a.between(0, t.times.minAge))
		case 1:
			a.sleep(a.between(0, t.times.retention+3*t.times.interval))
		default:
			a.sleep(a.between(0, time.Minute))
		}
	}
}

// insert commits a row, by an instant; it calls done if there was none.
func (t *table) insert(name string, by lethe.Time, done func()) bool {
	_, err := write(t.w, "insert", name, func() (struct{}, error) {
		if t.hidden != 0 || t.w.now >= by {
			return struct{}{}, errGaveUp
		}
		if !t.named[name] {
			t.rows.Insert(t.row(name))
			t.named[name] = true
			done()
		}
		return struct{}{}, nil
	})
	return err == nil
}

// remove removes a row, and calls done.
func (t *table) remove(name string, done func()) {
	_, _ = write(t.w, "remove", name, func() (struct{}, error) {
		if t.hidden != 0 {
			return struct{}{}, errGaveUp
		}
		t.rows.Remove(t.row(name))
		delete(t.named, name)
		done()
		return struct{}{}, nil
	})
}

// vanish lets all rows but less than half of the last count vanish for a while, or name
// keys elsewhere.
func (t *table) vanish(a *actor, elsewhere bool) {
	if t.hidden != 0 || t.last == 0 || a.one(2) {
		return
	}
	t.hidden, t.shown, t.elsewhere = t.w.now, a.rng.IntN(int(t.last+1)/2), elsewhere
	for _, name := range t.live() {
		if t.visible(name) {
			continue
		}
		t.rows.Remove(t.row(name))
		if elsewhere {
			t.rows.Insert("/" + t.row(name))
		}
	}
	t.w.note("all rows but %d vanish", t.shown)
	lasts := a.between(0, t.times.interval)
	if a.one(4) {
		lasts = a.between(t.times.interval, 2*t.times.retention)
	}
	t.w.lands(landing{"rows", nil, t.w.now.Add(lasts), t.reappear})
}

func (t *table) reappear() {
	for _, name := range t.live() {
		if !t.visible(name) {
			t.rows.Remove("/" + t.row(name))
			t.rows.Insert(t.row(name))
		}
	}
	t.hidden = 0
}

// moment is when, and for what, the application can do most harm; empty: now it cannot.
type moment func() (name string, at lethe.Time)

// meet waits for one of some moments, and then lets the actor run before others. It
// returns nothing if the moment did not come.
func (t *table) meet(a *actor, of ...moment) string {
	next := of[a.rng.IntN(len(of))]
	a.ahead = true
	a.sleepUntil(func() bool { name, _ := next(); return name != "" }, 2*t.times.retention)
	name, at := next()
	a.sleepTo(at)
	return name
}

// landing returns a key whose object goes when a delete takes effect that was sent long
// ago.
func (t *table) landing() (key string, at lethe.Time) {
	for _, l := range t.w.late {
		if l.what == "unlink" {
			return l.keys[len(l.keys)-1], l.at
		}
	}
	return "", 0
}

// quiet lets all that is late land, and everything that has no row go in some runs.
func (t *table) quiet(runs int, before func()) {
	w := t.w
	w.quiet = true
	w.note("quiet")
	w.advance(w.now.Add(w.grace.Late + t.times.minAge + 3*t.times.retention)) // rows that vanished are back
	t.keeper.release()
	for range runs {
		before()
		t.solo.quietly()
		w.advance(w.now.Add(max(t.times.retention/2, t.times.interval)))
	}
}
