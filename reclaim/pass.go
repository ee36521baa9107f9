package reclaim

import "context"

// Pass makes one pass of a routine as a run makes it, with one worker and in the
// caller's goroutine: each step under the gate of Confirmed, ended for its limit,
// governed and throttled. It is no run: nothing is recorded, and nothing keeps another
// from running beside it. It returns what it did, whether it failed or not.
func (l *Loop) Pass(ctx context.Context, s Scheduled, worker string) (map[string]int64, error) {
	run := l.newRun(s.Routine.Name())
	run.started = true // so that no row of it is begun
	err := l.pass(ctx, s, run, worker)
	if err == nil {
		err = l.leaves(ctx, s, run)
	}
	return run.counts.Map(), err
}
