package service

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

// instancesFor is how long after its last heartbeat an instance counts as running.
// It is as long as the ledger keeps heartbeats, because its clock stands still then.
const instancesFor = 24 * time.Hour

// ShowClock returns the state of the ledger's clock.
func (s *Service) ShowClock(ctx context.Context, _ api.None) (api.Clock, error) {
	state, err := s.o.Ledger.Clock(ctx)
	if err != nil {
		return api.Clock{}, err
	}
	out := clockOf(state)
	out.Others, err = s.others(ctx)
	return out, err
}

func clockOf(s ledger.ClockState) api.Clock {
	return api.Clock{
		Ledger: toTime(s.Ledger), Wall: toTime(s.Wall), Ahead: s.Ahead.Seconds(),
		Hidden: s.Hidden, Longer: s.Longer, LongerBy: s.LongerBy.Seconds(),
	}
}

// others returns the instances other than this process.
func (s *Service) others(ctx context.Context) ([]string, error) {
	list, err := s.o.Ledger.Instances(ctx, instancesFor)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, i := range list {
		if i.ID != s.o.Loop.Worker {
			out = append(out, i.ID)
		}
	}
	return out, nil
}

// ResetClock sets the ledger's clock back to the machine's, and returns its
// previous state.
func (s *Service) ResetClock(ctx context.Context, req api.ClockRequest) (api.Clock, error) {
	now, err := s.ShowClock(ctx, api.None{})
	switch {
	case err != nil:
		return now, err
	case now.Ahead == 0:
		return now, fmt.Errorf("%w: the ledger's clock is not ahead of the machine's: there is nothing to reset", api.ErrBadRequest)
	case len(now.Others) > 0 && !req.Alone:
		return now, fmt.Errorf("%w: other instances may be running and would keep the time that they have seen: %v; "+
			"stop them all, and confirm that", api.ErrBadRequest, now.Others)
	case (now.Hidden > 0 || now.Longer > 0) && !req.Accept:
		return now, fmt.Errorf("%w: %s that clients cannot see any more would be visible again until their time, "+
			"and %s would live up to %s longer than promised; set their times first, or accept that",
			api.ErrBadRequest, words.Plural(now.Hidden, "object", "objects"), words.Plural(now.Longer, "object", "objects"), time.Duration(now.LongerBy*float64(time.Second)).Round(time.Second))
	}
	state, err := s.o.Ledger.ResetClock(ctx)
	if err == nil {
		s.audit(ctx, "clock_reset", "operator", slog.Time("from", state.Ledger.Time()), slog.Time("to", state.Wall.Time()),
			slog.Int64("hidden", state.Hidden), slog.Int64("longer", state.Longer))
	}
	return clockOf(state), err
}
