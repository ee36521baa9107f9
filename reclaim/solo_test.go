package reclaim_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// hourly is a timetable of one instant in an hour.
type hourly struct{}

func (hourly) Next(after lethe.Time) lethe.Time {
	const hour = lethe.Time(time.Hour / time.Microsecond)
	return after - after%hour + hour
}
func (hourly) Window(lethe.Time) (bool, lethe.Time) { return true, lethe.Forever }

// instance is a loop of its own over the world's ledger, with one routine that
// must be alone. Its sleeps move the clock on.
func (w *world) instance(name string, step reclaim.Step) *reclaim.Loop {
	l := w.Loop(reclaim.Scheduled{Routine: routine{"verify", step}, Timetable: hourly{}, Solo: true})
	l.Worker, l.Monotonic = name, w.Clock
	l.Sleep = func(ctx context.Context, d time.Duration) bool {
		w.Clock.Advance(d)
		return ctx.Err() == nil
	}
	return l
}

// held is a step that says that it began, and ends when it is let.
func held() (began, end chan struct{}, step reclaim.Step) {
	began, end = make(chan struct{}), make(chan struct{})
	return began, end, func(ctx context.Context, add reclaim.Add) (bool, error) {
		add(reclaim.Items, 1)
		close(began)
		select {
		case <-end:
		case <-ctx.Done():
		}
		return false, ctx.Err()
	}
}

func idle(context.Context, reclaim.Add) (bool, error) { return false, nil }

// While one instance runs it, others get an error with the instance's name.
func TestASoloRunIsAloneAmongInstances(t *testing.T) {
	w := newWorld(t)
	began, end, step := held()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := w.instance("a", step).Once(w.Ctx, nil)
		w.Must(err)
	})
	<-began
	_, err := w.instance("b", idle).Once(w.Ctx, nil)
	if !errors.Is(err, reclaim.ErrRunning) {
		t.Errorf("a second instance: %v", err)
	}
	close(end)
	wg.Wait()
	w.Clock.Advance(time.Second)
	_, err = w.instance("b", idle).Once(w.Ctx, nil)
	w.Must(err)
	_, good, err := w.Ledger.LastRuns(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "last success", good["verify"].Worker, "b") // recorded although it did nothing
}

// By the timetable, what has succeeded elsewhere since its time came is not run
// again; what failed is tried again before the next time.
func TestASoloRunThatSucceededElsewhere(t *testing.T) {
	w := newWorld(t)
	w.Clock.Set(hourly{}.Next(w.Clock.Now()).Add(30 * time.Minute))
	_, err := w.instance("a", idle).Once(w.Ctx, nil)
	w.Must(err)
	for _, c := range []struct {
		name string
		fail int32
		want time.Duration // from the success until the last run began
	}{{"succeeds", 0, time.Hour}, {"fails once", 1, time.Hour}} {
		_, good, err := w.Ledger.LastRuns(w.Ctx)
		w.Must(err)
		start := good["verify"].StartedAt
		due := hourly{}.Next(start)
		ctx, cancel := context.WithCancel(w.Ctx)
		var ran atomic.Int32
		var at []lethe.Time
		b := w.instance("b", func(context.Context, reclaim.Add) (bool, error) {
			at = append(at, w.Clock.Now())
			if ran.Add(1) <= c.fail {
				return false, errors.New("broken")
			}
			cancel()
			return false, nil
		})
		b.Run(ctx)
		if len(at) != int(c.fail)+1 || at[0] < due || at[len(at)-1].Sub(due) > 10*time.Second {
			t.Errorf("%s: ran at %v; due at %s", c.name, at, due)
		}
		_, err = w.instance("c", idle).Once(w.Ctx, nil)
		w.Must(err)
	}
}

