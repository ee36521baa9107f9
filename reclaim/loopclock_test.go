package reclaim_test

import (
	"context"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/schedule"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// daily is a timetable of one instant in 24 hours.
type daily struct{}

func (daily) Next(after lethe.Time) lethe.Time {
	const day = lethe.Time(24 * time.Hour / time.Microsecond)
	return after - after%day + day
}
func (daily) Window(lethe.Time) (bool, lethe.Time) { return true, lethe.Forever }

// waiting runs a loop whose sleeps take no time, but move both clocks on; set is
// called before each. It is one in the morning. It returns after how much real time the routine first ran.
func waiting(t *testing.T, by reclaim.Timetable, set func(slept time.Duration, wall *clocktest.Clock)) time.Duration {
	w := newWorld(t)
	w.Clock.Set(lethe.Time(1000 * 24 * time.Hour / time.Microsecond).Add(time.Hour))
	real := clocktest.At(1)
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	ran := time.Duration(-1)
	r := routine{"nightly", func(context.Context, reclaim.Add) (bool, error) {
		ran = real.Now().Sub(1)
		cancel()
		return false, nil
	}}
	l := w.Loop(reclaim.Scheduled{Routine: r, Timetable: by})
	l.Monotonic = real
	l.Sleep = func(ctx context.Context, d time.Duration) bool {
		set(real.Now().Sub(1), w.Clock)
		w.Clock.Advance(d)
		real.Advance(d)
		if real.Now().Sub(1) > 100*24*time.Hour {
			cancel()
		}
		return ctx.Err() == nil
	}
	l.Run(ctx)
	return ran
}

// A clock that was far ahead when the wait began, and is set right, does not keep
// a routine from its next time.
func TestAClockThatIsSetBackWhileTheLoopWaits(t *testing.T) {
	once := false
	got := waiting(t, daily{}, func(slept time.Duration, wall *clocktest.Clock) {
		if slept >= 2*time.Hour && !once {
			once = true
			wall.Advance(-30 * 24 * time.Hour)
		}
	})
	if got < 22*time.Hour || got > 24*time.Hour {
		t.Errorf("it ran after %s, want 23 h", got)
	}
}

// One that is corrected by seconds, as clocks are, changes nothing.
func TestAClockThatIsCorrectedWhileTheLoopWaits(t *testing.T) {
	got := waiting(t, daily{}, func(slept time.Duration, wall *clocktest.Clock) {
		if slept%time.Hour == 0 {
			wall.Advance(-time.Second)
		}
	})
	if got < 23*time.Hour || got > 23*time.Hour+time.Minute {
		t.Errorf("it ran after %s, want 23 h and some seconds", got)
	}
}

// A process that starts in an open window begins its pass at once; after the window, or
// where none closes, it waits for the next.
func TestALoopThatStartsInAWindow(t *testing.T) {
	for until, day := range map[string]bool{"06:00": false, "00:30": true, "": true} {
		s, err := schedule.New(schedule.Spec{Cron: "0 0 * * *", Until: until})
		if err != nil {
			t.Fatal(err)
		}
		got := waiting(t, s, func(time.Duration, *clocktest.Clock) {})
		if least := 23 * time.Hour; day && got < least || !day && got > time.Second {
			t.Errorf("until %q: it ran after %s", until, got)
		}
	}
}
