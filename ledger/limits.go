package ledger

import (
	"fmt"
	"math"
	"time"

	"github.com/lethe-storage/lethe"
)

// GuardKind is a kind of deletion that a guard counts, or what it doubts.
type GuardKind string

// The kinds of guards.
const (
	GuardRules   GuardKind = "rules"   // objects that only a lifecycle rule ends; by bucket
	GuardTTL     GuardKind = "ttl"     // objects whose own time to live has passed; by bucket
	GuardPurge   GuardKind = "purge"   // trash entries; the whole store
	GuardDeletes GuardKind = "deletes" // deletes handed out for a backend; by backend
	GuardClock   GuardKind = "clock"   // the clocks of ledger and backend differ; by backend
)

// Limit bounds the deletions of one kind from one subject within an hour of the
// ledger's clock. What is zero bounds nothing.
type Limit struct {
	// Share is how many percent of what the subject had at the hour's beginning may
	// go, and Floor how many in any case: a small bucket may lose all. Ask is how many
	// may go. Beyond either a person is asked.
	Share int
	Floor int64
	Ask   int64
	// PerHour is how many may go until the hour has passed.
	PerHour int64
}

// On reports whether the limit bounds something.
func (l Limit) On() bool { return l.Share > 0 || l.Ask > 0 || l.PerHour > 0 }

// Limits are those of what Expire and Purge remove, and, for EndStops, of the
// deletes handed out.
type Limits struct{ Rules, TTL, Purge, Deletes Limit }

// Guard is what a kind of deletion has taken from a subject, and whether it is
// stopped.
type Guard struct {
	Kind    GuardKind
	Subject string // id of a bucket or of a backend; empty: the store
	Name    string // of the bucket, for who reads
	Hour    int64  // since 1970, that N is of
	N       int64
	// HeldAt is when it was stopped, 0 if it is not, for the reason given; that ends
	// by itself at HeldUntil.
	HeldAt, HeldUntil lethe.Time
	Reason            string
	// FreeUntil: a person has allowed FreeN more until then, whatever the limits; any
	// number if FreeN is less than 0.
	FreeUntil lethe.Time
	FreeN     int64
}

// Held reports whether nothing of the kind may go now.
func (g Guard) Held(now lethe.Time) bool { return g.HeldAt != 0 && now < g.HeldUntil }

const hourMicros = int64(time.Hour / time.Microsecond)

// hour is the hour of an instant, since 1970.
func HourOf(at lethe.Time) int64 { return int64(at) / hourMicros }

// hour is the hour to count in: of a transaction that waited for another, which
// began later and has counted in the next hour, that one. It does not go back.
func (g Guard) hour(now lethe.Time) int64 { return max(g.Hour, HourOf(now)) }

// taken is how many went within the hour.
func (g Guard) taken(now lethe.Time) int64 {
	if g.Hour != g.hour(now) {
		return 0
	}
	return g.N
}

// Left is how many may go now of a subject that has so many.
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

// Take is how many of those that want to go may: none if a person is to be asked
// before they all do, and else as many as the hour, or what was allowed, has left.
// Whoever removes, and whoever looks ahead, decides by it.
func (g Guard) Take(now lethe.Time, l Limit, has, want int64) int64 {
	if now >= g.FreeUntil && want > g.asks(now, l, has) {
		return 0
	}
	return min(want, g.Left(now, l, has))
}

// asks is how many may go before a person is asked.
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

// Foresees reports whether so many are due that none of them may go: they are to be
// stopped now. As long as some may, for the hour or for what was allowed, those go
// first.
func (g Guard) Foresees(now lethe.Time, l Limit, has, due int64) bool {
	return due > 0 && !g.Held(now) && g.Take(now, l, has, due) == 0
}

// Spend counts what went.
func (g *Guard) Spend(now lethe.Time, n int64) {
	g.Hour, g.N = g.hour(now), g.taken(now)+n
	if now < g.FreeUntil && g.FreeN > 0 {
		g.FreeN -= n
	}
}

// Let counts as many of want as may go now, and stops the kind if those are not
// all: stopped is nil if they are.
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

// Foretell says how many of want would go of a subject that has so many, and why not
// all; nothing is counted.
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

// Stop holds the kind: want more were about to go, of a subject that has so many.
// Without a person that ends only where none would be asked: with the hour.
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

// Upholds reports whether a limit, as it is now, is one for which the guard may be
// stopped as it is: by asking a person, or until the hour has passed.
func (l Limit) Upholds(g Guard) bool {
	if g.HeldUntil == lethe.Forever {
		return l.Share > 0 || l.Ask > 0
	}
	return l.On()
}

// asking says beyond what a person is asked.
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
