package reclaim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/reclaim"
)

// gifted is a ledger with a file and a clock that it doubts.
type gifted struct{ freed int }

func (gifted) ClockBehind() time.Duration { return time.Hour }

func (g gifted) Vacuum(context.Context, int) (int, error) { return g.freed, nil }

func TestAbilitiesAreThoseOfTheLedger(t *testing.T) {
	own := reclaim.AbilitiesOf(reclaim.AbilitiesOf(gifted{freed: 3}))
	freed, err := own.Vacuum(t.Context(), 1)
	if own.ClockBehind() != time.Hour || freed != 3 || err != nil {
		t.Errorf("behind by %s, freed %d: %v", own.ClockBehind(), freed, err)
	}
	none := reclaim.AbilitiesOf(nil)
	freed, err = none.Vacuum(t.Context(), 1)
	if none.ClockBehind() != 0 || freed != 0 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("behind by %s, freed %d: %v", none.ClockBehind(), freed, err)
	}
}
