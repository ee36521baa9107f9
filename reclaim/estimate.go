package reclaim

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Estimate returns what applying a plan costs: calls to backends, by the size of
// batches, and time, by what the newest successful run of each routine took per
// item. A routine without a known run has no time.
func (l *Loop) Estimate(ctx context.Context, t *plan.Totals) ([]plan.Estimate, error) {
	_, runs, err := l.Ledger.LastRuns(ctx)
	if err != nil {
		return nil, err
	}
	var out []plan.Estimate
	for _, do := range t.Does() {
		e := plan.Estimate{Do: do}
		for _, g := range t.Groups {
			if g.Do == do && g.Stays == "" {
				e.Calls += l.calls(do, g)
				e.Later += l.later(do, g)
			}
		}
		by, count := pacedBy(do)
		timed(&e, runs[by], count, t.By()[do].Items)
		out = append(out, e)
	}
	return out, nil
}

// pacedBy names the routine whose runs show how long items take, and its count of
// them. What drain, rebalance and survey queue is handled by replicate.
func pacedBy(do string) (routine, count string) {
	switch do {
	case "drain", "rebalance":
		return "replicate", "copies"
	case "survey":
		return "replicate", Items
	}
	return do, Items
}

// minBasis is the fewest items of a run that say how long an item takes: of a few, what a run
// costs in any case is most of it.
const minBasis = 100

// timed adds how long items take at the rate of a run.
func timed(e *plan.Estimate, r ledger.Run, count string, items int64) {
	took := r.FinishedAt.Sub(r.StartedAt).Seconds()
	if done := r.Counts[count]; (done >= minBasis || e.Do == "reconcile") && took > 0 {
		e.Rate = float64(done) / took
		e.Seconds = float64(items) / e.Rate
		if e.Do == "reconcile" {
			e.Seconds = took // it walks over everything in any case
		}
		e.Basis = fmt.Sprintf("run %s: %d in %.3g s", r.ID, done, took)
	}
}

// calls is how many calls of backends a group of items takes.
func (l *Loop) calls(do string, g plan.Group) int64 {
	switch do {
	case "clean":
		return batchesOf(g.Items, l.batchOf(do))
	case "inline":
		return g.Items // one reads a copy, or puts one
	case "reap":
		return 2 * g.Items // one looks the blob up, one reads it
	case "reconcile":
		return g.Items // one looks the key up, beside the listing
	case "drain", "rebalance":
		return 3 * g.Blobs // one reads the copy, one puts the new one, one verifies it
	case "replicate", "survey":
		return 3 * g.Copies // the same
	case "import":
		return 4 * g.Items // two look the foreign key up, one reads it, one puts the blob
	}
	return 0
}

// later is how many calls it takes to delete what is condemned with a group.
func (l *Loop) later(do string, g plan.Group) int64 {
	if do == "clean" {
		return 0
	}
	return batchesOf(g.Blobs, l.batchOf("clean"))
}

// batched is a routine that deletes many blobs by one call of a backend.
type batched interface {
	Routine
	BatchSize() int
}

// batchOf is how many blobs a call deletes.
func (l *Loop) batchOf(name string) int {
	for _, s := range l.Routines {
		if r, ok := s.Routine.(batched); ok && r.Name() == name {
			return r.BatchSize()
		}
	}
	return 0
}

func batchesOf(items int64, size int) int64 {
	if size <= 0 || items == 0 {
		return min(items, 1)
	}
	return (items + int64(size) - 1) / int64(size)
}
