package reclaim

import "context"

// Pass makes one pass of a routine as a run does, with one worker and in the
// caller's goroutine. Each step is checked by Confirmed, bounded by the limit, and
// throttled. It is not a run: nothing is recorded, and another may run
// concurrently. It returns what it did, even if it failed.
func (l *Loop) Pass(ctx context.Context, s Scheduled, worker string) (map[string]int64, error) {
	run := l.newRun(s.Routine.Name())
	run.started = true // so that no row is written
	err := l.pass(ctx, s, run, worker)
	if err == nil {
		err = l.leaves(ctx, s, run)
	}
	return run.counts.Map(), err
}
