package app

import (
	"testing"

	"github.com/lethe-storage/lethe/internal/clocktest"
)

func TestThrottle(t *testing.T) {
	clock := clocktest.At(1)
	th := &throttle{clock: clock}
	for _, want := range []struct {
		untold int
		ok     bool
	}{{0, true}, {0, false}, {0, false}} {
		if untold, ok := th.tell(); untold != want.untold || ok != want.ok {
			t.Errorf("%d, %v; want %v", untold, ok, want)
		}
	}
	clock.Advance(throttleFor)
	if untold, ok := th.tell(); untold != 2 || !ok {
		t.Errorf("%d, %v", untold, ok)
	}
}
