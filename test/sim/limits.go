package sim

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// The methods that limits need.

func (s *seam) PrecheckLimits(ctx context.Context, l ledger.Limits) ([]ledger.LimitState, error) {
	if !s.w.limited() {
		return s.in.PrecheckLimits(ctx, l)
	}
	return write(s, "precheck", "", scope{}, func() ([]ledger.LimitState, error) {
		stopped, err := s.in.PrecheckLimits(s.lasting(ctx), l)
		if err == nil {
			s.w.fail(s.w.oracle.prechecked(stopped))
			s.looks()
		}
		return stopped, err
	})
}

// looks notes that the actor has looked ahead in its pass.
func (s *seam) looks() {
	if a := s.w.cur; a != nil {
		a.looked = true
	}
}

// looked: whoever lets objects expire has looked ahead in that pass.
func (s *seam) looked(b ledger.Batch) {
	l := s.w.limitsNow()
	if a := s.w.cur; s.w.limited() && a != nil && !a.looked && b.Only == nil && (l.Rules.On() || l.TTL.On()) {
		s.w.fail(broken("%s lets objects expire and has not looked ahead", a.name))
	}
}

func (s *seam) LimitStates(ctx context.Context) ([]ledger.LimitState, error) {
	return s.in.LimitStates(ctx)
}

func (s *seam) AllowBeyondLimit(ctx context.Context, a ledger.Allowance) error {
	return do(s, "allow", fmt.Sprint(a.Kind, a.N), scope{}, func() error {
		err := s.in.AllowBeyondLimit(s.lasting(ctx), a)
		if err == nil {
			*s.w.oracle.tally(a.Kind, a.Subject) = tally{freeUntil: a.Until, free: a.N}
		}
		return err
	})
}

func (s *seam) EndTrips(ctx context.Context, l ledger.Limits) ([]ledger.LimitState, error) {
	return write(s, "end-trips", "", scope{}, func() ([]ledger.LimitState, error) {
		ended, err := s.in.EndTrips(s.lasting(ctx), l)
		for _, g := range ended {
			s.w.fail(s.w.oracle.endedFor(g, limitOf(l, g.Kind)))
		}
		return ended, err
	})
}

// limitKey is a kind of deletion, and from what.
type limitKey struct {
	kind    ledger.LimitKind
	subject string
}

// tally is what the oracle counts by itself: of what went in the hour, or since a
// person allowed something; until when nothing may go; and what was allowed.
type tally struct {
	hour      int64
	n         int64
	stopped   lethe.Time // until then; 0: not
	freeUntil lethe.Time
	free      int64 // below 0: any number
}

func (o *oracle) tally(kind ledger.LimitKind, subject string) *tally {
	at := limitKey{kind, subject}
	if o.tallies[at] == nil {
		o.tallies[at] = &tally{}
	}
	return o.tallies[at]
}

// within: no more went in this step than the limits let go.
func (o *oracle) within(before View, step Step, sc scope) error {
	if !o.w.limited() {
		return nil
	}
	limits, went := o.w.limitsNow(), o.departed(before, step, sc)
	had := map[limitKey]int64{}
	for at := range went {
		had[at] = has(before, at) + o.bySibling(at)
	}
	for at, k := range went {
		t, l := o.tally(at.kind, at.subject), limitOf(limits, at.kind)
		if !l.On() && limitOf(limits, at.kind.Sibling()).Share > 0 {
			t.count(o.w.now, k)
			continue
		}
		if err := t.take(o.w.now, l, had[at], k); err != nil {
			return broken("%d %s of %q: %w", k, at.kind, at.subject, err)
		}
	}
	return nil
}

// bySibling is what the sibling let go within the hour.
func (o *oracle) bySibling(at limitKey) int64 {
	if t := o.tallies[limitKey{at.kind.Sibling(), at.subject}]; t != nil && t.hour == hourOf(o.w.now) {
		return t.n
	}
	return 0
}

