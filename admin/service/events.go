package service

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// Targets are the targets of events in the configuration.
type Targets struct {
	Names []string
	Most  int64 // events that one may have
}

// EventTargets returns the state of every target that is configured, or that a bucket has
// named.
func (s *Service) EventTargets(ctx context.Context, _ api.None) ([]api.EventTarget, error) {
	known, err := s.o.Ledger.EventTargets(ctx)
	out := []api.EventTarget{}
	for _, t := range known {
		out = append(out, api.EventTarget{
			Name: t.Name, Configured: slices.Contains(s.o.Targets.Names, t.Name), Most: s.o.Targets.Most,
			Waiting: t.Waiting, Dead: t.Dead, Lost: t.Lost, Delivered: t.Delivered, OldestAt: toTime(t.Oldest),
			Failures: t.Failures, FailingSince: toTime(t.FailingSince), LastError: api.Plain(t.LastError), RestUntil: toTime(t.RestUntil),
		})
	}
	for _, name := range s.o.Targets.Names {
		if !slices.ContainsFunc(known, func(t ledger.EventTarget) bool { return t.Name == name }) {
			out = append(out, api.EventTarget{Name: name, Configured: true, Most: s.o.Targets.Most})
		}
	}
	return out, err
}

// Events lists events of a target.
func (s *Service) Events(ctx context.Context, r api.EventRequest) (api.EventList, error) {
	out := api.EventList{Events: []api.EventInfo{}}
	q := ledger.EventQuery{Target: r.Target, Dead: r.Dead, After: r.After, Limit: r.Limit}
	if q.Limit <= 0 || q.Limit > page {
		q.Limit = page
	}
	if q.Target == "" {
		return out, fmt.Errorf("%w: name a target", api.ErrBadRequest)
	}
	list, err := s.o.Ledger.Events(ctx, q)
	if err == nil && len(list) == 0 {
		err = s.knowsTarget(ctx, q.Target)
	}
	for _, e := range list {
		out.Events = append(out.Events, eventInfo(e))
	}
	if len(list) == q.Limit {
		out.Next = list[q.Limit-1].No
	}
	return out, err
}

func eventInfo(e ledger.Event) api.EventInfo {
	info := api.EventInfo{
		Number: e.No, Target: e.Target, ID: e.ID(e.No), Event: "s3:" + string(e.Kind), At: toTime(e.At), Bucket: e.Bucket, Key: e.Key, Version: string(e.Version),
		Size: e.Size, Reason: string(e.Reason), Attempts: e.Attempts, LastError: api.Plain(e.LastError),
	}
	if !e.Dead {
		info.NextTry = toTime(e.DueAt)
	}
	return info
}

// knowsTarget returns an error with the names that there are, if a target is neither in the
// configuration nor named by a bucket.
func (s *Service) knowsTarget(ctx context.Context, name string) error {
	list, err := s.EventTargets(ctx, api.None{})
	if err != nil {
		return err
	}
	var names []string
	for _, t := range list {
		if t.Name == name {
			return nil
		}
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("%w: %q; events.targets has none", api.ErrNoTarget, name)
	}
	slices.Sort(names)
	return fmt.Errorf("%w: %q; there are: %s", api.ErrNoTarget, name, strings.Join(names, ", "))
}

// RequeueEvents has dead letters delivered again.
func (s *Service) RequeueEvents(ctx context.Context, c api.EventChoice) (api.Count, error) {
	return s.changeEvents(ctx, c, "events_requeued", s.o.Ledger.RequeueEvents)
}

// DropEvents removes dead letters. All of a target that is not in the configuration are also
// those that wait: nothing else ends them.
func (s *Service) DropEvents(ctx context.Context, c api.EventChoice) (api.Count, error) {
	change := s.o.Ledger.DropEvents
	if c.All && !slices.Contains(s.o.Targets.Names, c.Target) {
		change = s.dropTarget
	}
	return s.changeEvents(ctx, c, "events_dropped", change)
}

// dropTarget removes all events of a target, and counts them as lost.
func (s *Service) dropTarget(ctx context.Context, c ledger.EventSelection) (total int, err error) {
	for {
		n, err := s.o.Ledger.TrimEvents(ctx, ledger.EventTrim{Target: c.Target, Limit: page})
		total += int(n)
		if err != nil || n == 0 {
			return total, err
		}
	}
}

func (s *Service) changeEvents(ctx context.Context, c api.EventChoice, event string, change func(context.Context, ledger.EventSelection) (int, error)) (api.Count, error) {
	if c.Target == "" || c.All == (len(c.Numbers) > 0) {
		return api.Count{}, fmt.Errorf("%w: name a target, and its dead letters by their numbers, or all of them", api.ErrBadRequest)
	}
	if err := s.knowsTarget(ctx, c.Target); err != nil {
		return api.Count{}, err
	}
	n, err := change(ctx, ledger.EventSelection{Target: c.Target, Numbers: c.Numbers})
	if n > 0 {
		s.audit(ctx, event, "operator", slog.String("target", c.Target), slog.Int("count", n))
	}
	return api.Count{Count: n}, err
}

// eventState is the state of a target before a change of its dead letters.
func (s *Service) eventState(ctx context.Context, c api.EventChoice) (any, error) {
	list, err := s.EventTargets(ctx, api.None{})
	for _, t := range list {
		if t.Name == c.Target {
			return map[string]int64{"waiting": t.Waiting, "dead": t.Dead}, err
		}
	}
	return nil, err
}
