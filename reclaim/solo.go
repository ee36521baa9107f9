package reclaim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// ErrRunning is returned for a solo routine that runs on another instance.
var ErrRunning = errors.New("runs elsewhere")

// staleRun is how long a run may send no heartbeat before it is taken over. Too
// early a takeover repeats work, and does no harm.
const staleRun = time.Minute

// soloSlack is how much before its time a run may have begun, by a clock that is
// ahead, and still count as the run of that time.
const soloSlack = time.Minute

// beginSolo records a run that must be alone. It returns false without an error if
// its time has not come, and ErrRunning if it runs elsewhere.
func (l *Loop) beginSolo(ctx context.Context, s Scheduled, r *recorder, byTime bool) (bool, error) {
	seen := lethe.Forever
	if byTime {
		last, err := l.lastSuccess(ctx, s.Routine.Name())
		if err != nil || !s.due(last, l.Clock.Now()) {
			return false, l.notBegun(r, err)
		}
		seen = last.StartedAt
	}
	begun, err := l.Ledger.BeginRun(ctx, ledger.Solo{Run: r.run, Stale: cmp.Or(l.Stale, staleRun), Seen: seen})
	if err != nil {
		return false, l.notBegun(r, err)
	}
	for _, ended := range begun.Ended {
		l.Events.EmitRunTakenOver(ended)
	}
	switch {
	case begun.OK:
		r.started = true
		return true, nil
	case begun.Other.FinishedAt != 0:
		return false, nil // it has succeeded just now
	}
	return false, fmt.Errorf("%s: %w, on %s since %s (last heartbeat %s)",
		s.Routine.Name(), ErrRunning, begun.Other.Worker, begun.Other.StartedAt, begun.Other.BeatAt)
}

// notBegun reports a run that failed before it was recorded.
func (l *Loop) notBegun(r *recorder, err error) error {
	if err == nil {
		return nil
	}
	l.note(r.run.Routine, func(st *State) {
		st.LastRun = l.Clock.Now()
		st.failed(err)
	})
	r.run.Outcome = outcomeOf(err, false)
	l.Events.emitRunEnded(r.run, err)
	return err
}

// lastSuccess is the newest successful run of a routine, zero if there is none.
func (l *Loop) lastSuccess(ctx context.Context, name string) (ledger.Run, error) {
	_, good, err := l.Ledger.LastRuns(ctx)
	return good[name], err
}

// due reports whether the time of a run has come since the last success.
func (s Scheduled) due(last ledger.Run, now lethe.Time) bool {
	if s.Rest > 0 && last.FinishedAt != 0 {
		return last.FinishedAt.Add(s.Rest) <= now
	}
	return soloDue(s.Timetable, last.StartedAt, now)
}

// soloDue reports whether the time of a run has come since the last success.
func soloDue(t Timetable, last, now lethe.Time) bool {
	if last == 0 {
		return true
	}
	next := t.Next(last)
	if after := t.Next(next); next.Sub(last) <= min(soloSlack, after.Sub(next)/10) {
		next = after
	}
	return next <= now
}
