package predict

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Ledger lists what is due by an instant, with what may keep it.
type Ledger interface {
	DueObjects(ctx context.Context, q ledger.DueQuery) (ledger.DuePage, error)
	DueTrash(ctx context.Context, q ledger.DueQuery) (ledger.DuePage, error)
	LimitStates(ctx context.Context) ([]ledger.LimitState, error)
	Bucket(ctx context.Context, name string) (ledger.Bucket, error)
	LedgerTime(ctx context.Context) (lethe.Time, error)
}

// Predictor predicts what Expire and Purge will take.
type Predictor struct {
	Ledger Ledger
	Limits ledger.Limits
	// Batch is how many trash entries Purge takes at a time, 0 for all: it asks its limit
	// batch by batch, while Expire asks for all that is due before the first goes.
	Batch int
}

// Due is a row that is due.
type Due struct {
	ledger.Due
	Stays string // why it stays nonetheless, for people; empty: it goes
	// Unapplied reports that the rules of its bucket are still being applied: until they are
	// applied to it, Expire does not find it.
	Unapplied bool
}

// page is how many rows are read at a time.
const page = 1000

// HeldText is why what a hold keeps stays.
const HeldText = "a hold keeps it"

// Objects yields the objects that are due by an instant, 0 for now. While a limit of their
// kind is set they are read twice: first to count them. For a later instant a limit is asked
// as if all of them were found then, in one pass.
func (p Predictor) Objects(ctx context.Context, by lethe.Time, yield func(Due) error) error {
	return p.each(ctx, p.Ledger.DueObjects, by, yield)
}

// Trash yields the trash entries that are due by an instant, 0 for now.
func (p Predictor) Trash(ctx context.Context, by lethe.Time, yield func(Due) error) error {
	return p.each(ctx, p.Ledger.DueTrash, by, yield)
}

type reader func(context.Context, ledger.DueQuery) (ledger.DuePage, error)

func (p Predictor) each(ctx context.Context, read reader, by lethe.Time, yield func(Due) error) error {
	l, err := p.limitsAt(ctx, by)
	if err != nil {
		return err
	}
	if p.Limits.Rules.On() || p.Limits.TTL.On() || p.Limits.Purge.On() {
		if err := p.count(ctx, read, by, l); err != nil {
			return err
		}
	}
	return pages(ctx, read, by, func(d ledger.Due, part ledger.DuePart) error {
		if d.Held {
			return yield(Due{Due: d, Stays: HeldText})
		}
		return yield(Due{Due: d, Stays: l.keeps(d, part), Unapplied: part == ledger.DueUnapplied})
	})
}

// limitsAt reads the states of the limits.
func (p Predictor) limitsAt(ctx context.Context, by lethe.Time) (*limits, error) {
	now, err := p.Ledger.LedgerTime(ctx)
	if err != nil {
		return nil, err
	}
	l := &limits{now: max(by, now), of: p.Limits, by: map[key]*share{}, states: map[key]ledger.LimitState{}}
	states, err := p.Ledger.LimitStates(ctx)
	for _, g := range states {
		l.states[key{g.Kind, g.Subject}] = g
	}
	return l, err
}

// pages reads all that is due, page by page.
func pages(ctx context.Context, read reader, by lethe.Time, each func(ledger.Due, ledger.DuePart) error) error {
	for q := (ledger.DueQuery{By: by, All: true, Limit: page}); ; {
		p, err := read(ctx, q)
		if err != nil {
			return err
		}
		for _, d := range p.Rows {
			if err := each(d, q.After.Part); err != nil {
				return err
			}
		}
		if !p.More {
			return nil
		}
		q = p.Continue(q)
	}
}