// A routine fails since the first of its failures, and no longer once it has succeeded elsewhere.
func TestASoloRunFailsUntilItHasSucceededAnywhere(t *testing.T) {
	w := newWorld(t)
	broken := func(context.Context, reclaim.Add) (bool, error) { return false, errors.New("broken") }
	w.Clock.Set(hourly{}.Next(w.Clock.Now()).Add(time.Minute))
	failing := w.instance("a", broken)
	ctx, cancel := context.WithCancel(w.Ctx)
	var first lethe.Time
	var runs int
	end := w.Clock.Now().Add(24 * time.Hour)
	failing.Events = &reclaim.Events{RunEnded: func(_ ledger.Run, err error) {
		if runs++; runs == 1 {
			first = w.Clock.Now()
		}
		if runs == 3 {
			if got := failing.States()["verify"]; got.LastErr == "" || got.FailingSince != first {
				t.Errorf("before the third failure is noted: %+v; the first was at %s", got, first)
			}
			_, err := w.instance("b", idle).Once(w.Ctx, nil)
			w.Must(err)
		}
	}}
	failing.Sleep = func(ctx context.Context, d time.Duration) bool {
		w.Clock.Advance(d)
		if runs == 3 && failing.States()["verify"].LastErr == "" || w.Clock.Now() > end {
			cancel()
		}
		return ctx.Err() == nil
	}
	failing.Run(ctx)
	if got := failing.States()["verify"]; got.LastErr != "" || got.FailingSince != 0 || got.LastGood < first {
		t.Errorf("after a success elsewhere: %+v", got)
	}
}

// An instance that was suspended loses its run to another after a while. When it
// continues it notices, and stops.
func TestAStaleSoloRunIsTakenOver(t *testing.T) {
	w := newWorld(t)
	began, _, step := held()
	a := w.instance("a", step)
	a.BeatEvery = time.Millisecond
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() { _, failed = a.Once(w.Ctx, nil) })
	<-began
	b := w.instance("b", idle)
	b.Stale = -1 // every run counts as stale
	var taken []ledger.Run
	b.Events = &reclaim.Events{RunTakenOver: func(r ledger.Run) { taken = append(taken, r) }}
	_, err := b.Once(w.Ctx, nil)
	w.Must(err)
	if len(taken) != 1 || taken[0].Worker != "a" || taken[0].Outcome != "interrupted" {
		t.Errorf("taken over: %+v", taken)
	}
	wg.Wait()
	if failed == nil {
		t.Error("the first did not notice")
	}
}

// However soon the watchdog ends runs, a live one has sent several heartbeats by
// then.
func TestARunShowsThatItLivesBeforeItIsGivenUp(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{0: 10 * time.Second, time.Hour: 10 * time.Second, 4 * time.Second: time.Second} {
		if got := (reclaim.Safety{ClaimGrace: grace}).RunBeat(); got != want {
			t.Errorf("a beat each %s where runs may be silent for %s, want %s", got, grace, want)
		}
	}
}

// A loop for one run, such as a check, sends heartbeats as often as the loop that
// it is made from, and has all else of it.
func TestALoopOfOtherRoutinesHasAllElse(t *testing.T) {
	w := newWorld(t)
	l := w.Loop(reclaim.Scheduled{Routine: routine{name: "clean"}})
	l.Spans.Batch = func(ctx context.Context, _ string) (context.Context, func(int64, error)) { return ctx, nil }
	l.Events, l.Monotonic, l.BeatEvery, l.Stale = &reclaim.Events{}, w.Clock, time.Second, time.Minute
	l.Sleep = func(context.Context, time.Duration) bool { return true }
	l.Ready = func() bool { return true }
	l.Confirmed = func(context.Context) error { return nil }
	other := l.With(reclaim.Scheduled{Routine: routine{name: "verify"}})
	if len(other.Routines) != 1 || other.Routines[0].Routine.Name() != "verify" {
		t.Errorf("its routines are %v", other.Routines)
	}
	from, to := reflect.ValueOf(l).Elem(), reflect.ValueOf(other).Elem()
	for i := range from.NumField() {
		field := from.Type().Field(i)
		switch {
		case !field.IsExported():
		case from.Field(i).IsZero():
			t.Errorf("%s is not set: the test says nothing of it", field.Name)
		case to.Field(i).IsZero():
			t.Errorf("%s is not taken over", field.Name)
		}
	}
}

