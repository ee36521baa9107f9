package adoption

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/reclaim"
)

// clockJump is how far the database's clock may get ahead from one look to the next: as much
// as S3 services tolerate of their clients.
const clockJump = 15 * time.Minute

// ClockWatch compares the database's clock, which decides what has ended, with the boot-time
// clock, which never jumps. A process has one: a description that is opened again does not
// take a clock that has jumped for right.
type ClockWatch struct {
	mu       sync.Mutex
	looked   bool
	database lethe.Time // when it went with the boot-time clock last
	boot     lethe.Time // right before that look
}

// look returns lethe.ErrClock if the database's clock was set forward since it was last right.
func (w *ClockWatch) look(ctx context.Context, a *Adoption) error {
	before := a.o.Boot.Now()
	now, err := a.DB.Now(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ahead := now.Sub(w.database) - a.o.Boot.Now().Sub(w.boot)
	if w.looked && ahead > clockJump {
		return fmt.Errorf("the database's clock was set forward by %s: what has not ended would go; set it right, or start lethe again to go by it: %w",
			ahead.Round(time.Second), lethe.ErrClock)
	}
	if !w.looked || ahead.Abs() <= clockSkew { // else it was set, and may be set right
		w.looked, w.database, w.boot = true, now, before
	}
	return nil
}

// byClock is a routine that does nothing while the database's clock is in doubt, but for
// copying back from a quarantine.
type byClock struct {
	reclaim.Routine
	a          *Adoption
	quarantine *adopt.Quarantine // whose routine it is; nil: of none
}

// Pass implements reclaim.Routine.
func (r byClock) Pass(worker string) reclaim.Step {
	step := r.Routine.Pass(worker)
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		err := r.a.o.Watch.look(ctx, r.a)
		if q := r.quarantine; q != nil && errors.Is(err, lethe.ErrClock) {
			if q.RestoresOnly.CompareAndSwap(false, true) {
				defer q.RestoresOnly.Store(false)
			}
			err = nil
		}
		if err != nil {
			return false, err
		}
		return step(ctx, add)
	}
}
