package reclaim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// Safety is every grace period and bound of the engine, with what each protects
// from. None of them protects live bytes: names that are never reused and the
// states of the ledger do. They keep slow actors working and the books exact.
// The zero value of a field takes the default.
type Safety struct {
	// MinAge is how long an intent's heartbeat must be silent before the reaper
	// takes it: protects a slow but living writer from failing. Default 5 min.
	MinAge time.Duration
	// LateWindow is the longest time in which an upload may still land after it was
	// given up, by its writer or by the reaper: protects from bytes without a row.
	// Default 1 h.
	LateWindow time.Duration
	// ReadGrace is how long a blob that was live stays on its backend after it was
	// condemned: protects readers that resolved it just before. Readers that take
	// longer extend it. Default 1 min.
	ReadGrace time.Duration
	// MovedGrace is how long a blob stays on its backend after its content was moved
	// into the ledger: protects the restore of a backup from before the move, which
	// names it. Default 7 days.
	MovedGrace time.Duration
	// ClaimGrace is the age at which a claim counts as left by a dead worker:
	// protects a slow worker from having its work repeated. Default 5 min.
	ClaimGrace time.Duration
	// MultipartStale is how long a multipart upload may lie untouched before it is
	// aborted: protects clients that pause. Default 24 h.
	MultipartStale time.Duration
	// BackoffMin and BackoffMax bound the wait between attempts to delete a blob:
	// protect a struggling backend. Defaults 1 min and 24 h.
	BackoffMin, BackoffMax time.Duration
	// Attempts is how often a delete is tried before it becomes a dead letter:
	// protects the queue from items that never succeed. Default 10.
	Attempts int
	// OrphanGrace is the minimum age of a key without a row, by its first sighting
	// and by its name, before it is condemned: gives an operator time to notice
	// that the ledger is not the right one. Default 48 h.
	OrphanGrace time.Duration
	// PlanAge is the age at which a plan is refused unless it is forced: protects
	// from applying an outdated plan. Default 24 h.
	PlanAge time.Duration
	// OpsKept is how long the outcome of an operation can be looked up: protects
	// clients whose answer was lost. Default 24 h.
	OpsKept time.Duration
	// PassTime is how long a pass advances before it begins again at the oldest:
	// bounds how long rows that become due behind its place wait. Default 1 min.
	PassTime time.Duration
	// Beat is how often every process checks the epochs of backends, and one
	// advances them: within it a ledger notices that it is one of two. Default 1
	// min.
	Beat time.Duration
	// ClockJump is how far the wall clock may run ahead of the time since the
	// machine started before nothing is removed by age: protects from a clock that
	// was set forward. It exceeds ordinary corrections. Default 5 min.
	ClockJump time.Duration
	// SealAfter is the longest time that a receipt of deletion waits to be sealed
	// where little is deleted: it keeps segments few, which every look-up reads.
	// Default 10 min.
	SealAfter time.Duration
}

// WithDefaults returns s with zero fields replaced by their defaults.
func (s Safety) WithDefaults() Safety {
	return Safety{
		MinAge:         cmp.Or(s.MinAge, 5*time.Minute),
		LateWindow:     cmp.Or(s.LateWindow, time.Hour),
		ReadGrace:      cmp.Or(s.ReadGrace, lethe.DefaultReadGrace),
		MovedGrace:     cmp.Or(s.MovedGrace, lethe.DefaultMovedGrace),
		ClaimGrace:     cmp.Or(s.ClaimGrace, 5*time.Minute),
		MultipartStale: cmp.Or(s.MultipartStale, 24*time.Hour),
		BackoffMin:     cmp.Or(s.BackoffMin, time.Minute),
		BackoffMax:     cmp.Or(s.BackoffMax, 24*time.Hour),
		Attempts:       cmp.Or(s.Attempts, 10),
		OrphanGrace:    cmp.Or(s.OrphanGrace, 48*time.Hour),
		PlanAge:        cmp.Or(s.PlanAge, 24*time.Hour),
		OpsKept:        cmp.Or(s.OpsKept, 24*time.Hour),
		PassTime:       cmp.Or(s.PassTime, time.Minute),
		Beat:           cmp.Or(s.Beat, time.Minute),
		ClockJump:      cmp.Or(s.ClockJump, 5*time.Minute),
		SealAfter:      cmp.Or(s.SealAfter, 10*time.Minute),
	}
}

// DeleteTime is how long deletes may last after ledger and backend were compared:
// half a beat. After that the comparison does not count any more.
func (s Safety) DeleteTime() time.Duration { return s.WithDefaults().Beat / 2 }

// RunBeat is the interval of a run's heartbeat: several times within ClaimGrace,
// after which the watchdog ends a run without one.
func (s Safety) RunBeat() time.Duration { return min(beatEvery, s.WithDefaults().ClaimGrace/4) }

// Validate returns an error for each invalid field, by its name.
func (s Safety) Validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"min_age", s.MinAge}, {"late_window", s.LateWindow}, {"read_grace", s.ReadGrace}, {"moved_grace", s.MovedGrace},
		{"claim_grace", s.ClaimGrace}, {"multipart_stale", s.MultipartStale},
		{"backoff_min", s.BackoffMin}, {"backoff_max", s.BackoffMax}, {"ops_kept", s.OpsKept}, {"plan_age", s.PlanAge}, {"orphan_grace", s.OrphanGrace}, {"seal_after", s.SealAfter}, {"pass_time", s.PassTime}, {"heartbeat", s.Beat}, {"clock_jump", s.ClockJump},
	} {
		if f.d < 0 {
			errs = append(errs, fmt.Errorf("%s is %s: it must not be negative", f.name, f.d))
		}
	}
	if s.Attempts < 0 {
		errs = append(errs, fmt.Errorf("attempts is %d: it must be at least 1", s.Attempts))
	}
	if d := s.WithDefaults(); d.BackoffMax < d.BackoffMin {
		errs = append(errs, fmt.Errorf("backoff_max (%s) is shorter than backoff_min (%s)", d.BackoffMax, d.BackoffMin))
	}
	return errors.Join(errs...)
}

// Backoff is the wait after the given number of failed attempts (1 is the
// first): BackoffMin, doubled each time, at most BackoffMax.
func (s Safety) Backoff(attempts int) time.Duration {
	return lethe.Backoff(s.BackoffMin, s.BackoffMax, attempts-1)
}
