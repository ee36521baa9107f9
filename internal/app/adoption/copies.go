package adoption

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/reclaim"
)

// recacheEvery is the time from one look for copies to the next.
const recacheEvery = 5 * time.Second

// recache returns the routine that drops copies of a collection from the cache,
// once more or after their rows; none without a cache.
func (a *Adoption) recache(name string) []reclaim.Scheduled {
	if len(a.Description.Collections[name].Cache) == 0 {
		return nil
	}
	return []reclaim.Scheduled{{
		Routine:   borrow(name, &adopt.Recache{Collection: name, Cached: a.collections[name], Copies: a.copies()}),
		Timetable: every(recacheEvery), Workers: 1,
	}}
}

// DropCopies drops the copies of what was removed until now, and waits until
// they are due: nothing may run later that does.
func (a *Adoption) DropCopies(ctx context.Context) error {
	for _, name := range a.Description.Names() {
		for _, r := range a.recache(name) {
			if err := a.dropCopies(ctx, a.collections[name], r); err != nil {
				return fmt.Errorf("drop copies of %s: %w", name, err)
			}
		}
	}
	return nil
}

func (a *Adoption) dropCopies(ctx context.Context, rows *sqladopt.Collection, r reclaim.Scheduled) error {
	for end := lethe.Time(0); ; {
		next, last, now, err := rows.NextCopies(ctx)
		if end == 0 {
			end = last
		}
		if err != nil || next == 0 || next > end {
			return err
		}
		if err := lethe.Sleep(ctx, next.Sub(now)); err != nil {
			return err
		}
		if _, err := a.Loop.With(r).Once(ctx, nil); err != nil {
			return err
		}
	}
}
