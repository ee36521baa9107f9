package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
)

// predicted checks a prediction in the quiet end: once the clock has come to the instant that it
// is for, and nobody but the engine has acted, the rows that it named are gone, and no others.
func (w *World) predicted(n *node) error {
	if !w.cfg.Predict || w.err != nil {
		return nil
	}
	if hash2(w.cfg.Seed, 92)%3 == 0 {
		w.setForward(safety.ClockJump + time.Duration(1+hash2(w.cfg.Seed, 93)%(72*60))*time.Minute)
		if err := w.foretold(n); err != nil || w.err != nil {
			return err
		}
		w.setForward(0)
	}
	return w.foretold(n)
}

// foretold predicts what goes by an instant, lets the routines run then, and compares. While the
// machine's clock is set forward, nothing may be predicted to go, and nothing may.
func (w *World) foretold(n *node) error {
	after := []time.Duration{0, 20 * time.Minute, 5 * time.Hour, 26 * time.Hour, 20 * 24 * time.Hour}[hash2(w.cfg.Seed, 91)%5]
	if w.limited() {
		after = 0 // a limit counts by the hour, and asks at each pass: what it lets go later depends on when passes are
	}
	by := w.now.Add(after)
	p := predict.Predictor{Ledger: w.ledger, Limits: w.limits, Batch: w.atOnce("purge"), Doubt: predict.Doubt(w.ledger)}
	f := foreseen{rows: map[lethe.ID]row{}, goes: map[limitKey]int64{}, doubt: p.Doubt}
	if (f.doubt != "") != (w.doubts.ahead > 0) {
		return broken("the clock is set forward by %s, and a prediction says %q", w.doubts.ahead, f.doubt)
	}
	ctx := context.Background()
	if err := p.Objects(ctx, by, f.add); err != nil {
		return err
	}
	if err := p.Trash(ctx, by, f.add); err != nil {
		return err
	}
	if after == 0 {
		if err := f.alone(ctx, p); err != nil {
			return err
		}
	}
	frees, err := w.frees(n, after)
	if err != nil {
		return err
	}
	var before, since View
	if err := w.ledger.Inspect(&before); err != nil {
		return err
	}
	w.advance(by)
	for _, name := range []string{"lifecycle", "expire", "purge"} {
		for _, r := range n.routines {
			switch {
			case r.Name() != name:
			case f.doubt != "":
				w.runInDoubt(r)
			default:
				w.drain(r)
			}
		}
	}
	if w.err != nil {
		return nil
	}
	if err := w.ledger.Inspect(&since); err != nil {
		return err
	}
	if err := f.hold(w.limits, before, since); err != nil {
		return broken("predicted for %s later: %w", after, err)
	}
	if freed := liveBytes(before) - liveBytes(since); frees >= 0 && freed != frees {
		return broken("a plan frees %d bytes, and a run %d", frees, freed)
	}
	return nil
}

// runInDoubt makes a pass while the clock is in doubt, which ends where it would remove by age.
func (w *World) runInDoubt(r reclaim.Routine) {
	step := r.Pass("janitor")
	var counts reclaim.Counts
	for more := true; more; {
		var err error
		if more, err = step(context.Background(), counts.Add); errors.Is(err, lethe.ErrClock) {
			return
		} else if err != nil {
			w.fail(broken("%s failed without a fault: %w", named(r.Name()), err))
			return
		}
	}
}

// frees is how many bytes a plan of what is due now frees; -1 if it cannot be said exactly.
func (w *World) frees(n *node, after time.Duration) (int64, error) {
	if after > 0 || w.limited() {
		return -1, nil
	}
	var t plan.Totals
	for _, r := range n.routines {
		p, ok := r.(reclaim.Planner)
		if !ok || r.Name() != "lifecycle" && r.Name() != "expire" && r.Name() != "purge" {
			continue
		}
		if err := p.Items(context.Background(), func(i plan.Item) error { t.Add(i); return nil }); err != nil {
			return 0, err
		}
	}
	return t.Frees, nil
}

func liveBytes(v View) (n int64) {
	for _, b := range v.Blobs {
		if b.State == lethe.Live {
			n += b.Size
		}
	}
	for _, c := range v.Contents {
		if c.Inline {
			n += c.Size
		}
	}
	return n
}

// row is a row of a prediction.
type row struct {
	predict.Due
	at   limitKey
	name string
}

// foreseen is a prediction: by row, and by the limit that counts it.
type foreseen struct {
	rows  map[lethe.ID]row
	goes  map[limitKey]int64
	doubt string // why nothing goes
}

func (f *foreseen) add(d predict.Due) error {
	at := limitKey{d.By.Limit(), string(d.Bucket)}
	if _, twice := f.rows[d.ID]; twice {
		return broken("%s is predicted twice", d.ID)
	}
	f.rows[d.ID] = row{d, at, d.BucketName + "/" + d.ObjectKey + d.Key}
	if d.Stays == "" {
		f.goes[at]++
	}
	return nil
}

// alone checks that a row by itself is predicted as it is among the others.
func (f *foreseen) alone(ctx context.Context, p predict.Predictor) error {
	for _, r := range f.rows {
		stays, _, err := p.One(ctx, r.Due.Due)
		if err != nil {
			return err
		}
		if (stays == "") != (r.Stays == "") {
			return broken("%s is predicted to stay, as %q, and by itself, as %q", r.name, r.Stays, stays)
		}
	}
	return nil
}

// hold compares a prediction with the rows before and after.
func (f *foreseen) hold(limits ledger.Limits, before, after View) error {
	there := map[lethe.ID]bool{}
	for _, o := range after.Objects {
		there[o.ID] = true
	}
	for _, e := range after.Trash {
		there[e.ID] = true
	}
	went := map[limitKey]int64{}
	check := func(id lethe.ID, name string) error {
		r, due := f.rows[id]
		switch {
		case !due && !there[id]:
			return fmt.Errorf("%s went, which was not predicted", name)
		case !due:
		case !there[id]:
			if went[r.at]++; r.Stays == predict.HeldText {
				return fmt.Errorf("%s went, and a hold was to keep it", name)
			}
			if f.doubt != "" {
				return fmt.Errorf("%s went, and was to stay, as %s", name, f.doubt)
			}
		case r.Stays == "" && (r.at.kind != ledger.LimitPurge || !limits.Purge.On()):
			return fmt.Errorf("%s stays, and was predicted to go", name)
		}
		return nil
	}
	for _, o := range before.Objects {
		if err := check(o.ID, o.Bucket+"/"+o.Key); err != nil {
			return err
		}
	}
	for _, e := range before.Trash {
		if err := check(e.ID, "trash of "+e.Object.Bucket+"/"+e.Object.Key); err != nil {
			return err
		}
	}
	for at, n := range f.goes {
		// A batch of purge is cut by the blobs that it condemns, so its limit may let more go.
		if went[at] != n && !(at.kind == ledger.LimitPurge && limits.Purge.On()) {
			return fmt.Errorf("%d went under the limit %s of %q, and %d were predicted", went[at], at.kind, at.subject, n)
		}
	}
	for at, n := range went {
		if f.goes[at] == 0 && n > 0 && at.kind != ledger.LimitPurge {
			return fmt.Errorf("%d went under the limit %s of %q, and none were predicted", n, at.kind, at.subject)
		}
	}
	return nil
}
