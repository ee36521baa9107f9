package reclaim

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// RunLedger records passes of routines.
type RunLedger interface {
	StartRun(ctx context.Context, r ledger.Run) error
	// BeatRun and FinishRun: ErrFenced if the run is not in progress.
	BeatRun(ctx context.Context, id lethe.ID, counts map[string]int64) error
	FinishRun(ctx context.Context, id lethe.ID, outcome string, counts map[string]int64) error
	// LastRuns returns the newest run of each routine and, separately, its newest
	// successful one.
	LastRuns(ctx context.Context) (last, succeeded map[string]ledger.Run, err error)
	// BeginRun starts a run of a routine that must run once at a time, unless
	// another BeginRun's is in progress on another worker with a heartbeat younger
	// than Stale, or a run succeeded that began after Seen. A stale one is ended
	// first, whether the new run begins or not.
	BeginRun(ctx context.Context, s ledger.Solo) (ledger.SoloResult, error)
}

// beatEvery is the interval of a run's heartbeat.
const beatEvery = 10 * time.Second

// recordTime bounds how long the end of a run is recorded after a stop was requested.
const recordTime = 10 * time.Second

// recorder keeps a run's row. A run that does nothing leaves none.
type recorder struct {
	loop   *Loop
	counts *Counts

	mu      sync.Mutex
	run     ledger.Run
	started bool
	atLimit atomic.Bool  // the run ends at its limit
	steps   atomic.Int64 // what the steps in progress may take, of a run with a limit
}

// errTakenOver ends a run that another instance has ended as stale.
var errTakenOver = errors.New("taken over by another instance: this one had sent no heartbeat")

// alive runs work and sends the run's heartbeat meanwhile, even while a step takes
// long. A run that was taken over is cancelled. Its deletions are recorded on
// behalf of the run, and of the operator who started it.
func (r *recorder) alive(ctx context.Context, work func(context.Context) error) error {
	by := lethe.CallerOf(ctx)
	by.Run = r.run.ID
	ctx, stop := context.WithCancelCause(lethe.WithCaller(ctx, by))
	defer stop(nil)
	var beats sync.WaitGroup
	defer beats.Wait()
	ended := make(chan struct{})
	defer close(ended)
	beats.Go(func() {
		tick := time.NewTicker(cmp.Or(r.loop.BeatEvery, beatEvery))
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				if err := r.beat(ctx); errors.Is(err, lethe.ErrFenced) {
					stop(errTakenOver)
				}
			}
		}
	})
	err := work(ctx)
	if err == nil && errors.Is(context.Cause(ctx), errTakenOver) {
		return errTakenOver
	}
	return err
}

// note records the run at its first work.
func (r *recorder) note(ctx context.Context) {
	counts := r.counts.Map()
	if len(counts) == 0 {
		return
	}
	r.loop.note(r.run.Routine, func(st *State) { st.Counts = counts })
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		r.lost(ctx, r.start(ctx))
	}
}

// beat is the heartbeat of a recorded run.
func (r *recorder) beat(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		return nil
	}
	err := r.loop.Ledger.BeatRun(ctx, r.run.ID, r.counts.Map())
	r.lost(ctx, err)
	return err
}

func (r *recorder) lost(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.loop.Events.emitBookkeepingFailed("heartbeat of run "+string(r.run.ID), err)
	}
}

func (r *recorder) start(ctx context.Context) error {
	r.run.BeatAt = r.loop.Clock.Now()
	err := r.loop.Ledger.StartRun(ctx, r.run)
	r.started = err == nil
	return err
}

// finish records the run's end, even after ctx has ended.
func (r *recorder) finish(ctx context.Context, failure error) map[string]int64 {
	interrupted := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts.Map()
	if len(counts) == 0 && failure == nil && !r.started {
		return counts
	}
	r.run.Counts, r.run.FinishedAt, r.run.Outcome = counts, r.loop.Clock.Now(), outcomeOf(failure, interrupted)
	err := r.ensureStarted(ctx)
	if err == nil {
		err = r.loop.Ledger.FinishRun(ctx, r.run.ID, r.run.Outcome, counts)
	}
	if err != nil {
		r.loop.Events.emitBookkeepingFailed("end of run "+string(r.run.ID), err)
	}
	r.loop.Events.emitRunEnded(r.run, failure)
	return counts
}

// ensureStarted writes the row if no heartbeat has done so.
func (r *recorder) ensureStarted(ctx context.Context) error {
	if r.started {
		return nil
	}
	return r.start(ctx)
}

func outcomeOf(failure error, interrupted bool) string {
	switch {
	case failure != nil:
		return "failed: " + failure.Error()
	case interrupted:
		return "interrupted"
	}
	return "ok"
}
