package placement

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Items are the copies that leave draining backends, and what becomes of them. It
// decides as Replicate does once they are queued, on the present state; what a move
// fills counts for the next.
func (d *Drain) Items(ctx context.Context, yield func(plan.Item) error) error {
	return d.o.leavers(ctx, d.Name(), d.begin, yield)
}

// Items are the copies that one pass moves off the fullest backend.
func (r *Rebalance) Items(ctx context.Context, yield func(plan.Item) error) error {
	return r.o.leavers(ctx, r.Name(), r.begin, yield)
}

// leavers decides on the copies that a walk finds to leave.
func (o *Options) leavers(ctx context.Context, do string, begin func(context.Context) (*leaving, error), yield func(plan.Item) error) error {
	a, err := o.aims(ctx)
	if err != nil {
		return err
	}
	l, err := begin(ctx)
	for err == nil && !l.done() {
		var blobs []ledger.Blob
		if blobs, err = l.next(ctx); err == nil {
			err = o.decideOn(ctx, &a, blobs, l.even, func(i plan.Item) error {
				i.Do = do
				return yield(i)
			})
		}
	}
	return err
}

// decideOn decides on a page of blobs.
func (o *Options) decideOn(ctx context.Context, a *aims, blobs []ledger.Blob, leave string, yield func(plan.Item) error) error {
	var subjects []ledger.Subject
	known := map[lethe.ID]int{}
	for _, b := range blobs {
		s := subjectOf(b, leave)
		if _, twice := known[s.ID]; !twice {
			known[s.ID] = len(subjects)
			subjects = append(subjects, s)
		}
	}
	placed, err := o.Ledger.Walk.Placed(ctx, subjects)
	if err != nil {
		return fmt.Errorf("placement: read copies: %w", err)
	}
	for _, b := range blobs {
		lies := placed[known[subjectOf(b, leave).ID]]
		p := a.decide(lies)
		i, leaves := a.item(&p, b, a.before(lies, b))
		if !leaves {
			continue
		}
		if err := yield(i); err != nil {
			return err
		}
	}
	return nil
}

// item describes what a plan does with a copy; leaves is false if it stays. Of
// several copies of the same bytes that leave, each is given another of the new
// ones; before is how many come before it. The aims then count the move as made.
func (a *aims) item(p *decision, b ledger.Blob, before int) (i plan.Item, leaves bool) {
	i = plan.Item{Kind: "blob", ID: string(b.ID), Backend: b.Backend, Size: b.Size, Blobs: 1, Frees: b.Size}
	var to []string
	for _, r := range p.copies {
		if r.segment == b.Segment || b.ContentID == "" {
			to = append(to, r.to[0])
		}
	}
	slices.Sort(to) // an order that moves made meanwhile do not change
	switch {
	case before < len(to):
		i.Why, i.With = "copied to "+to[before]+", then condemned", to[before]
	case len(to) > 0:
		i.Why = "condemned, once copies lie elsewhere"
	}
	if i.Why != "" {
		a.moved(b, i.With)
		return i, true
	}
	for _, t := range p.trims {
		for _, over := range t.blobs {
			if over.ID == b.ID {
				i.Why = "condemned, as enough copies lie elsewhere"
				return i, true
			}
		}
	}
	i.Why, i.Blobs, i.Frees = "waits: too few backends take a copy now", 0, 0
	return i, p.stuck != ""
}

// before counts the copies of a blob's bytes that have to leave their backends, and
// come before it.
func (a *aims) before(p ledger.Placement, b ledger.Blob) (n int) {
	for _, c := range p.Blobs {
		if s := a.site(c.Backend); c.Segment == b.Segment && c.State == lethe.Live && (s == nil || !s.use) && c.ID < b.ID {
			n++
		}
	}
	return n
}

// moved counts a copy as made on another backend, if there is one, and the old one
// as condemned.
func (a *aims) moved(b ledger.Blob, to string) {
	if s := a.site(b.Backend); s != nil {
		s.Live -= b.Size
		s.Orphan += b.Size
	}
	if s := a.site(to); s != nil {
		s.Live += b.Size
	}
	a.order()
}

// Apply queues the copies that still lie on a draining backend. Replicate then
// decides on each anew, under its claim.
func (d *Drain) Apply(ctx context.Context, _ string, list []plan.Item, add func(string, int64)) ([]plan.Result, error) {
	a, err := d.o.aims(ctx)
	if err != nil {
		return nil, err
	}
	return d.o.leave(ctx, list, add, func(i plan.Item) string {
		if s := a.site(i.Backend); s == nil || !s.Draining {
			return "the backend is not drained any more"
		}
		return ""
	}, false)
}

// Apply queues the copies that still lie where they were. Replicate moves them if
// that still makes the backends more alike.
func (r *Rebalance) Apply(ctx context.Context, _ string, list []plan.Item, add func(string, int64)) ([]plan.Result, error) {
	a, err := r.o.aims(ctx)
	if err != nil {
		return nil, err
	}
	return r.o.leave(ctx, list, add, func(i plan.Item) string {
		if from, _ := a.uneven(r.o.MaxMove); from != i.Backend {
			return "the backend is not the fullest any more, or the others are as full"
		}
		return ""
	}, true)
}

// leave queues the copies of a plan that still lie where they were seen, unless
// refuse returns a reason. Even: they leave only to even out.
func (o *Options) leave(ctx context.Context, list []plan.Item, add func(string, int64), refuse func(plan.Item) string, even bool) (out []plan.Result, err error) {
	rows, err := o.Ledger.Walk.BlobsByID(ctx, idsOf(list))
	if err != nil {
		return nil, fmt.Errorf("placement: read blobs: %w", err)
	}
	there := make(map[lethe.ID]ledger.Blob, len(rows))
	for _, b := range rows {
		there[b.ID] = b
	}
	for _, i := range list {
		res, err := o.leaveOne(ctx, i, there[lethe.ID(i.ID)], refuse(i), even)
		if err != nil {
			return out, err
		}
		out = append(out, counted(add, res))
	}
	return out, nil
}

// counted counts an item, and whether it was queued.
func counted(add func(string, int64), res plan.Result) plan.Result {
	add(items, 1)
	if res.Outcome == plan.Done {
		add(queued, 1)
	}
	return res
}

func (o *Options) leaveOne(ctx context.Context, i plan.Item, b ledger.Blob, refused string, even bool) (plan.Result, error) {
	res := plan.Result{Item: i, Outcome: plan.Done}
	switch {
	case b.ID == "":
		res.Outcome, res.Detail = plan.Gone, "its row is gone"
		return res, nil
	case b.State != lethe.Live || b.Backend != i.Backend:
		res.Outcome, res.Detail = plan.Changed, "it is "+b.State.String()+" on "+b.Backend
		return res, nil
	case refused != "":
		res.Outcome, res.Detail = plan.Changed, refused
		return res, nil
	}
	leave := ""
	if even {
		leave = i.Backend
	}
	n, err := o.misplace(ctx, []ledger.Blob{b}, leave)
	if n == 0 {
		res.Outcome, res.Detail = plan.Already, "it is queued already"
	}
	return res, err
}
