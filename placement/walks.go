package placement

import (
	"context"
	"fmt"
	"math"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// enough is how many subjects may be due before the walks stop queueing more.
const enough = 2000

// full reports whether the queue is long enough.
func (o *Options) full(ctx context.Context) (bool, error) {
	b, err := o.Ledger.Queue.PlaceBacklog(ctx)
	if err != nil {
		return false, fmt.Errorf("placement: read the queue's length: %w", err)
	}
	return b.Count >= enough, nil
}

// subjectOf is the subject that a live blob belongs to.
func subjectOf(b ledger.Blob, leave string) ledger.Subject {
	if b.ContentID == "" {
		return ledger.Subject{ID: b.ID, Part: true, Leave: leave}
	}
	return ledger.Subject{ID: b.ContentID, Leave: leave}
}

// misplace queues the subjects of blobs.
func (o *Options) misplace(ctx context.Context, blobs []ledger.Blob, leave string) (int64, error) {
	if len(blobs) == 0 {
		return 0, nil
	}
	subjects := make([]ledger.Subject, len(blobs))
	for i, b := range blobs {
		subjects[i] = subjectOf(b, leave)
	}
	n, err := o.Ledger.Queue.QueuePlacements(ctx, subjects)
	if err != nil {
		return 0, fmt.Errorf("placement: queue: %w", err)
	}
	return int64(n), nil
}

// leaving is a walk over the live blobs that should leave their backends.
type leaving struct {
	o     *Options
	from  []string // backends, the first of which is walked over now
	even  string   // that one if copies leave it only to even out
	left  int64    // bytes that should leave
	after lethe.ID
}

func (l *leaving) done() bool { return len(l.from) == 0 || l.left <= 0 }

// next returns the next page of them, by id.
func (l *leaving) next(ctx context.Context) ([]ledger.Blob, error) {
	blobs, err := l.o.Ledger.Walk.Blobs(ctx, ledger.BlobQuery{Backend: l.from[0], States: []lethe.State{lethe.Live}, After: l.after, Limit: l.o.Page})
	if err != nil {
		return nil, fmt.Errorf("placement: blobs of %s: %w", l.from[0], err)
	}
	take := 0
	for take < len(blobs) && l.left > 0 {
		l.left -= blobs[take].Size
		take++
	}
	if len(blobs) < l.o.Page {
		l.from, l.after = l.from[1:], ""
	} else {
		l.after = blobs[len(blobs)-1].ID
	}
	return blobs[:take], nil
}

// queueing queues what should leave, a page in each step.
func (o *Options) queueing(begin func(context.Context) (*leaving, error)) Step {
	var l *leaving
	return func(ctx context.Context, add func(string, int64)) (_ bool, err error) {
		if l == nil {
			if l, err = begin(ctx); err != nil {
				return false, err
			}
		}
		full, err := o.full(ctx)
		if err != nil || full || l.done() {
			return false, err
		}
		blobs, err := l.next(ctx)
		if err != nil {
			return false, err
		}
		n, err := o.misplace(ctx, blobs, l.even)
		add(items, int64(len(blobs)))
		add(queued, n)
		return !l.done(), err
	}
}

// Drain queues what lies on draining backends, until nothing does: contents and the
// parts of open uploads. Blobs still in flight there are found by the next pass.
type Drain struct{ o *Options }

// NewDrain makes the routine.
func NewDrain(o Options) *Drain { return &Drain{o.withDefaults()} }

// Name returns "drain".
func (*Drain) Name() string { return "drain" }

// Plan counts the live blobs on draining backends.
func (d *Drain) Plan(ctx context.Context) (ledger.Backlog, error) {
	backends, err := d.o.Ledger.Backends.Backends(ctx)
	if err != nil {
		return ledger.Backlog{}, fmt.Errorf("placement: read backends: %w", err)
	}
	totals, err := d.o.Ledger.Backends.Totals(ctx)
	if err != nil {
		return ledger.Backlog{}, fmt.Errorf("placement: read totals: %w", err)
	}
	var out ledger.Backlog
	for _, b := range backends {
		for _, t := range totals {
			if b.Draining && t.Backend == b.ID && t.State == lethe.Live {
				out.Count += t.Blobs
				out.Bytes += t.Bytes
			}
		}
	}
	return out, nil
}

// Pass walks the blobs of each draining backend once.
func (d *Drain) Pass(string) Step { return d.o.queueing(d.begin) }

func (d *Drain) begin(ctx context.Context) (*leaving, error) {
	a, err := d.o.aims(ctx)
	if err != nil {
		return nil, err
	}
	l := &leaving{o: d.o, left: math.MaxInt64}
	for _, s := range a.sites {
		if s.Draining && s.Live > 0 {
			l.from = append(l.from, s.ID)
		}
	}
	return l, nil
}

// Rebalance queues blobs on the fullest backend by ratio, as long as the emptiest
// is emptier by more than the threshold, up to Options.MaxMove in a pass. Replicate
// decides again before it moves them.
type Rebalance struct{ o *Options }

// NewRebalance makes the routine.
func NewRebalance(o Options) *Rebalance { return &Rebalance{o.withDefaults()} }

// Name returns "rebalance".
func (*Rebalance) Name() string { return "rebalance" }

// Plan returns how many bytes a pass would move.
func (r *Rebalance) Plan(ctx context.Context) (ledger.Backlog, error) {
	a, err := r.o.aims(ctx)
	if err != nil {
		return ledger.Backlog{}, err
	}
	_, bytes := a.uneven(r.o.MaxMove)
	return ledger.Backlog{Bytes: bytes}, nil
}

// uneven returns the fullest backend, and how many bytes should leave it; none if
// the backends are alike enough.
func (a *aims) uneven(most int64) (from string, bytes int64) {
	var full, free *site
	for i := range a.sites {
		s := &a.sites[i]
		if !s.use || s.Capacity == 0 {
			continue
		}
		if full == nil || s.Ratio() > full.Ratio() {
			full = s
		}
		if s.Down == "" && (free == nil || s.Ratio() < free.Ratio()) {
			free = s
		}
	}
	if full == nil || free == nil || full.Ratio()-free.Ratio() <= a.threshold {
		return "", 0
	}
	// Until both are equally full.
	sum := float64(full.Used()+free.Used()) / float64(full.Capacity+free.Capacity)
	bytes = int64(float64(full.Used()) - sum*float64(full.Capacity))
	return full.ID, min(bytes, most, full.Live)
}

// Pass queues what should leave the fullest backend.
func (r *Rebalance) Pass(string) Step { return r.o.queueing(r.begin) }

func (r *Rebalance) begin(ctx context.Context) (*leaving, error) {
	a, err := r.o.aims(ctx)
	if err != nil {
		return nil, err
	}
	l := &leaving{o: r.o}
	if l.even, l.left = a.uneven(r.o.MaxMove); l.even != "" {
		l.from = []string{l.even}
	}
	return l, nil
}

// Survey walks all contents and queues those whose copies are not as wanted for
// reasons that no transaction queued (another factor, a backend that was removed
// from the configuration). It reads everything: once a week is enough, and once
// after a change of the factor.
type Survey struct{ o *Options }

// NewSurvey makes the routine.
func NewSurvey(o Options) *Survey { return &Survey{o.withDefaults()} }

// Name returns "survey".
func (*Survey) Name() string { return "survey" }

// Plan is empty: only the walk shows whether there is something to do.
func (*Survey) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass walks all contents once.
func (v *Survey) Pass(string) Step {
	after := lethe.ID("")
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		a, err := v.o.aims(ctx)
		if err != nil {
			return false, err
		}
		page, err := v.o.Ledger.Walk.PlacedContents(ctx, after, v.o.Page)
		if err != nil {
			return false, fmt.Errorf("placement: contents: %w", err)
		}
		var subjects []ledger.Subject
		for _, p := range page {
			if plan := a.decide(p); !plan.empty() {
				subjects = append(subjects, p.Subject)
			}
			after = p.ID
		}
		add(items, int64(len(page)))
		if len(subjects) > 0 {
			n, err := v.o.Ledger.Queue.QueuePlacements(ctx, subjects)
			if err != nil {
				return false, fmt.Errorf("placement: queue: %w", err)
			}
			add(queued, int64(n))
		}
		return len(page) == v.o.Page, nil
	}
}