// Wake lets a routine begin before its time.
func TestWake(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.Ctx)
	ran := make(chan struct{})
	l := w.Loop(reclaim.Scheduled{Routine: routine{"clean", func(context.Context, reclaim.Add) (bool, error) {
		close(ran)
		return false, nil
	}}, Timetable: hourly{}})
	var waiting sync.Once
	waits := make(chan struct{})
	l.Sleep = func(ctx context.Context, _ time.Duration) bool {
		waiting.Do(func() { close(waits) })
		<-ctx.Done()
		return false
	}
	var wg sync.WaitGroup
	wg.Go(func() { l.Run(ctx) })
	<-waits
	l.Wake("clean", "unknown")
	<-ran
	cancel()
	wg.Wait()
}

// While the ledger does not answer scheduled runs wait. They begin when it does,
// long before their next time.
func TestRunsWaitForTheLedger(t *testing.T) {
	w := newWorld(t)
	w.Clock.Set(hourly{}.Next(w.Clock.Now()).Add(-time.Minute))
	due := hourly{}.Next(w.Clock.Now())
	ctx, cancel := context.WithCancel(w.Ctx)
	var at lethe.Time
	l := w.instance("a", func(context.Context, reclaim.Add) (bool, error) {
		at = w.Clock.Now()
		cancel()
		return false, nil
	})
	l.Ready = func() bool { return w.Clock.Now() >= due.Add(10*time.Minute) }
	l.Run(ctx)
	if late := at.Sub(due.Add(10 * time.Minute)); late < 0 || late > 2*time.Second {
		t.Errorf("it ran %s after the ledger answered", late)
	}
	last, _, err := w.Ledger.LastRuns(w.Ctx)
	w.Must(err)
	reclaimtest.Want(w, "recorded runs", len(last), 1)
}

// looking is a timetable of an interval.
type looking time.Duration

func (d looking) Next(after lethe.Time) lethe.Time               { return after.Add(time.Duration(d)) }
func (looking) Window(lethe.Time) (open bool, closes lethe.Time) { return true, lethe.Forever }

// A routine with a Rest begins that long after the last success anywhere ended,
// however long that took; a failed run does not put it off.
func TestASoloRunRests(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	var began []lethe.Time
	loop := func(name string, step reclaim.Step) *reclaim.Loop {
		l := w.instance(name, step)
		l.Routines[0].Timetable, l.Routines[0].Rest = looking(time.Minute), time.Hour
		return l
	}
	_, err := loop("a", func(context.Context, reclaim.Add) (bool, error) {
		w.Clock.Advance(30 * time.Minute)
		return false, nil
	}).Once(w.Ctx, nil)
	w.Must(err)
	ended := w.Clock.Now()
	loop("b", func(context.Context, reclaim.Add) (bool, error) {
		began = append(began, w.Clock.Now())
		if len(began) == 1 {
			return false, errors.New("broken")
		}
		if len(began) == 3 {
			cancel()
		}
		return false, nil
	}).Run(ctx)
	var after []time.Duration
	for _, at := range began {
		after = append(after, at.Sub(ended).Truncate(time.Minute))
	}
	if !reflect.DeepEqual(after, []time.Duration{time.Hour, time.Hour, 2 * time.Hour}) {
		t.Errorf("runs began %v after the last success", after)
	}
}

// One that runs at an interval keeps to it.
func TestASoloRunKeepsItsInterval(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	var began []lethe.Time
	l := w.instance("a", func(context.Context, reclaim.Add) (bool, error) {
		if began = append(began, w.Clock.Now()); len(began) == 4 {
			cancel()
		}
		w.Clock.Advance(time.Millisecond)
		return false, nil
	})
	l.Routines[0].Timetable = looking(time.Minute)
	l.Run(ctx)
	for i := 1; i < len(began); i++ {
		if gap := began[i].Sub(began[i-1]); gap < time.Minute || gap > time.Minute+time.Second {
			t.Errorf("run %d began %s after the one before", i, gap)
		}
	}
}
