package predict

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Deletes is what decides how many due blobs of a backend Clean may delete.
type Deletes struct {
	Now     lethe.Time
	Backend ledger.Backend
	Limit   ledger.Limit
	State   ledger.LimitState
	Has     int64 // blobs on the backend
	Due     int64
	Doubt   string // why the clock there is in doubt; blobs whose upload may land late stay then
}

// Goes returns how many may go, and why the others stay: deletes there are held, or the limit is
// used up. A claim takes what the limit has left.
func (d Deletes) Goes() (goes int64, why string) {
	switch left := d.State.Left(d.Now, d.Limit, d.Has); {
	case d.Backend.Held != "":
		return 0, "deletes on " + d.Backend.ID + " are stopped: " + d.Backend.Held
	case d.State.Tripped(d.Now):
		return 0, limitText(ledger.LimitDeletes, d.State.Reason)
	case !d.Limit.On() || left >= d.Due:
		return d.Due, ""
	default:
		return left, limitText(ledger.LimitDeletes, "it lets "+strconv.FormatInt(left, 10)+" more go")
	}
}

// limitText is why what a limit keeps stays.
func limitText(kind ledger.LimitKind, reason string) string {
	return "the limit " + string(kind) + " keeps it: " + cmp.Or(reason, "it has tripped")
}

// Share decides how many rows of one subject a limit lets go, of those that are due at an instant.
// The subject has so many. Held rows are due as well, and stay; the limit counts them until a pass
// has set them aside, except in the trash. Purge asks its limit batch by batch, while Expire asks
// for all that is due before the first goes.
func (p Predictor) Share(now lethe.Time, g ledger.LimitState, has, due, held int64) Share {
	s, limit := Share{State: g, Due: due}, p.Limits.Of(g.Kind)
	switch {
	case g.Kind != ledger.LimitPurge:
		s.Goes, s.Why = g.Preview(now, limit, has, due+held)
	case p.Batch <= 0 || g.Tripped(now) || !limit.On():
		s.Goes, s.Why = g.Preview(now, limit, has, due)
	default:
		for s.Goes < due && s.Why == "" {
			may, tripped := g.Admit(now, limit, has, min(due-s.Goes, int64(p.Batch)))
			if s.Goes += may; tripped != nil {
				s.Why = tripped.Reason
			}
		}
	}
	if s.Goes >= due {
		s.Goes, s.Why = due, ""
	}
	return s
}

// key identifies a limit's state.
type key struct {
	kind    ledger.LimitKind
	subject string
}

func keyOf(d ledger.Due) key { return key{d.By.Limit(), string(d.Bucket)} }

// Share is what is due under the limit of one subject, without what holds keep, and how much of
// it goes.
type Share struct {
	State     ledger.LimitState
	Due, Goes int64
	Why       string // that others stay; empty: none do
}

// counted is a share that is counted row by row.
type counted struct {
	Share
	bucket string // its name
	held   int64  // rows that the limit counts, too
	taken  int64  // of Goes
	oldest *oldest
}

// limits are the decisions of limits at an instant.
type limits struct {
	p      Predictor
	now    lethe.Time
	states map[key]ledger.LimitState
	by     map[key]*counted
	rows   map[lethe.ID]int64 // by bucket
}

// limitsAt reads the states of the limits.
func (p Predictor) limitsAt(ctx context.Context, by lethe.Time) (*limits, error) {
	now, err := p.Ledger.LedgerTime(ctx)
	if err != nil {
		return nil, err
	}
	l := &limits{p: p, now: max(by, now), by: map[key]*counted{}, states: map[key]ledger.LimitState{}, rows: map[lethe.ID]int64{}}
	states, err := p.Ledger.LimitStates(ctx)
	for _, g := range states {
		l.states[key{g.Kind, g.Subject}] = g
	}
	return l, err
}

func (l *limits) on(k key) bool { return l.p.Limits.Of(k.kind).On() }