// departed counts what went in a step by whose limit it is under. A plan was decided
// by a person.
func (o *oracle) departed(before View, step Step, sc scope) map[limitKey]int64 {
	out := map[limitKey]int64{}
	if sc.only != nil {
		return out
	}
	here := byPlace(o.view.Objects)
	switch step {
	case "evict":
		if sc.room.Room != (ledger.Room{}) || sc.room.Batch.Only != nil {
			return out
		}
		for at, x := range byPlace(before.Objects) {
			if here[at].ID != x.ID {
				out[limitKey{ledger.LimitTTL, string(x.BucketID)}]++
			}
		}
	case "expire":
		for at, x := range byPlace(before.Objects) {
			if here[at].ID == x.ID {
				continue
			}
			kind := ledger.LimitRules
			if x.TTLAt != 0 && x.TTLAt <= o.w.now || idleOver(x, o.w.now) {
				kind = ledger.LimitTTL
			}
			out[limitKey{kind, string(x.BucketID)}]++
		}
	case "purge":
		if n := len(before.Trash) - len(o.view.Trash); n > 0 {
			out[limitKey{kind: ledger.LimitPurge}] = int64(n)
		}
	case "claim":
		was := map[lethe.ID]int64{}
		for _, b := range before.Blobs {
			was[b.ID] = b.Claim.Fence
		}
		for _, b := range o.view.Blobs {
			if b.Claim.Fence != was[b.ID] {
				out[limitKey{ledger.LimitDeletes, b.Backend}]++
			}
		}
	}
	return out
}

// has is how much a subject has.
func has(v View, at limitKey) (n int64) {
	if at.kind == ledger.LimitDeletes {
		for _, b := range v.Blobs {
			if b.Backend == at.subject {
				n++
			}
		}
		return n
	}
	for _, x := range v.Objects {
		if string(x.BucketID) == at.subject {
			n++
		}
	}
	return n
}

// take counts k that went of a subject that had so many.
func (t *tally) take(now lethe.Time, l ledger.Limit, has, k int64) error {
	if !l.On() {
		return nil
	}
	t.count(now, 0)
	free := now < t.freeUntil
	switch {
	case now < t.stopped:
		return broken("went although it was stopped until %s", t.stopped)
	case free && t.free >= 0 && k > t.free:
		return broken("went, and %d more were allowed", t.free)
	case free && t.free >= 0:
		t.free -= k
	case free:
	case t.n+k > t.asks(l, has):
		return broken("went after %d of %d in the hour, and nobody was asked (limit %+v)", t.n, has+t.n, l)
	case l.PerHour > 0 && t.n+k > l.PerHour:
		return broken("went after %d in the hour, and %d may go in each", t.n, l.PerHour)
	}
	t.n += k
	return nil
}

// count counts k that went.
func (t *tally) count(now lethe.Time, k int64) {
	if hour := hourOf(now); hour != t.hour {
		t.hour, t.n = hour, 0
	}
	t.n += k
}

// asks is how many may go in the hour before a person is asked.
func (t *tally) asks(l ledger.Limit, has int64) int64 {
	most := int64(1) << 62
	if l.Ask > 0 {
		most = l.Ask
	}
	if l.Share > 0 {
		most = min(most, max(l.Floor, (has+t.n)*int64(l.Share)/100))
	}
	return most
}

