package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Refusal is the error of rows that the database refuses to claim or to remove: a
// row of another table refers to one of them, it violates a constraint that is
// younger, or a trigger of the application objects. Nothing was done.
type Refusal struct {
	Rows []Row // at least one of them is refused
	Err  error
}

// Error implements error.
func (r *Refusal) Error() string {
	which := "it"
	if len(r.Rows) > 1 {
		which = fmt.Sprintf("one of %d rows", len(r.Rows))
	}
	return fmt.Sprintf("the database refuses to let %s go: %v", which, r.Err)
}

// Unwrap returns the error of the database.
func (r *Refusal) Unwrap() error { return r.Err }

// RowHolder sets holds.
type RowHolder interface {
	// AddHold is Holder's method.
	AddHold(ctx context.Context, h Hold) (Hold, UnderWay, error)
}

// RefusedRest is how long a row that the database refused is held, so that it
// does not delay others.
const RefusedRest = 6 * time.Hour

// refusedBy is the author of such holds.
const refusedBy = "lethe"

// apart settles a claim that contains a refused row: by halves, so that all
// other rows go. It returns what was settled before an error.
func (e *Expire) apart(ctx context.Context, c Claim) (out Settled, err error) {
	if len(c.Rows) == 1 {
		return e.alone(ctx, c)
	}
	for _, half := range [][]Row{c.Rows[:len(c.Rows)/2], c.Rows[len(c.Rows)/2:]} {
		part := Claim{c.At, half}
		settled, err := e.Records.Settle(ctx, part, e.Grace.CacheAgain)
		var refused *Refusal
		if errors.As(err, &refused) {
			settled, err = e.apart(ctx, part)
		}
		out.add(settled)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// alone settles a claim of one row, or holds it.
func (e *Expire) alone(ctx context.Context, c Claim) (Settled, error) {
	settled, err := e.Records.Settle(ctx, c, e.Grace.CacheAgain)
	var refused *Refusal
	if !errors.As(err, &refused) {
		return settled, err
	}
	// It may not live again either: it then stays in progress, and the watchdog tells of it.
	released, err := e.Records.Release(ctx, c)
	switch {
	case err == nil && released == 0: // the application has removed it meanwhile
		return Settled{Lost: 1}, nil
	case err != nil && !errors.As(err, new(*Refusal)):
		return Settled{}, err
	}
	return Settled{Refused: 1}, refused.rest(ctx, e.Holds, e.Events, e.Collection)
}

// rest holds the one row of a refusal temporarily.
func (r *Refusal) rest(ctx context.Context, holds RowHolder, events *Events, collection string) error {
	key, why := r.Rows[0].Key, "the database does not let it go: "+r.Err.Error()
	events.refused(collection, key, r.Err.Error())
	_, _, err := holds.AddHold(ctx, Hold{Scope: HoldRow, Key: key, Reason: why, By: refusedBy, For: RefusedRest})
	return err
}

// repetition is the first rows of the steps of a pass since one went, if holds kept all of a step.
type repetition map[string]bool

// of fails if a step begins as another one did, and none went since. Claim does not know the hold
// that keeps the row then, and the pass would not end.
func (r repetition) of(rows []Row, s Settled) error {
	switch {
	case s.Gone > 0:
		clear(r)
		return nil
	case s.Held+s.Refused == 0:
		return nil
	}
	key := rows[0].Key
	if r[key] {
		return fmt.Errorf("row %s is claimed again although a hold keeps it: report this, with the types and the collation of its key", Brief(key))
	}
	r[key] = true
	return nil
}

// add adds the outcome of other rows.
func (s *Settled) add(t Settled) {
	s.Gone += t.Gone
	s.Returned += t.Returned
	s.Lost += t.Lost
	s.Held += t.Held
	s.Refused += t.Refused
	s.Unreferenced += t.Unreferenced
	s.Drifted = append(s.Drifted, t.Drifted...)
}

// report counts the outcomes of rows.
func (s Settled) report(add func(string, int64), events *Events, collection string) {
	add("items", int64(s.Gone))
	add("rows", int64(s.Gone))
	add("returned", int64(s.Returned))
	add("lost", int64(s.Lost))
	add("held", int64(s.Held))
	add("refused", int64(s.Refused))
	add("unreferenced", int64(s.Unreferenced))
	events.drifted(collection, s.Drifted)
}
