package ledger

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// LimitKind is a kind of deletion that a limit counts, or the clock in doubt.
type LimitKind string

// The kinds of limits.
const (
	LimitRules   LimitKind = "rules"   // objects that only a lifecycle rule ends; by bucket
	LimitTTL     LimitKind = "ttl"     // objects whose own time to live has passed, or that the engine evicts; by bucket
	LimitPurge   LimitKind = "purge"   // trash entries; the whole store
	LimitDeletes LimitKind = "deletes" // deletes claimed for a backend; by backend
	LimitClock   LimitKind = "clock"   // the clocks of ledger and backend differ; by backend
)

// Sibling returns the kind that ends objects of the same bucket; empty for other subjects.
func (k LimitKind) Sibling() LimitKind {
	switch k {
	case LimitRules:
		return LimitTTL
	case LimitTTL:
		return LimitRules
	}
	return ""
}

// Limit bounds the deletions of one kind from one subject within an hour of the ledger's
// clock. A zero field bounds nothing.
type Limit struct {
	// Share is the percentage that may go of the objects that the subject has, and of those
	// that went within the hour, by this limit or its sibling (LimitKind.Sibling). Floor is
	// how many may go in any case, so that a small bucket may lose all. Ask is how many may
	// go at most. Beyond Share or Ask a person decides.
	Share int
	Floor int64
	Ask   int64
	// PerHour is how many may go before the hour ends.
	PerHour int64
}

// On reports whether the limit bounds anything.
func (l Limit) On() bool { return l.Share > 0 || l.Ask > 0 || l.PerHour > 0 }

// Limits are the limits on what Expire and Purge remove and, for EndTrips, on claimed
// deletes.
type Limits struct{ Rules, TTL, Purge, Deletes Limit }

// LimitState counts the deletions of one kind from one subject, and records whether its limit
// has tripped.
type LimitState struct {
	Kind    LimitKind
	Subject string // id of a bucket or of a backend; empty: the store
	Name    string // of the bucket; for readers only
	Hour    int64  // hours since 1970; N counts in this one
	N       int64
	// TrippedAt is when the limit tripped, 0 if it has not. It resets by itself at TrippedUntil,
	// if that is set.
	TrippedAt, TrippedUntil lethe.Time
	Reason                  string
	// Until FreeUntil a person allows FreeN more, whatever the limits; any number if FreeN
	// is negative.
	FreeUntil lethe.Time
	FreeN     int64
}

// SubjectName is what people call the subject: the name of a bucket, else the id.
func (g LimitState) SubjectName() string { return cmp.Or(g.Name, g.Subject) }

// Tripped reports whether nothing of the kind may go now.
func (g LimitState) Tripped(now lethe.Time) bool { return g.TrippedAt != 0 && now < g.TrippedUntil }

const hourMicros = int64(time.Hour / time.Microsecond)

// HourOf returns the hour of an instant, counted since 1970.
func HourOf(at lethe.Time) int64 { return int64(at) / hourMicros }

// hour returns the hour to count in. It never goes back: a transaction that waited for
// another one counts in the later hour of that one.
func (g LimitState) hour(now lethe.Time) int64 { return max(g.Hour, HourOf(now)) }

// Taken returns how many went within the hour.
func (g LimitState) Taken(now lethe.Time) int64 {
	if g.Hour != g.hour(now) {
		return 0
	}
	return g.N
}

// Left returns how many more may go now, of a subject that has so many.
func (g LimitState) Left(now lethe.Time, l Limit, has int64) int64 {
	switch {
	case g.Tripped(now):
		return 0
	case now < g.FreeUntil && g.FreeN < 0:
		return math.MaxInt64
	case now < g.FreeUntil:
		return g.FreeN
	}
	left := g.untilAsked(now, l, has)
	if l.PerHour > 0 {
		left = min(left, l.PerHour-g.Taken(now))
	}
	return max(left, 0)
}

// Take returns how many of want may go. That is none if a person must be asked before they
// all do, else at most what the hour or an allowance has left. Removal and forecast both
// decide by it.
func (g LimitState) Take(now lethe.Time, l Limit, has, want int64) int64 {
	if now >= g.FreeUntil && want > g.untilAsked(now, l, has) {
		return 0
	}
	return min(want, g.Left(now, l, has))
}

// untilAsked returns how many may go before a person must be asked.
func (g LimitState) untilAsked(now lethe.Time, l Limit, has int64) int64 {
	n, left := g.Taken(now), int64(math.MaxInt64)
	if l.Ask > 0 {
		left = l.Ask - n
	}
	if l.Share > 0 {
		left = min(left, max(l.Floor, g.share(now, l, has))-n)
	}
	return left
}

func (g LimitState) share(now lethe.Time, l Limit, has int64) int64 {
	had := has + g.Taken(now)
	return had/100*int64(l.Share) + had%100*int64(l.Share)/100
}