// prechecked holds what the precheck stopped against what is due: all of that must
// be stopped of which a person is to be asked, and nothing of which some may go.
func (o *oracle) prechecked(stopped []ledger.LimitState) error {
	page, err := o.w.ledger.DueObjects(context.Background(), ledger.DueQuery{})
	if err != nil {
		return err
	}
	due := map[limitKey]int64{}
	for _, d := range page.Rows {
		kind := ledger.LimitTTL
		if d.Rule != "" {
			kind = ledger.LimitRules
		}
		due[limitKey{kind, string(d.Bucket)}]++
	}
	stops := map[limitKey]bool{}
	for _, g := range stopped {
		stops[limitKey{g.Kind, g.Subject}] = true
		o.stops(g)
	}
	for at, n := range due {
		t, l := *o.tally(at.kind, at.subject), limitOf(o.w.limitsNow(), at.kind)
		if t.hour != hourOf(o.w.now) {
			t.n = 0
		}
		asks := t.n+n > t.asks(l, has(o.view, at)+o.bySibling(at))
		switch free := o.w.now < t.freeUntil; {
		case !l.On() || o.w.now < t.stopped:
		case stops[at] && (free && t.free != 0 || !free && !asks && (l.PerHour == 0 || t.n < l.PerHour)):
			return broken("%d %s of %q are due, and were stopped although some may go", n, at.kind, at.subject)
		case !stops[at] && !free && asks:
			return broken("%d %s of %q are due, a person is to be asked, and nothing was stopped", n, at.kind, at.subject)
		}
	}
	return nil
}

// stops notes what was stopped in the step under way: from its end on nothing goes.
func (o *oracle) stops(list ...ledger.LimitState) { o.stopping = append(o.stopping, list...) }

// stop holds the kinds that were stopped in the step that ended.
func (o *oracle) stop() error {
	list := o.stopping
	o.stopping = nil
	for _, g := range list {
		t, l := o.tally(g.Kind, g.Subject), limitOf(o.w.limitsNow(), g.Kind)
		end := lethe.Time((hourOf(o.w.now) + 1) * hourMicros)
		switch asks := l.Share > 0 || l.Ask > 0; {
		case g.TrippedUntil == end && l.PerHour > 0:
		case g.TrippedUntil == lethe.Forever && asks:
		case o.w.now < t.freeUntil && g.TrippedUntil == end: // what was allowed is used up
		default:
			return broken("%s of %q was stopped until %s by the limit %+v", g.Kind, g.Subject, g.TrippedUntil, l)
		}
		t.stopped, t.freeUntil, t.free = g.TrippedUntil, 0, 0
	}
	return nil
}

// charged: each row of a limit says what really went within its hour, no less and,
// as it is counted in the transaction that removes, no more; what is left of what a
// person allowed; and until when nothing may go. What the oracle counted has a row.
func (o *oracle) charged() error {
	rows := 0
	for _, g := range o.view.Limits {
		if g.Kind == ledger.LimitClock {
			continue
		}
		t := o.tally(g.Kind, g.Subject)
		if t.counts() {
			rows++
		}
		switch free := o.w.now < t.freeUntil; {
		case g.Hour != t.hour || g.N != t.n:
			return broken("the row of %s of %q says that %d went in the hour %d, %d went in %d", g.Kind, g.Subject, g.N, g.Hour, t.n, t.hour)
		case g.Tripped(o.w.now) != (o.w.now < t.stopped) || g.Tripped(o.w.now) && g.TrippedUntil != t.stopped:
			return broken("the row of %s of %q stops it until %s, it was stopped until %s", g.Kind, g.Subject, g.TrippedUntil, t.stopped)
		case (o.w.now < g.FreeUntil) != free || free && g.FreeN != t.free:
			return broken("the row of %s of %q allows %d until %s, a person %d until %s", g.Kind, g.Subject, g.FreeN, g.FreeUntil, t.free, t.freeUntil)
		}
	}
	for _, t := range o.tallies {
		if t.counts() {
			rows--
		}
	}
	if rows != 0 {
		return broken("%d of what limits counted have no row", -rows)
	}
	return nil
}

// counts says that a limit has counted, or stopped something.
func (t *tally) counts() bool { return t.n != 0 || t.stopped != 0 }

// endedFor: no stop ends for which there is a limit.
func (o *oracle) endedFor(g ledger.LimitState, l ledger.Limit) error {
	t := o.tally(g.Kind, g.Subject)
	if t.stopped == lethe.Forever && (l.Share > 0 || l.Ask > 0) || o.w.now < t.stopped && t.stopped != lethe.Forever && l.On() {
		return broken("the stop of %s of %q was ended, and its limit is there: %+v", g.Kind, g.Subject, l)
	}
	t.stopped = 0
	return nil
}
