package predict

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

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
	// Batch is how many trash entries Purge takes at a time, 0 for all.
	Batch int
	// Doubt is why nothing goes by age now (Doubt); empty: the clock is not in doubt.
	Doubt string
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

// Objects yields the objects that are due by an instant, 0 for now: ledger.ErrRulesChanged if
// lifecycle rules are changed before all were read. While a limit of their kind is set they are
// read twice: first to count them. For a later instant a limit is asked as if all of them were
// found then, in one pass.
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
	q := ledger.DueQuery{By: by}
	if p.Doubt == "" && (p.Limits.Rules.On() || p.Limits.TTL.On() || p.Limits.Purge.On()) {
		if err := p.count(ctx, read, &q, l); err != nil {
			return err
		}
	}
	return pages(ctx, read, &q, func(d ledger.Due, part ledger.DuePart) error {
		return yield(Due{Due: d, Stays: p.stays(l, d, part), Unapplied: part == ledger.DueUnapplied})
	})
}

// stays returns why a row that is due stays; empty: it goes.
func (p Predictor) stays(l *limits, d ledger.Due, part ledger.DuePart) string {
	switch {
	case d.Held:
		return HeldText
	case p.Doubt != "":
		return p.Doubt
	}
	return l.keeps(d, part)
}

// count counts all that is due by limit, and decides how much of each share goes.
func (p Predictor) count(ctx context.Context, read reader, q *ledger.DueQuery, l *limits) error {
	err := pages(ctx, read, q, func(d ledger.Due, part ledger.DuePart) error {
		l.count(d, part)
		return nil
	})
	if err != nil {
		return err
	}
	return l.decide(ctx)
}

// One predicts one row that is due now. The share is that of its limit, if that keeps some of
// what is due. Rows that no limit counts cost nothing; of others all that the limit counts
// are read.
func (p Predictor) One(ctx context.Context, d ledger.Due) (stays string, s Share, err error) {
	l, err := p.limitsAt(ctx, 0)
	if err != nil {
		return "", s, err
	}
	k := keyOf(d)
	g := l.states[k]
	switch {
	case d.Held || p.Doubt != "":
		return p.stays(l, d, ledger.DueIndexed), s, nil
	case g.Tripped(l.now) && l.on(k):
		return limitText(k.kind, g.Reason), Share{State: g, Why: g.Reason}, nil
	case g.Tripped(l.now):
	case !l.on(k) || g.Left(l.now, p.Limits.Of(k.kind), 0) == math.MaxInt64:
		return "", s, nil
	}
	read := p.Ledger.DueObjects
	if k.kind == ledger.LimitPurge {
		read = p.Ledger.DueTrash
	}
	in := ledger.DueIndexed
	err = pages(ctx, read, &ledger.DueQuery{Bucket: d.Bucket}, func(other ledger.Due, part ledger.DuePart) error {
		if l.count(other, part); other.Named == d.Named {
			in = part
		}
		return nil
	})
	if err == nil {
		err = l.decide(ctx)
	}
	if err != nil {
		return "", s, err
	}
	if c := l.by[k]; c != nil && c.Why != "" {
		s = c.Share
		s.State.Name = c.bucket
	}
	return l.keeps(d, in), s, nil
}

// readers are the readers of objects, and of trash if that has a limit.
func (p Predictor) readers() []reader {
	if p.Limits.Purge.On() {
		return []reader{p.Ledger.DueObjects, p.Ledger.DueTrash}
	}
	return []reader{p.Ledger.DueObjects}
}

// Shares returns what limits keep of the rows that are due now, by kind and bucket: of the objects
// of one bucket, or of all without one, and of all trash. Each row that is read is passed to each,
// which may end it by an error; trash without a limit is not read.
func (p Predictor) Shares(ctx context.Context, bucket lethe.ID, each func(ledger.Due) error) ([]Share, error) {
	l, err := p.limitsAt(ctx, 0)
	if err != nil {
		return nil, err
	}
	kept := map[key]int64{} // that a limit has deferred, though it may not be set any more
	for _, read := range p.readers() {
		err := pages(ctx, read, &ledger.DueQuery{Bucket: bucket}, func(d ledger.Due, part ledger.DuePart) error {
			l.count(d, part)
			if k := keyOf(d); !d.Held && !l.on(k) && part == ledger.DueDeferred && l.states[k].Tripped(l.now) {
				kept[k]++
			}
			return each(d)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := l.decide(ctx); err != nil {
		return nil, err
	}
	var out []Share
	for k, n := range kept {
		out = append(out, Share{State: l.states[k], Due: n, Why: l.states[k].Reason})
	}
	for _, s := range l.by {
		if s.Why != "" {
			s.State.Name = s.bucket
			out = append(out, s.Share)
		}
	}
	slices.SortFunc(out, func(a, b Share) int {
		return cmp.Or(cmp.Compare(a.State.Kind, b.State.Kind), cmp.Compare(a.State.Subject, b.State.Subject))
	})
	return out, nil
}

// pages reads all that is due, page by page. It sets the revision of the rules in the query, so
// that another reading by it has the same rows, or is refused.
func pages(ctx context.Context, read reader, first *ledger.DueQuery, each func(ledger.Due, ledger.DuePart) error) error {
	first.All, first.Limit = true, page
	for q := *first; ; {
		p, err := read(ctx, q)
		if errors.Is(err, ledger.ErrRulesChanged) {
			return ledger.ErrRulesChanged
		}
		if err != nil {
			return err
		}
		first.Rules = p.Rules
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
