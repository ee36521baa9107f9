package adoption

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/reclaim"
)

// Keys returns the routine of a collection of keys in any mode: its Report
// changes nothing.
func (a *Adoption) Keys(ctx context.Context, name string) (*adopt.Keys, error) {
	rows, ok := a.keys[name]
	if err := a.Unusable[name]; err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("there is no collection of keys %q", name)
	}
	c := a.Description.Collections[name]
	bucket, err := a.bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	remover, err := a.remover(ctx, name)
	if err != nil {
		return nil, err
	}
	return &adopt.Keys{
		Collection: name, Prefix: c.Prefix, Rules: c.Keys.Rules(), Rows: rows, Store: bucket, Remove: remover, Batch: defaultBatch,
		Hook: hookOf(name, c), Boot: a.o.Boot, Events: a.adoptEvents(),
	}, nil
}

// reportKeys returns what a run would find.
func (a *Adoption) reportKeys(ctx context.Context, name string) ([]adopt.Finding, error) {
	k, err := a.Keys(ctx, name)
	if err != nil {
		return nil, err
	}
	switch c, err := k.Census(ctx); {
	case errors.Is(err, adopt.ErrFewRows), errors.Is(err, adopt.ErrSpelled):
		return []adopt.Finding{{Problem: true, What: err.Error(), Do: "correct keys.query"}}, nil
	case err != nil:
		return nil, err
	default:
		return []adopt.Finding{{What: c.String()}}, nil
	}
}

// keyRoutines returns those of a collection of keys: at most one instance runs
// one at a time, and only after its interval since the last success.
func (a *Adoption) keyRoutines(ctx context.Context, name string) ([]reclaim.Scheduled, error) {
	k, err := a.Keys(ctx, name)
	if err != nil {
		return nil, err
	}
	more, err := a.quarantineRoutines(ctx, name)
	if err != nil {
		return nil, err
	}
	reviews, err := a.reviews(ctx, name)
	more = append(more, reviews...)
	return append([]reclaim.Scheduled{{
		Routine: borrow(name, k), Timetable: every(looksEvery(k.Rules.Interval)), Workers: 1, Solo: true, Rest: k.Rules.Interval,
	}}, more...), err
}