// WouldTrip reports whether so many are due that none of them may go, so that the limit trips
// now. While some may go, by the hour or by an allowance, those go first.
func (g LimitState) WouldTrip(now lethe.Time, l Limit, has, due int64) bool {
	return due > 0 && !g.Tripped(now) && g.Take(now, l, has, due) == 0
}

// Count counts n deletions that no limit bounds.
func (g *LimitState) Count(now lethe.Time, n int64) { g.Hour, g.N = g.hour(now), g.Taken(now)+n }

// Spend counts n deletions, also against what a person allowed.
func (g *LimitState) Spend(now lethe.Time, n int64) {
	g.Count(now, n)
	if now < g.FreeUntil && g.FreeN > 0 {
		g.FreeN -= n
	}
}

// Admit counts as many of want as may go now. If those are not all, the limit trips and
// tripped is set.
func (g *LimitState) Admit(now lethe.Time, l Limit, has, want int64) (may int64, tripped *LimitState) {
	may = g.Take(now, l, has, want)
	if may > 0 {
		g.Spend(now, may)
	}
	if may == want {
		return may, nil
	}
	g.Trip(now, l, has-may, want-may)
	at := *g
	return may, &at
}

// Preview returns how many of want would go of a subject that has so many, and if not all,
// why. It counts nothing.
func (g LimitState) Preview(now lethe.Time, l Limit, has, want int64) (may int64, why string) {
	if !l.On() || want == 0 {
		return want, ""
	}
	if g.Tripped(now) {
		return 0, g.Reason
	}
	may, tripped := g.Admit(now, l, has, want)
	if tripped != nil {
		why = tripped.Reason
	}
	return may, why
}

func isAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Trip trips the limit: want more were about to go, of a subject that has so many. It resets
// by itself only if no person must be asked: when the hour ends.
func (g *LimitState) Trip(now lethe.Time, l Limit, has, want int64) {
	n := g.Taken(now)
	free, asks := now < g.FreeUntil, want > g.untilAsked(now, l, has)
	g.TrippedAt, g.TrippedUntil, g.FreeUntil, g.FreeN = now, lethe.Forever, 0, 0
	if !asks {
		g.TrippedUntil = lethe.Time((g.hour(now) + 1) * hourMicros)
	}
	gone := ""
	if n > 0 {
		gone = fmt.Sprintf("%d went within the hour, and ", n)
	}
	switch {
	case free:
		g.Reason = fmt.Sprintf("what was allowed is used up, and at least %d more %s due", want, isAre(want))
	case asks && l.Share > 0:
		g.Reason = fmt.Sprintf("%sat least %d of %d %s due; %s", gone, want, has+n, isAre(want), l.asking())
	case asks:
		g.Reason = fmt.Sprintf("%sat least %d %s due; %s", gone, want, isAre(want), l.asking())
	default:
		g.Reason = fmt.Sprintf("%d went within the hour, and no more than %d may in one (per_hour)", n, l.PerHour)
	}
}

// Explains reports whether the limit, as it is configured now, still explains why the state is
// tripped: a person must be asked, or the hour has not passed.
func (l Limit) Explains(g LimitState) bool {
	if g.TrippedUntil == lethe.Forever {
		return l.Share > 0 || l.Ask > 0
	}
	return l.On()
}

// asking describes beyond what a person is asked.
func (l Limit) asking() string {
	var beyond []string
	if l.Ask > 0 {
		beyond = append(beyond, fmt.Sprintf("more than %d (ask)", l.Ask))
	}
	if l.Share > 0 {
		beyond = append(beyond, fmt.Sprintf("more than %d (floor) and %d %% of all (share)", l.Floor, l.Share))
	}
	return strings.Join(beyond, ", or ") + " go within an hour only if a person allows it"
}

// Of returns the limit for a kind of deletion.
func (l Limits) Of(k LimitKind) Limit {
	switch k {
	case LimitRules:
		return l.Rules
	case LimitTTL:
		return l.TTL
	case LimitPurge:
		return l.Purge
	case LimitDeletes:
		return l.Deletes
	}
	return Limit{}
}

// Counts reports whether deletions of a kind are counted: its own limit bounds them, or its
// sibling's is a share of what there was.
func (l Limits) Counts(k LimitKind) bool { return l.Of(k).On() || l.Of(k.Sibling()).Share > 0 }

// Allowance is what a person allows beyond a limit: N more until an instant (any number if N
// is negative). The zero value restarts the limit's count now.
type Allowance struct {
	Kind    LimitKind
	Subject string
	Until   lethe.Time
	N       int64
}

// Clear resets a limit that has tripped.
func (g *LimitState) Clear() { g.TrippedAt, g.TrippedUntil, g.Reason = 0, 0, "" }

// Defers reports whether a tripped limit defers rows: those of its own subject.
func (g LimitState) Defers() bool { return g.Kind == LimitRules || g.Kind == LimitTTL }
