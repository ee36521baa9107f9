package app

import (
	"testing"

	"github.com/lethe-storage/lethe"
)

type handClock struct{ now lethe.Time }

func (c *handClock) Now() lethe.Time { return c.now }

func TestThrottle(t *testing.T) {
	clock := &handClock{1}
	th := &throttle{clock: clock}
	for _, want := range []struct {
		untold int
		ok     bool
	}{{0, true}, {0, false}, {0, false}} {
		if untold, ok := th.tell(); untold != want.untold || ok != want.ok {
			t.Errorf("%d, %v; want %v", untold, ok, want)
		}
	}
	clock.now = clock.now.Add(throttleFor)
	if untold, ok := th.tell(); untold != 2 || !ok {
		t.Errorf("%d, %v", untold, ok)
	}
}
