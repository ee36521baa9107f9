package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// Reclaim runs routines now, or returns what they would do.
func (s *Service) Reclaim(ctx context.Context, req api.ReclaimRequest, emit func(api.Event)) (api.ReclaimResult, error) {
	names, err := s.chosen(req.Only)
	if err != nil {
		return api.ReclaimResult{}, err
	}
	plan, err := s.o.Loop.Plan(ctx, names)
	if err != nil {
		return api.ReclaimResult{}, err
	}
	var out api.ReclaimResult
	var total int64
	now := s.o.Clock.Now()
	for _, name := range names {
		total += plan[name].Count
		if req.DryRun {
			out.Plan = append(out.Plan, api.PlannedRoutine{Name: name, Backlog: backlogOf(plan[name], now), Plans: s.o.Loop.Plans(name), PerRun: s.perRun(name)})
		}
	}
	if req.DryRun {
		return out, nil
	}
	stop := s.follow(s.o.Loop, names, total, emit)
	done, err := s.o.Loop.Once(ctx, names)
	stop()
	for _, name := range names {
		out.Done = append(out.Done, api.DoneRoutine{Name: name, Counts: done[name]})
		out.Calls += done[name]["calls"]
	}
	if err == nil {
		err = ctx.Err()
	}
	return out, err
}

// chosen returns the routines of a request in the loop's order. Walks over
// everything take long, and run only when named.
func (s *Service) chosen(only []string) ([]string, error) {
	var all, out []string
	for _, r := range s.o.Loop.Routines {
		name := r.Routine.Name()
		all = append(all, name)
		if _, verifies := r.Routine.(*routine.Verify); len(only) == 0 && !verifies && !r.Solo {
			out = append(out, name)
		}
		for _, o := range only {
			if o == name {
				out = append(out, name)
			}
		}
	}
	for _, o := range only {
		known := false
		for _, name := range all {
			known = known || name == o
		}
		if !known {
			return nil, fmt.Errorf("%w: there is no routine %q: use %s", api.ErrBadRequest, o, strings.Join(all, ", "))
		}
	}
	return out, nil
}
