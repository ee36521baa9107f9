package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// ListGuards lists the counts of deletion limits, those that tripped, and
// clocks in doubt.
func (s *Service) ListGuards(ctx context.Context, _ api.None) ([]api.GuardInfo, error) {
	list, err := s.o.Ledger.Guards(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.o.Ledger.LedgerTime(ctx)
	out := []api.GuardInfo{}
	for _, g := range list {
		out = append(out, guardInfo(g, now))
	}
	return out, err
}

// stops lists the limits that have tripped.
func (s *Service) stops(ctx context.Context) (out []api.GuardInfo, err error) {
	list, err := s.ListGuards(ctx, api.None{})
	for _, g := range list {
		if g.Held {
			out = append(out, g)
		}
	}
	return out, err
}

func guardInfo(g ledger.Guard, now lethe.Time) api.GuardInfo {
	out := api.GuardInfo{Kind: string(g.Kind), Subject: g.Subject, Name: g.Name, Count: g.N, Held: g.Held(now), Reason: g.Reason, Since: g.HeldAt}
	if out.Held && g.HeldUntil != lethe.Forever {
		out.Until = g.HeldUntil
	}
	if now < g.FreeUntil {
		out.FreeUntil, out.FreeCount = g.FreeUntil, g.FreeN
	}
	return out
}

// AllowGuard allows what a deletion limit has stopped.
func (s *Service) AllowGuard(ctx context.Context, req api.AllowRequest) (api.GuardInfo, error) {
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return api.GuardInfo{}, err
	}
	list, err := s.o.Ledger.Guards(ctx)
	if err != nil {
		return api.GuardInfo{}, err
	}
	g, err := chooseGuard(req, list)
	if err != nil {
		return api.GuardInfo{}, err
	}
	a, err := allowanceOf(req, g, now)
	if err != nil {
		return api.GuardInfo{}, err
	}
	if err := s.o.Ledger.AllowGuard(ctx, a); err != nil {
		return api.GuardInfo{}, err
	}
	s.audit(ctx, "guard_allowed", g.Reason, slog.String("kind", req.Kind), slog.String("subject", cmp.Or(g.Name, g.Subject)),
		slog.Int64("count", a.N), slog.String("until", a.Until.String()))
	s.o.Loop.Wake("expire", "purge", "clean")
	return api.GuardInfo{Kind: req.Kind, Subject: g.Subject, Name: g.Name, FreeUntil: a.Until, FreeCount: a.N}, nil
}

// chooseGuard returns the limit that is meant, by its id or by the name of its
// bucket; otherwise the error lists the choices.
func chooseGuard(r api.AllowRequest, list []ledger.Guard) (ledger.Guard, error) {
	var found []ledger.Guard
	var others []string
	for _, g := range list {
		switch {
		case string(g.Kind) != r.Kind || g.Kind == ledger.GuardClock:
		case r.Subject == g.Subject || r.Subject != "" && r.Subject == g.Name:
			found = append(found, g)
		default:
			others = append(others, cmp.Or(g.Name, g.Subject, "the store, by no name"))
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return ledger.Guard{}, fmt.Errorf("%w: %q is the name of one bucket and the id of another: choose by the ids in lethe guard show --json", api.ErrBadRequest, r.Subject)
	case r.Subject == "" && len(others) > 0:
		return ledger.Guard{}, fmt.Errorf("%w: say which %s to allow: %s", api.ErrBadRequest, r.Kind, strings.Join(others, ", "))
	case len(others) > 0:
		return ledger.Guard{}, fmt.Errorf("%w: the kind %s was not counted for %q, but for %s", api.ErrBadRequest, r.Kind, r.Subject, strings.Join(others, ", "))
	}
	return ledger.Guard{}, fmt.Errorf("%w: nothing of the kind %q was counted or stopped: see lethe guard show", api.ErrBadRequest, r.Kind)
}

func allowanceOf(r api.AllowRequest, g ledger.Guard, now lethe.Time) (ledger.Allowance, error) {
	a := ledger.Allowance{Kind: g.Kind, Subject: g.Subject}
	if r.Again {
		return a, nil
	}
	d, err := lethe.ParseTTL(cmp.Or(r.For, "1h"))
	if err != nil || r.Count < 0 {
		return a, fmt.Errorf("%w: allow a number above 0, for a time such as 1h: %v", api.ErrBadRequest, err)
	}
	a.Until, a.N = now.Add(min(d, 365*24*time.Hour)), r.Count
	if a.N == 0 {
		a.N = -1
	}
	return a, nil
}

// guardState returns a limit's state for an audit line.
func (s *Service) guardState(ctx context.Context, req api.AllowRequest) (any, error) {
	list, err := s.ListGuards(ctx, api.None{})
	var out []api.GuardInfo
	for _, g := range list {
		if g.Kind == req.Kind && (req.Subject == g.Subject || req.Subject != "" && req.Subject == g.Name) {
			out = append(out, g)
		}
	}
	return out, err
}
