package wake

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

const second = lethe.Time(1_000_000)

func TestManyNoticesAreOneWakeUpPerGap(t *testing.T) {
	a, now, taken := newTimers(time.Second), 100*second, 0
	for range 100_000 { // ten seconds
		now += 100
		a.add("clean", now, 0)
		taken += len(a.take(now))
	}
	if taken != 10 {
		t.Errorf("taken %d times in ten seconds, want 10", taken)
	}
}

func TestEveryDueWakeUpIsDelivered(t *testing.T) {
	for _, in := range []time.Duration{0, time.Millisecond, 1500 * time.Millisecond, time.Minute} {
		a, now := newTimers(time.Second), 100*second
		var last lethe.Time // when the latest has work
		for i := range 3_000 {
			now += 10_000
			if i < 1_000 {
				a.add("clean", now, in)
				last = now.Add(in)
			}
			if len(a.take(now)) > 0 && now >= last && i >= 1_000 {
				last = lethe.Forever
			}
		}
		for range 10_000 {
			now += 10_000
			if len(a.take(now)) > 0 && now >= last {
				last = lethe.Forever
			}
		}
		if in > 0 && last != lethe.Forever {
			t.Errorf("with work in %s nobody is woken once all of it is due", in)
		}
		if got := len(a.due["clean"]); got != 0 {
			t.Errorf("%d wake-ups are left", got)
		}
	}
}

func TestTimersAreBounded(t *testing.T) {
	a := newTimers(time.Second)
	for i := range 10_000 {
		a.add("clean", 100*second, time.Duration(i)*time.Second)
	}
	if got := len(a.due["clean"]); got != maxTimers {
		t.Errorf("%d wake-ups are kept, want %d", got, maxTimers)
	}
}

func TestTakesWhatIsDueInOrder(t *testing.T) {
	a := newTimers(time.Second)
	a.add("reap", 100*second, 0)
	a.add("clean", 100*second, 0)
	a.add("clean", 100*second, 5*time.Second)
	if got := fmt.Sprint(a.take(100*second), a.next().Sub(100*second), a.take(104*second), a.take(105*second), a.next() == lethe.Forever); got != "[clean reap] 5s [] [clean] true" {
		t.Errorf("got %s", got)
	}
	a.add("clean", 200*second, 0)
	a.add("clean", 200*second, 3*time.Second)
	if got := a.drain(201 * second)["clean"]; !slices.Equal(got, []int64{0, 2000}) {
		t.Errorf("drained %v", got)
	}
	if a.next() != lethe.Forever {
		t.Error("draining left something")
	}
}
