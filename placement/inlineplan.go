package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// The two ways of a content, as items have them in Seen.
const (
	wayIn  = "in"
	wayOut = "out"
)

func way(c ledger.Content) string {
	if c.Inline {
		return wayOut
	}
	return wayIn
}

// Items are the contents that a pass would move.
func (m *Inline) Items(ctx context.Context, yield func(plan.Item) error) error {
	a, err := m.o.aims(ctx)
	if err != nil {
		return err
	}
	for q := m.query(); ; {
		page, err := m.o.Ledger.Inline.MisplacedContents(ctx, q)
		if err != nil {
			return fmt.Errorf("placement: contents: %w", err)
		}
		placed, err := m.o.placed(ctx, page.Contents)
		if err != nil {
			return err
		}
		for _, p := range placed {
			if p.Content.ID == "" {
				continue
			}
			if err := yield(a.moving(m.Name(), p)); err != nil {
				return err
			}
		}
		if q.After = page.Last; page.Last == "" {
			return nil
		}
	}
}

func (o *Options) placed(ctx context.Context, list []ledger.Content) ([]ledger.Placement, error) {
	subjects := make([]ledger.Subject, len(list))
	for n, c := range list {
		subjects[n].ID = c.ID
	}
	out, err := o.Ledger.Walk.Placed(ctx, subjects)
	if err != nil {
		return nil, fmt.Errorf("placement: read copies: %w", err)
	}
	return out, nil
}

// moving describes the move of a content, which the aims then count as made.
func (a *aims) moving(do string, p ledger.Placement) plan.Item {
	i := plan.Item{Do: do, Kind: kindContent, ID: string(p.ID), Size: p.Content.Size, Seen: way(p.Content)}
	if !p.Content.Inline {
		var on []string
		for _, b := range p.Blobs {
			if b.State == lethe.Live {
				i.Blobs, i.Frees, on = i.Blobs+1, i.Frees+b.Size, append(on, b.Backend)
			}
		}
		i.Why = "moved into the ledger; condemned on " + listed(on)
		return i
	}
	to := a.targets(nil, i.Size)
	if len(to) == 0 {
		i.Why = "waits: no backend takes it now"
		return i
	}
	i.Copies, i.Why = 1, "moved out of the ledger to "+to[0]
	a.moved(ledger.Blob{Size: i.Size}, to[0])
	return i
}

// Apply moves the contents that still lie on the same side of the limit.
func (m *Inline) Apply(ctx context.Context, _ string, list []plan.Item, add func(string, int64)) (out []plan.Result, err error) {
	a, err := m.o.aims(ctx)
	if err != nil {
		return nil, err
	}
	contents := make([]ledger.Content, len(list))
	for n, id := range idsOf(list) {
		contents[n].ID = id
	}
	placed, err := m.o.placed(ctx, contents)
	if err != nil {
		return nil, err
	}
	for n, i := range list {
		if ctx.Err() != nil {
			return out, nil
		}
		out = append(out, m.applied(ctx, m.o.mover(&a, placed[n].Content, add), i))
	}
	return out, nil
}

func (m *Inline) applied(ctx context.Context, one *mover, i plan.Item) plan.Result {
	res := plan.Result{Item: i, Outcome: plan.Done}
	switch {
	case one.c.ID == "":
		one.add(items, 1)
		res.Outcome, res.Detail = plan.Gone, "the content is gone"
	case !m.query().Has(one.c):
		one.add(items, 1)
		res.Outcome, res.Detail = plan.Already, "it lies where store.inline has it"
	case way(one.c) != i.Seen:
		one.add(items, 1)
		res.Outcome, res.Detail = plan.Changed, "it lies on the other side now"
	default:
		switch err := one.move(ctx); {
		case errors.Is(err, lethe.ErrContentGone):
			res.Outcome, res.Detail = plan.Changed, "it was changed meanwhile"
		case err != nil:
			res.Outcome, res.Detail = plan.Failed, err.Error()
		}
	}
	return res
}
