package adoption

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// A run that found only what is held leaves no line, as in the store.
func TestIdleRunsAreNotLogged(t *testing.T) {
	for count, logged := range map[string]bool{"held": false, "rows": true} {
		var log bytes.Buffer
		a := &Adoption{o: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		a.events().RunEnded(ledger.Run{Routine: "expire", Counts: map[string]int64{count: 3}}, nil)
		if strings.Contains(log.String(), "a run ended") != logged {
			t.Errorf("of a run that counts %s the log says %q", count, &log)
		}
	}
}

// daily begins at an instant.
type daily lethe.Time

func (d daily) Next(lethe.Time) lethe.Time           { return lethe.Time(d) }
func (d daily) Window(lethe.Time) (bool, lethe.Time) { return true, lethe.Forever }

// named is a routine that does nothing.
type named string

func (n named) Name() string                                 { return string(n) }
func (n named) Pass(string) reclaim.Step                     { return nil }
func (n named) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// A service tells at its start which routines begin much later: else it looks as if it did nothing.
func TestRoutinesThatWaitAreTold(t *testing.T) {
	var log bytes.Buffer
	clock := clocktest.New()
	later := func(d time.Duration) daily { return daily(clock.Now().Add(d)) }
	a := &Adoption{o: Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: clock}, Loop: &reclaim.Loop{Routines: []reclaim.Scheduled{
		{Routine: named("expire pastes"), Timetable: later(23 * time.Hour)}, {Routine: named("clean pastes"), Timetable: later(time.Minute)},
	}}}
	a.announce()
	if text := log.String(); !strings.Contains(text, "--once") || !strings.Contains(text, `routine="expire pastes" next=2027-01-16T07:00:00.000Z`) || strings.Contains(text, "clean") {
		t.Errorf("the log says %s", text)
	}
}