// count counts what is due by limit, and decides how many of each may go. A held object that is
// not deferred yet counts, as it does where the limit is enforced; a held trash entry does not.
func (p Predictor) count(ctx context.Context, read reader, by lethe.Time, l *limits) error {
	err := pages(ctx, read, by, func(d ledger.Due, part ledger.DuePart) error {
		k := keyOf(d)
		if counts := !d.Held || part != ledger.DueDeferred && k.kind != ledger.LimitPurge; counts && l.of.Of(k.kind).On() {
			if l.by[k] == nil {
				l.by[k] = &share{bucket: d.BucketName}
			}
			l.by[k].due++
		}
		return nil
	})
	for k, s := range l.by {
		g := l.states[k]
		g.Kind, g.Subject = k.kind, k.subject
		if err == nil {
			err = p.decide(ctx, l.now, g, s)
		}
	}
	return err
}

// decide sets how many rows of a share may go.
func (p Predictor) decide(ctx context.Context, now lethe.Time, g ledger.LimitState, s *share) error {
	limit, has := p.Limits.Of(g.Kind), int64(0)
	if limit.Share > 0 {
		b, err := p.Ledger.Bucket(ctx, s.bucket)
		if err != nil && !errors.Is(err, lethe.ErrNoSuchBucket) {
			return err
		}
		has = b.Objects
	}
	if g.Kind != ledger.LimitPurge || p.Batch <= 0 || g.Tripped(now) {
		s.goes, s.why = g.Preview(now, limit, has, s.due)
		return nil
	}
	for s.goes < s.due && s.why == "" {
		may, tripped := g.Admit(now, limit, has, min(s.due-s.goes, int64(p.Batch)))
		if s.goes += may; tripped != nil {
			s.why = tripped.Reason
		}
	}
	return nil
}

// Deletes is what decides how many due blobs of a backend Clean may delete.
type Deletes struct {
	Now     lethe.Time
	Backend ledger.Backend
	Limit   ledger.Limit
	State   ledger.LimitState
	Has     int64 // blobs on the backend
	Due     int64
}

// Goes returns how many may go, and why the others stay: deletes there are held, or the limit is
// used up. A claim takes what the limit has left.
func (d Deletes) Goes() (goes int64, why string) {
	switch left := d.State.Left(d.Now, d.Limit, d.Has); {
	case d.Backend.Held != "":
		return 0, "deletes on " + d.Backend.ID + " are stopped: " + d.Backend.Held
	case d.State.Tripped(d.Now):
		return 0, LimitText(ledger.LimitDeletes, d.State.Reason)
	case !d.Limit.On() || left >= d.Due:
		return d.Due, ""
	default:
		return left, LimitText(ledger.LimitDeletes, "it lets "+strconv.FormatInt(left, 10)+" more go")
	}
}

// key identifies a limit's state.
type key struct {
	kind    ledger.LimitKind
	subject string
}

func keyOf(d ledger.Due) key { return key{d.By.Limit(), string(d.Bucket)} }

// share is what is due under a limit, and how much of it may still go.
type share struct {
	bucket    string
	due, goes int64
	why       string // that others stay
}

// limits are the decisions of limits at an instant.
type limits struct {
	now    lethe.Time
	of     ledger.Limits
	states map[key]ledger.LimitState
	by     map[key]*share
}

// keeps takes one row of what may go, and returns why it stays if there is none left. What a
// limit has deferred stays while it is tripped, even if the limit is not set any more.
func (l *limits) keeps(d ledger.Due, part ledger.DuePart) string {
	k := keyOf(d)
	s, g := l.by[k], l.states[k]
	switch {
	case part == ledger.DueDeferred && g.Tripped(l.now):
		return LimitText(k.kind, g.Reason)
	case s == nil:
		return ""
	case s.goes > 0:
		s.goes--
		return ""
	}
	return LimitText(k.kind, s.why)
}

// LimitText is why what a limit keeps stays.
func LimitText(kind ledger.LimitKind, reason string) string {
	return "the limit " + string(kind) + " keeps it: " + cmp.Or(reason, "it has tripped")
}
