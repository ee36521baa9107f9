package adoption

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim"
)

// clockJump is how far the database's clock may get ahead from one look to the next: as much
// as S3 services tolerate of their clients.
const clockJump = 15 * time.Minute

// clockWatch compares the database's clock, which decides what has ended, with the boot-time
// clock, which never jumps.
type clockWatch struct {
	mu       sync.Mutex
	looked   bool
	database lethe.Time // when it was last right
	boot     lethe.Time // right before that look
}

// look returns lethe.ErrClock if the database's clock was set forward since it was last right.
func (w *clockWatch) look(ctx context.Context, a *Adoption) error {
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
	w.looked, w.database, w.boot = true, now, before
	return nil
}

// byClock is a routine that does nothing while the database's clock is in doubt.
type byClock struct {
	reclaim.Routine
	a *Adoption
}

// Pass implements reclaim.Routine.
func (r byClock) Pass(worker string) reclaim.Step {
	step := r.Routine.Pass(worker)
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		if err := r.a.clock.look(ctx, r.a); err != nil {
			return false, err
		}
		return step(ctx, add)
	}
}
