package service

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// planned is a command that can list its items in a plan, and apply exactly
// those.
type planned struct {
	items func(s *Service, ctx context.Context, r api.PlanRequest, yield func(plan.Item) error) error
	// apply checks each item again before it acts. If nil, a routine does it.
	apply func(s *Service, ctx context.Context, items []plan.Item) ([]plan.Result, error)
}

// commands are those that make plans, by the actions of their items.
var commands = map[string]planned{
	"reclaim":        {items: (*Service).reclaimItems},
	"trash purge":    {(*Service).trashItems, (*Service).applyTrash},
	"dead requeue":   {(*Service).deadItems, (*Service).applyDead},
	"dead write-off": {(*Service).deadItems, (*Service).applyDead},
	"backend drain":  {(*Service).backendItems, (*Service).applyBackends},
	"backend remove": {(*Service).backendItems, (*Service).applyBackends},
	"lifecycle set":  {(*Service).ruleItems, (*Service).applyRules},
	"reconcile":      {items: (*Service).reconcileItems},
	importName:       {(*Service).importItems, (*Service).applyImport},
}

// plan writes the plan of a command, line by line as it is made, so that its
// size is not bounded by memory. It changes nothing.
func (s *Service) plan(w http.ResponseWriter, r *http.Request) {
	var req api.PlanRequest
	err := decode(w, r, &req)
	if _, known := commands[req.Command]; err == nil && !known {
		err = fmt.Errorf("%w: there is no plan of %q; there are those of %v", api.ErrBadRequest, req.Command, slices.Sorted(maps.Keys(commands)))
	}
	var head plan.Header
	if err == nil {
		head, err = s.planHeader(r.Context(), req.Command)
	}
	if err != nil {
		e, status := httpError(err)
		reply(w, status, api.Failure{Error: e})
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out, err := plan.NewWriter(w, head)
	if err == nil {
		err = s.writePlan(r.Context(), req, out)
	}
	if err != nil {
		// The client has disconnected, or finds the error in the plan's last
		// line.
		_ = out.Fail(err)
	}
}

func (s *Service) writePlan(ctx context.Context, req api.PlanRequest, out *plan.Writer) error {
	if err := commands[req.Command].items(s, ctx, req, out.Add); err != nil {
		return err
	}
	estimates, err := s.o.Loop.Estimate(ctx, out.Totals())
	if err != nil {
		return err
	}
	_, err = out.Close(estimates)
	return err
}

func (s *Service) planHeader(ctx context.Context, command string) (plan.Header, error) {
	id, err := s.o.Ledger.Identity(ctx)
	return plan.Header{
		Store: string(id.ID), Ledger: string(id.DB), At: s.o.Clock.Now().Time(), Command: command, By: s.o.Version,
	}, err
}

// reclaimItems returns the items of routines.
func (s *Service) reclaimItems(ctx context.Context, r api.PlanRequest, yield func(plan.Item) error) error {
	names, err := s.planning(r.Only)
	if err != nil {
		return err
	}
	for _, name := range names {
		each := yield
		if r.OneRun {
			each = s.o.Loop.OfOneRun(name, yield)
		}
		if err := s.o.Loop.Items(ctx, name, each); err != nil {
			return err
		}
	}
	return nil
}

// planning returns the routines of a request that make plans; a named one that
// makes none is refused.
func (s *Service) planning(only []string) ([]string, error) {
	var all, out []string
	for _, r := range s.o.Loop.Routines {
		if name := r.Routine.Name(); s.o.Loop.Plans(name) {
			all = append(all, name)
			if len(only) == 0 && !r.Solo || slices.Contains(only, name) {
				out = append(out, name)
			}
		}
	}
	for _, name := range only {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%w: routine %q makes no plan; those that do are %v", api.ErrBadRequest, name, all)
		}
	}
	return out, nil
}
