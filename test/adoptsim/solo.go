package adoptsim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
)

// solo is a routine of which one instance runs at a time, as package reclaim's loop
// runs it: by the history of runs, and by the database's clock.
type solo struct {
	w        *world
	db       *clock
	runs     *memledger.DB
	interval time.Duration
	routine  func(r *run) routine
	// ended looks at a run that succeeded.
	ended func(r *run) error

	open []*run
	good lethe.Time // the end of the last success, by the database's clock
	ids  int
}

// run is one run of it, and what the oracle knows of that.
type run struct {
	ledger.Run
	beat   lethe.Time // its last sign of life, by the database's clock
	began  lethe.Time // the run, by the world's clock
	step   lethe.Time // its present step
	broke  bool       // its listing broke off
	counts map[string]int64
	did    map[string]int64 // what it did, as the oracle saw it

	// Of folders: when it read the rows, how many it has to believe there are, those that
	// it has marked and purged, and the look at the page that it is
	// about to delete.
	looked         lethe.Time
	rows           int64
	marked, purged map[string]bool
	look           *pageLook

	// Of keys: when it read the rows, what they named, when it asked them again, and for
	// which objects, and how many it takes.
	streamed, again lethe.Time
	named           map[string]bool
	few             bool // less than half of the rows of the run before
	stated          map[string]lethe.Time
	taken           int

	condemned []string // what it is about to mark, or to delete
}

// silent is how long a run may give no sign of life.
const silent = time.Minute

// work is an instance: it looks now and then whether a run is due.
func (s *solo) work(a *actor) {
	for {
		s.once(a)
		a.sleep(a.between(time.Second, s.interval/2))
	}
}

// newRun prepares a run of a worker.
func (s *solo) newRun(worker string) (*run, routine) {
	s.ids++
	r := &run{began: s.w.now, counts: map[string]int64{}, did: map[string]int64{}, marked: map[string]bool{}, purged: map[string]bool{}, stated: map[string]lethe.Time{}}
	r.Run = ledger.Run{ID: lethe.ID(fmt.Sprintf("run%06d", s.ids)), Worker: worker}
	routine := s.routine(r)
	r.Routine = routine.Name()
	return r, routine
}

// quietly runs it once more, when nothing fails any more.
func (s *solo) quietly() {
	r, routine := s.newRun("end")
	if _, err := s.runs.BeginRun(context.Background(), ledger.Solo{Run: r.Run, Stale: silent, Seen: lethe.Forever}); err != nil {
		s.w.fail(err)
	}
	if err := s.steps(r, routine); err != nil {
		s.w.fail(fmt.Errorf("a run failed in the quiet end: %w", err))
		return
	}
	s.w.fail(s.ended(r))
}

// once runs the routine if its time has come.
func (s *solo) once(a *actor) {
	if s.good != 0 && s.db.Now().Sub(s.good) < s.interval {
		return
	}
	r, routine := s.newRun(a.name)
	_, good, err := s.runs.LastRuns(context.Background())
	last := good[r.Routine]
	if err != nil || last.FinishedAt != s.good {
		s.w.fail(fmt.Errorf("the last success ended at %s, and it is told that at %s: %w", s.good, last.FinishedAt, err))
		return
	}
	begun, err := write(s.w, "begin-run", string(r.ID), func() (ledger.SoloResult, error) {
		b, err := s.runs.BeginRun(context.Background(), ledger.Solo{Run: r.Run, Stale: silent, Seen: last.StartedAt})
		if b.OK {
			s.w.fail(s.begins(r))
		}
		return b, err
	})
	if err != nil || !begun.OK {
		return
	}
	r.began = s.w.now
	if err = s.steps(r, routine); errors.Is(err, lethe.ErrFenced) {
		s.w.counts["runs taken over"]++
		return
	}
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	} else {
		s.w.fail(s.ended(r))
	}
	s.w.note("%s: %s %s: %v", a.name, r.ID, outcome, err)
	s.w.counts["runs "+outcome]++
	_, _ = write(s.w, "finish-run", string(r.ID), func() (struct{}, error) {
		r.beat = 0
		err := s.runs.FinishRun(context.Background(), r.ID, outcome, nil)
		if err == nil && outcome == "ok" {
			s.good = s.db.Now()
		}
		return struct{}{}, err
	})
}

// steps is a run until nothing is left to do, it fails, or is another's.
func (s *solo) steps(r *run, routine routine) error {
	step := routine.Pass(r.Worker)
	for {
		r.step, r.look, r.condemned = s.w.now, nil, nil
		more, err := step(context.Background(), func(what string, n int64) {
			r.counts[what] += n
			s.w.counts[r.Routine+": "+what] += int(n)
		})
		if err != nil || !more {
			return err
		}
		if _, err := write(s.w, "beat-run", string(r.ID), func() (struct{}, error) {
			err := s.runs.BeatRun(context.Background(), r.ID, nil)
			if err == nil {
				r.beat = s.db.Now()
			}
			return struct{}{}, err
		}); errors.Is(err, lethe.ErrFenced) {
			return err
		}
	}
}

// begins: no run begins beside one that gives signs of life, nor within the interval.
func (s *solo) begins(r *run) error {
	now := s.db.Now()
	for _, other := range s.open {
		if other.Worker == r.Worker {
			other.beat = 0 // it was left over
		}
		if other.beat != 0 && now.Sub(other.beat) < silent {
			return fmt.Errorf("%s began on %s beside %s on %s", r.ID, r.Worker, other.ID, other.Worker)
		}
	}
	if s.good != 0 && now.Sub(s.good) < s.interval {
		return fmt.Errorf("%s began on %s %s after the last success", r.ID, r.Worker, now.Sub(s.good))
	}
	r.beat = now
	s.open = append(s.open, r)
	return nil
}
