package placement

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Items are the subjects that are due, and what is made and condemned for each in
// the end. It decides as a pass does, on the present state; what one fills counts
// for the next.
func (r *Replicate) Items(ctx context.Context, yield func(plan.Item) error) error {
	a, err := r.o.aims(ctx)
	if err != nil {
		return err
	}
	for q := (ledger.PlacementQuery{Limit: r.o.Page}); ; {
		rows, err := r.o.Ledger.Queue.QueuedPlacements(ctx, q)
		if err != nil {
			return fmt.Errorf("placement: what is queued: %w", err)
		}
		subjects := make([]ledger.Subject, len(rows))
		for n, row := range rows {
			subjects[n] = row.Subject
			q.After = ledger.DueMark{Due: row.DueAt, Name: string(row.ID)}
		}
		placed, err := r.o.Ledger.Walk.Placed(ctx, subjects)
		if err != nil {
			return fmt.Errorf("placement: read copies: %w", err)
		}
		if err := a.items(r.Name(), placed, yield); err != nil || len(rows) < q.Limit {
			return err
		}
	}
}

// items describes what becomes of subjects.
func (a *aims) items(do string, placed []ledger.Placement, yield func(plan.Item) error) error {
	for _, p := range placed {
		d := a.stepsFor(p)
		if d.empty() {
			continue
		}
		if err := yield(d.item(do, p)); err != nil {
			return err
		}
	}
	return nil
}

// steps are the copies made and condemned for a subject until its copies are as wanted.
type steps struct {
	copies []step
	ends   []step
	stuck  string // why less is done than wanted
}

// step is one copy that is made, or one that is condemned.
type step struct {
	segment int
	backend string
	size    int64
	blob    lethe.ID     // condemned
	reason  lethe.Reason // condemned
}

func (d *steps) empty() bool { return len(d.copies) == 0 && len(d.ends) == 0 && d.stuck == "" }

// stepsFor decides on a subject, then on its state afterwards, until only surplus
// copies are left. The aims then count all of it as done.
func (a *aims) stepsFor(p ledger.Placement) (d steps) {
	defer a.order()
	for range len(a.sites) + 1 {
		plan := a.decide(p)
		if d.stuck = plan.stuck; len(plan.copies) == 0 {
			d.trims(a, plan)
			return d
		}
		if slices.ContainsFunc(plan.copies, func(r replica) bool { return r.from[0].Suspect }) {
			d.stuck = "no sound copy is left: suspect ones are read again"
			return d
		}
		p.Blobs = slices.Clone(p.Blobs)
		for _, r := range plan.copies {
			p.Blobs = append(p.Blobs, d.copied(a, r))
			if p.Part {
				d.end(a, r.from[0], lethe.ReasonRebalance)
			}
		}
		if p.Part {
			return d
		}
		slices.SortStableFunc(p.Blobs, func(x, y ledger.Blob) int { return x.Segment - y.Segment })
	}
	return d
}

// copied counts a copy as made, and returns it.
func (d *steps) copied(a *aims, r replica) ledger.Blob {
	b := r.from[0]
	b.ID, b.Backend, b.VerifiedAt = "", r.to[0], 1
	d.copies = append(d.copies, step{segment: r.segment, backend: b.Backend, size: b.Size})
	a.site(b.Backend).Live += b.Size
	return b
}

func (d *steps) trims(a *aims, p decision) {
	for _, t := range p.trims {
		for _, b := range t.blobs {
			d.end(a, b, t.reason)
		}
	}
}

// end counts a copy as condemned.
func (d *steps) end(a *aims, b ledger.Blob, why lethe.Reason) {
	d.ends = append(d.ends, step{segment: b.Segment, backend: b.Backend, size: b.Size, blob: b.ID, reason: why})
	if s := a.site(b.Backend); s != nil {
		s.Live -= b.Size
		s.Orphan += b.Size
	}
}

// The kinds of subjects.
const (
	kindContent = "content"
	kindPart    = "part"
)

// item returns the steps for a subject as an item of a plan. Its size is what is
// copied, or else what is condemned.
func (d *steps) item(do string, p ledger.Placement) plan.Item {
	i := plan.Item{Do: do, Kind: kindContent, ID: string(p.ID), Copies: int64(len(d.copies)), Blobs: int64(len(d.ends)), Seen: d.String()}
	if p.Part {
		i.Kind = kindPart
	}
	for _, c := range d.copies {
		i.Size += c.size
	}
	for _, e := range d.ends {
		i.Frees += e.size
	}
	if len(d.copies) == 0 {
		i.Size = i.Frees
	}
	i.Why = d.why()
	return i
}

// why describes the steps by one of a bounded number of texts.
func (d *steps) why() string {
	var to, ends []string
	for _, c := range d.copies {
		to = append(to, c.backend)
	}
	for _, e := range d.ends {
		ends = append(ends, string(e.reason)+" on "+e.backend)
	}
	var out []string
	if len(to) > 0 {
		out = append(out, "copied to "+listed(to))
	}
	if len(ends) > 0 {
		out = append(out, "condemned: "+listed(ends))
	}
	switch {
	case len(out) == 0:
		return "waits: too few backends take a copy now, or hold a sound one"
	case d.stuck != "":
		out = append(out, "then waits")
	}
	return strings.Join(out, "; ")
}

// listed joins a list without repetitions.
func listed(list []string) string {
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}

// String names each step; parseSteps reads it.
func (d *steps) String() string {
	var out []string
	for _, c := range d.copies {
		out = append(out, fmt.Sprintf("copy %d %s", c.segment, c.backend))
	}
	for _, e := range d.ends {
		out = append(out, "condemn "+string(e.blob))
	}
	return strings.Join(out, ";")
}

// parseSteps reads what String wrote.
func parseSteps(text string) (d steps, err error) {
	for part := range strings.SplitSeq(text, ";") {
		if part == "" {
			continue
		}
		var c step
		if id, found := strings.CutPrefix(part, "condemn "); found {
			d.ends = append(d.ends, step{blob: lethe.ID(id)})
			continue
		}
		if _, err := fmt.Sscanf(part, "copy %d %s", &c.segment, &c.backend); err != nil {
			return d, fmt.Errorf("placement: a plan has the unknown step %q: %w", part, err)
		}
		d.copies = append(d.copies, c)
	}
	return d, nil
}
