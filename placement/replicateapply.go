package placement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Apply makes the copies and condemns the copies that the items name, each under a
// claim on its subject, and only if a pass would still do so. Everything else stays
// queued.
func (r *Replicate) Apply(ctx context.Context, worker string, list []plan.Item, add func(string, int64)) (out []plan.Result, err error) {
	for some := range slices.Chunk(list, r.o.Claim) {
		results, err := r.apply(ctx, worker, some, add)
		out = append(out, results...)
		if err != nil || ctx.Err() != nil {
			return out, err
		}
	}
	return out, nil
}

// apply takes as many items as a claim has.
func (r *Replicate) apply(ctx context.Context, worker string, list []plan.Item, add func(string, int64)) (out []plan.Result, err error) {
	a, err := r.o.aims(ctx)
	if err != nil {
		return nil, err
	}
	claim := ledger.PlacementClaim{Worker: worker, Limit: len(list), Lease: r.o.Lease, Only: idsOf(list)}
	claimed, err := r.o.Ledger.Queue.ClaimPlacements(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("placement: claim: %w", err)
	}
	mine := map[string]ledger.Placement{}
	for _, p := range claimed.Items {
		mine[string(p.ID)] = p
	}
	var rest []plan.Item
	for _, i := range list {
		p, found := mine[i.ID]
		if !found {
			rest = append(rest, i)
			continue
		}
		delete(mine, i.ID)
		if ctx.Err() != nil {
			return out, r.o.release(ctx, claimed, append(slices.Collect(maps.Values(mine)), p))
		}
		w := &work{o: r.o, aims: &a, p: p, add: add, now: claimed.Now, copier: copier{r.o, claimed.Fence, p.ID}}
		res, err := w.applied(ctx, i)
		if err != nil {
			return out, err
		}
		out = append(out, res)
	}
	results, err := r.o.unclaimed(ctx, rest)
	return append(out, results...), err
}

func idsOf(list []plan.Item) []lethe.ID {
	out := make([]lethe.ID, len(list))
	for n, i := range list {
		out[n] = lethe.ID(i.ID)
	}
	return out
}

// applied does what an item names and settles its subject.
func (w *work) applied(ctx context.Context, i plan.Item) (plan.Result, error) {
	w.add(items, 1)
	res, end := w.named(ctx, i)
	_, err := w.settle(ctx, end)
	return res, err
}

// named does what an item names, if that is part of what would be done now. The
// subject stays queued for the rest.
func (w *work) named(ctx context.Context, i plan.Item) (plan.Result, ledger.PlacementResult) {
	end := ledger.PlacementResult{ID: w.p.ID, RetryAt: w.now}
	said := func(o plan.Outcome, detail string) (plan.Result, ledger.PlacementResult) {
		return plan.Result{Item: i, Outcome: o, Detail: detail}, end
	}
	want, err := parseSteps(i.Seen)
	if err != nil {
		return said(plan.Failed, err.Error())
	}
	now := w.aims.decide(w.p)
	switch {
	case now.empty() && len(w.p.Blobs) == 0:
		end.Done = true
		return said(plan.Gone, "nothing refers to it now")
	case now.empty():
		end.Done = true
		return said(plan.Already, "its copies are as wanted")
	case i.Seen == "":
		return said(plan.Held, "nothing could be done when it was planned; now: "+now.String())
	}
	err = w.carryOut(ctx, now, want)
	var other changed
	switch {
	case errors.As(err, &other):
		return said(plan.Changed, other.Error())
	case errors.Is(err, lethe.ErrFenced), errors.Is(err, lethe.ErrContentGone):
		return said(plan.Changed, "it was changed meanwhile")
	case err != nil:
		w.add(stuck, 1)
		end.Error, end.RetryAt = err.Error(), w.now.Add(backoff(w.p.Attempts))
		return said(plan.Failed, err.Error())
	}
	return said(plan.Done, "")
}

// changed is the error of an item that would not be done now.
type changed struct{ now string }

// Error implements error.
func (c changed) Error() string {
	if c.now == "" {
		return "it is no longer needed"
	}
	return "now: " + c.now
}

// carryOut makes the wanted copies, then condemns the wanted ones of those that are
// surplus by then.
func (w *work) carryOut(ctx context.Context, now decision, want steps) error {
	if len(want.copies) > 0 {
		copies, ok := now.copying(want)
		if !ok {
			return changed{now.String()}
		}
		if err := w.act(ctx, &decision{copies: copies}); err != nil {
			return err
		}
		if w.p.Part {
			return nil // the old one went with the new one
		}
		placed, err := w.o.Ledger.Walk.Placed(ctx, []ledger.Subject{w.p.Subject})
		if err != nil {
			return err
		}
		w.p.Content, w.p.Blobs = placed[0].Content, placed[0].Blobs
		now = w.aims.decide(w.p)
	}
	trims, ok := now.ending(want)
	if !ok {
		return changed{now.String()}
	}
	return w.act(ctx, &decision{trims: trims})
}

// copying returns the wanted copies of a plan, each to the named backend; ok is
// false if one of them is not to be made.
func (p *decision) copying(want steps) (out []replica, ok bool) {
	for _, c := range want.copies {
		at := slices.IndexFunc(p.copies, func(r replica) bool {
			return r.segment == c.segment && !r.from[0].Suspect && slices.Contains(r.to, c.backend)
		})
		if at < 0 {
			return nil, false
		}
		r := p.copies[at]
		r.to = []string{c.backend}
		out = append(out, r)
	}
	return out, true
}

// ending returns the wanted trims of a plan; ok is false if one of them is not to
// be made.
func (p *decision) ending(want steps) (out []trim, ok bool) {
	n := 0
	for _, t := range p.trims {
		t.blobs = slices.DeleteFunc(slices.Clone(t.blobs), func(b ledger.Blob) bool {
			return !slices.ContainsFunc(want.ends, func(e step) bool { return e.blob == b.ID })
		})
		if n += len(t.blobs); len(t.blobs) > 0 {
			out = append(out, t)
		}
	}
	return out, n == len(want.ends)
}

// unclaimed explains why the subjects of items could not be claimed.
func (o *Options) unclaimed(ctx context.Context, list []plan.Item) (out []plan.Result, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	rows, err := o.Ledger.Queue.QueuedPlacements(ctx, ledger.PlacementQuery{Only: idsOf(list)})
	if err != nil {
		return nil, fmt.Errorf("placement: what is queued: %w", err)
	}
	for _, i := range list {
		res := plan.Result{Item: i, Outcome: plan.Gone, Detail: "it is not queued any more: it was processed, or is gone"}
		for _, row := range rows {
			switch {
			case string(row.ID) != i.ID:
			case row.Fence != 0:
				res.Outcome, res.Detail = plan.Busy, "another worker has it"
			default:
				res.Outcome, res.Detail = plan.NotDue, "it is tried again at "+row.DueAt.String()
			}
		}
		out = append(out, res)
	}
	return out, nil
}