// count counts a row under its limit. A held object that is not deferred yet counts, as it does
// where the limit is enforced; a held trash entry does not.
func (l *limits) count(d ledger.Due, part ledger.DuePart) {
	l.rows[d.Bucket]++
	k := keyOf(d)
	if !l.on(k) || d.Held && (part == ledger.DueDeferred || k.kind == ledger.LimitPurge) {
		return
	}
	s := l.by[k]
	if s == nil {
		g := l.states[k]
		g.Kind, g.Subject = k.kind, k.subject
		if s = (&counted{Share: Share{State: g}}); k.subject != "" {
			s.bucket = d.BucketName
		}
		if most := g.Left(l.now, l.p.Limits.Of(k.kind), math.MaxInt64/200); most > 0 && most <= maxRanked {
			s.oldest = &oldest{most: int(most)}
		}
		l.by[k] = s
	}
	if d.Held {
		s.held++
		return
	}
	if s.Due++; s.oldest != nil {
		s.oldest.offer(placeOf(d))
	}
}

// decide decides how much of each share goes, once all rows are counted.
func (l *limits) decide(ctx context.Context) error {
	for k, s := range l.by {
		has, err := l.has(ctx, k, s)
		if err != nil {
			return err
		}
		if s.Share = l.p.Share(l.now, s.State, has, s.Due, s.held); s.oldest != nil {
			s.oldest.keep(s.Goes)
		}
	}
	return nil
}

// has returns how many objects the subject of a share has, with what the sibling let go within the
// hour, if its limit asks. A bucket that was deleted has none but those that are due.
func (l *limits) has(ctx context.Context, k key, s *counted) (int64, error) {
	if l.p.Limits.Of(k.kind).Share == 0 {
		return 0, nil
	}
	gone := l.states[key{k.kind.Sibling(), k.subject}].Taken(l.now)
	b, err := l.p.Ledger.Bucket(ctx, s.bucket)
	if errors.Is(err, lethe.ErrNoSuchBucket) || err == nil && string(b.ID) != k.subject {
		return l.rows[lethe.ID(k.subject)] + gone, nil
	}
	return b.Objects + gone, err
}

// keeps returns why a limit keeps a row. If none does, it counts the row against its limit. Rows
// that a limit has deferred stay while it is tripped, even if it is no longer configured.
func (l *limits) keeps(d ledger.Due, part ledger.DuePart) string {
	k := keyOf(d)
	s, g := l.by[k], l.states[k]
	switch {
	case part == ledger.DueDeferred && g.Tripped(l.now):
		return limitText(k.kind, g.Reason)
	case s == nil:
		return ""
	case s.goes(d):
		s.taken++
		return ""
	}
	return limitText(k.kind, s.Why)
}

// goes reports whether a row is among those that go: the oldest do.
func (s *counted) goes(d ledger.Due) bool {
	if s.oldest != nil && s.Goes > 0 {
		return s.oldest.has(placeOf(d))
	}
	return s.taken < s.Goes
}

// place is a row's place in the order in which the rows of a subject go.
type place struct {
	due  lethe.Time
	size int64
	name string
}

func placeOf(d ledger.Due) place { return place{d.At, d.Size, d.Key} }

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.size, b.size), strings.Compare(a.name, b.name))
}

// maxRanked bounds the rows that are put in order: where a limit lets more go, they are taken to
// go in the order in which they are read.
const maxRanked = 200_000

// oldest are the first of many places, a heap with the last of them on top.
type oldest struct {
	most int
	list []place
}

// offer keeps a place if it is one of the first so far.
func (o *oldest) offer(p place) {
	switch {
	case len(o.list) < o.most:
		heap.Push(o, p)
	case p.compare(o.list[0]) < 0:
		o.list[0] = p
		heap.Fix(o, 0)
	}
}

// keep keeps the first n.
func (o *oldest) keep(n int64) {
	for int64(len(o.list)) > n {
		heap.Pop(o)
	}
}

// has reports whether a place is one of the first.
func (o *oldest) has(p place) bool { return len(o.list) > 0 && p.compare(o.list[0]) <= 0 }

// Len implements heap.Interface.
func (o *oldest) Len() int { return len(o.list) }

// Less implements heap.Interface.
func (o *oldest) Less(i, j int) bool { return o.list[i].compare(o.list[j]) > 0 }

// Swap implements heap.Interface.
func (o *oldest) Swap(i, j int) { o.list[i], o.list[j] = o.list[j], o.list[i] }

// Push implements heap.Interface.
func (o *oldest) Push(x any) { o.list = append(o.list, x.(place)) }

// Pop implements heap.Interface.
func (o *oldest) Pop() any {
	last := o.list[len(o.list)-1]
	o.list = o.list[:len(o.list)-1]
	return last
}
