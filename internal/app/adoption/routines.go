package adoption

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// RoutineStatus is the database's record of a routine, on any instance.
type RoutineStatus struct {
	Name string
	// Last is the newest run, and Good the newest success: zero if there is
	// none. Runs that find nothing to do are not recorded.
	Last, Good ledger.Run
	Next       lethe.Time // when a run may begin, by this machine's clock
	// Closes is the end of the open window; 0 if none is open, or it has no
	// end.
	Closes lethe.Time
}

// Routines returns the status of the routines of all collections that reclaim,
// and the time of this machine. There are no runs before Lethe's tables exist.
func (a *Adoption) Routines(ctx context.Context) (list []RoutineStatus, now lethe.Time, err error) {
	now = a.o.Clock.Now()
	installed, err := a.DB.Installed(ctx)
	if err != nil {
		return nil, now, err
	}
	var last, good map[string]ledger.Run
	if installed {
		if last, good, err = a.DB.LastRuns(ctx); err != nil {
			return nil, now, err
		}
	}
	for _, s := range a.Loop.Routines {
		name := s.Routine.Name()
		r := RoutineStatus{Name: name, Last: last[name], Good: good[name], Next: s.Timetable.Next(now)}
		if s.Rest > 0 && r.Good.FinishedAt != 0 {
			r.Next = max(r.Next, r.Good.FinishedAt.Add(s.Rest))
		}
		if open, closes := s.Timetable.Window(now); open && closes != lethe.Forever {
			r.Closes = closes
		}
		list = append(list, r)
	}
	return list, now, nil
}
