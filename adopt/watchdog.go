package adopt

import "context"

// Watchdog makes rows of dead workers live again.
type Watchdog struct {
	Collection string
	Records    Records
	Grace      Grace
	Batch      int
}

// Name returns the routine's name in runs and metrics.
func (w *Watchdog) Name() string { return "watchdog " + w.Collection }

// Plan returns nothing: stuck rows are not a backlog.
func (w *Watchdog) Plan(context.Context) (Backlog, error) { return Backlog{}, nil }

// Pass runs until no claim is too old.
func (w *Watchdog) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		n, err := w.Records.Recover(ctx, w.Grace.Watchdog, w.Batch)
		add("items", int64(n))
		return err == nil && n == w.Batch, err
	}
}

// Recache drops copies once more, which a reader may have filled in after their
// row was claimed.
type Recache struct {
	Collection string
	Cached     Cached
	Copies     Copies
}

// dropBatches is the number of batches of copies per step.
const dropBatches = 10

// Name returns the routine's name in runs and metrics.
func (r *Recache) Name() string { return "recache " + r.Collection }

// Plan returns nothing: copies are not a backlog.
func (r *Recache) Plan(context.Context) (Backlog, error) { return Backlog{}, nil }

// Pass runs until no copies are due.
func (r *Recache) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		due, err := r.Cached.DropAgain(ctx, dropBatches)
		if err != nil {
			return false, err
		}
		var ids []int64
		for _, a := range due {
			if err := r.Copies.Drop(ctx, a.Keys); err != nil {
				return false, err
			}
			add("items", int64(len(a.Keys)))
			ids = append(ids, a.ID)
		}
		if len(ids) == 0 {
			return false, nil
		}
		return len(due) == dropBatches, r.Cached.Dropped(ctx, ids)
	}
}
