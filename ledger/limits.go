package ledger

import (
	"fmt"
	"math"
	"time"

	"github.com/lethe-storage/lethe"
)

// GuardKind is a kind of deletion that a limit counts, or the clock in doubt.
type GuardKind string

// The kinds of guards.
const (
	GuardRules   GuardKind = "rules"   // objects that only a lifecycle rule ends; by bucket
	GuardTTL     GuardKind = "ttl"     // objects whose own time to live has passed; by bucket
	GuardPurge   GuardKind = "purge"   // trash entries; the whole store
	GuardDeletes GuardKind = "deletes" // deletes claimed for a backend; by backend
	GuardClock   GuardKind = "clock"   // the clocks of ledger and backend differ; by backend
)

// Limit bounds the deletions of one kind from one subject within an hour of the ledger's
// clock. A zero field bounds nothing.
type Limit struct {
	// Share is the percentage of the subject's objects at the beginning of the hour that may
	// go. Floor is how many may go in any case, so that a small bucket may lose all. Ask is
	// how many may go at most. Beyond Share or Ask a person decides.
	Share int
	Floor int64
	Ask   int64
	// PerHour is how many may go before the hour ends.
	PerHour int64
}

// On reports whether the limit bounds anything.
func (l Limit) On() bool { return l.Share > 0 || l.Ask > 0 || l.PerHour > 0 }

// Limits are the limits on what Expire and Purge remove and, for EndStops, on claimed
// deletes.
type Limits struct{ Rules, TTL, Purge, Deletes Limit }

// Guard counts the deletions of one kind from one subject, and records whether its limit has
// tripped.
type Guard struct {
	Kind    GuardKind
	Subject string // id of a bucket or of a backend; empty: the store
	Name    string // of the bucket; filled in for readers only
	Hour    int64  // hours since 1970; N counts in this one
	N       int64
	// HeldAt is when the limit tripped, 0 if it has not. It resets by itself at HeldUntil,
	// if that is set.
	HeldAt, HeldUntil lethe.Time
	Reason            string
	// Until FreeUntil a person allows FreeN more, whatever the limits; any number if FreeN
	// is negative.
	FreeUntil lethe.Time
	FreeN     int64
}

// Held reports whether nothing of the kind may go now.
func (g Guard) Held(now lethe.Time) bool { return g.HeldAt != 0 && now < g.HeldUntil }

const hourMicros = int64(time.Hour / time.Microsecond)

// HourOf returns the hour of an instant, counted since 1970.
func HourOf(at lethe.Time) int64 { return int64(at) / hourMicros }

// hour returns the hour to count in. It never goes back: a transaction that waited for
// another one counts in the later hour of that one.
func (g Guard) hour(now lethe.Time) int64 { return max(g.Hour, HourOf(now)) }

// taken returns how many went within the hour.
func (g Guard) taken(now lethe.Time) int64 {
	if g.Hour != g.hour(now) {
		return 0
	}
	return g.N
}

// Left returns how many more may go now, of a subject that has so many.
func (g Guard) Left(now lethe.Time, l Limit, has int64) int64 {
	switch {
	case g.Held(now):
		return 0
	case now < g.FreeUntil && g.FreeN < 0:
		return math.MaxInt64
	case now < g.FreeUntil:
		return g.FreeN
	}
	left := g.asks(now, l, has)
	if l.PerHour > 0 {
		left = min(left, l.PerHour-g.taken(now))
	}
	return max(left, 0)
}

// Take returns how many of want may go. That is none if a person must be asked before they
// all do, else at most what the hour or an allowance has left. Removal and forecast both
// decide by it.
func (g Guard) Take(now lethe.Time, l Limit, has, want int64) int64 {
	if now >= g.FreeUntil && want > g.asks(now, l, has) {
		return 0
	}
	return min(want, g.Left(now, l, has))
}

// asks returns how many may go before a person must be asked.
func (g Guard) asks(now lethe.Time, l Limit, has int64) int64 {
	n, left := g.taken(now), int64(math.MaxInt64)
	if l.Ask > 0 {
		left = l.Ask - n
	}
	if l.Share > 0 {
		left = min(left, max(l.Floor, g.share(now, l, has))-n)
	}
	return left
}

func (g Guard) share(now lethe.Time, l Limit, has int64) int64 {
	had := has + g.taken(now)
	return had/100*int64(l.Share) + had%100*int64(l.Share)/100
}

// Foresees reports whether so many are due that none of them may go, so that the limit trips
// now. While some may go, by the hour or by an allowance, those go first.
func (g Guard) Foresees(now lethe.Time, l Limit, has, due int64) bool {
	return due > 0 && !g.Held(now) && g.Take(now, l, has, due) == 0
}

// Spend counts n deletions.
func (g *Guard) Spend(now lethe.Time, n int64) {
	g.Hour, g.N = g.hour(now), g.taken(now)+n
	if now < g.FreeUntil && g.FreeN > 0 {
		g.FreeN -= n
	}
}

// Let counts as many of want as may go now. If those are not all, the limit trips and
// stopped is set.
func (g *Guard) Let(now lethe.Time, l Limit, has, want int64) (may int64, stopped *Guard) {
	may = g.Take(now, l, has, want)
	if may > 0 {
		g.Spend(now, may)
	}
	if may == want {
		return may, nil
	}
	g.Stop(now, l, has-may, want-may)
	at := *g
	return may, &at
}

// Foretell returns how many of want would go of a subject that has so many, and if not all,
// why. It counts nothing.
func (g Guard) Foretell(now lethe.Time, l Limit, has, want int64) (may int64, why string) {
	if !l.On() || want == 0 {
		return want, ""
	}
	if g.Held(now) {
		return 0, g.Reason
	}
	may, stopped := g.Let(now, l, has, want)
	if stopped != nil {
		why = stopped.Reason
	}
	return may, why
}

// Stop trips the limit: want more were about to go, of a subject that has so many. It resets
// by itself only if no person must be asked: when the hour ends.
func (g *Guard) Stop(now lethe.Time, l Limit, has, want int64) {
	n := g.taken(now)
	free, asks := now < g.FreeUntil, want > g.asks(now, l, has)
	g.HeldAt, g.HeldUntil, g.FreeUntil, g.FreeN = now, lethe.Forever, 0, 0
	if !asks {
		g.HeldUntil = lethe.Time((g.hour(now) + 1) * hourMicros)
	}
	switch {
	case free:
		g.Reason = fmt.Sprintf("what was allowed is used up, and at least %d more are due", want)
	case asks:
		g.Reason = fmt.Sprintf("%d went within the hour and at least %d more are due, of %d: %s", n, want, has+n, l.asking())
	default:
		g.Reason = fmt.Sprintf("%d went within the hour, and %d may go in each (per_hour)", n, l.PerHour)
	}
}

// Upholds reports whether the limit, as it is now, can explain why the guard is held: a
// person must be asked, or the hour has not passed.
func (l Limit) Upholds(g Guard) bool {
	if g.HeldUntil == lethe.Forever {
		return l.Share > 0 || l.Ask > 0
	}
	return l.On()
}

// asking describes beyond what a person is asked.
func (l Limit) asking() string {
	text := ""
	if l.Ask > 0 {
		text = fmt.Sprintf("more than %d (ask)", l.Ask)
	}
	if l.Share > 0 {
		if text != "" {
			text += " or "
		}
		text += fmt.Sprintf("more than %d %% of them, and %d (share, floor)", l.Share, l.Floor)
	}
	return text + " has to be allowed"
}
