package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// ListLimits lists the counts of deletion limits, those that tripped, and
// clocks in doubt.
func (s *Service) ListLimits(ctx context.Context, _ api.None) ([]api.LimitInfo, error) {
	list, err := s.o.Ledger.LimitStates(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.o.Ledger.LedgerTime(ctx)
	out := []api.LimitInfo{}
	for _, g := range list {
		out = append(out, limitInfo(g, now))
	}
	return out, err
}

// trips lists the limits that have tripped.
func (s *Service) trips(ctx context.Context) (out []api.LimitInfo, err error) {
	list, err := s.ListLimits(ctx, api.None{})
	for _, g := range list {
		if g.Tripped {
			out = append(out, g)
		}
	}
	return out, err
}

func limitInfo(g ledger.LimitState, now lethe.Time) api.LimitInfo {
	out := api.LimitInfo{Kind: string(g.Kind), Subject: g.Subject, Name: g.Name, Count: g.N, Tripped: g.Tripped(now), Reason: g.Reason, Since: g.TrippedAt}
	if out.Tripped && g.TrippedUntil != lethe.Forever {
		out.Until = g.TrippedUntil
	}
	if now < g.FreeUntil {
		out.FreeUntil, out.FreeCount = g.FreeUntil, g.FreeN
	}
	return out
}

// AllowBeyondLimit allows what a deletion limit has stopped.
func (s *Service) AllowBeyondLimit(ctx context.Context, req api.AllowRequest) (api.LimitInfo, error) {
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return api.LimitInfo{}, err
	}
	list, err := s.o.Ledger.LimitStates(ctx)
	if err != nil {
		return api.LimitInfo{}, err
	}
	g, err := chooseLimit(req, list)
	if err != nil {
		return api.LimitInfo{}, err
	}
	a, err := allowanceOf(req, g, now)
	if err != nil {
		return api.LimitInfo{}, err
	}
	if err := s.o.Ledger.AllowBeyondLimit(ctx, a); err != nil {
		return api.LimitInfo{}, err
	}
	s.audit(ctx, "limit_allowed", g.Reason, slog.String("kind", req.Kind), slog.String("subject", g.SubjectName()),
		slog.Int64("count", a.N), slog.String("until", a.Until.String()))
	s.o.Loop.Wake("expire", "purge", "clean")
	return api.LimitInfo{Kind: req.Kind, Subject: g.Subject, Name: g.Name, FreeUntil: a.Until, FreeCount: a.N}, nil
}

// allowable are the kinds of limits beyond which more may be allowed.
var allowable = []string{string(ledger.LimitRules), string(ledger.LimitTTL), string(ledger.LimitDeletes), string(ledger.LimitPurge)}

// chooseLimit returns the limit that is meant, by its id or by the name of its
// bucket; otherwise the error lists the choices.
func chooseLimit(r api.AllowRequest, list []ledger.LimitState) (ledger.LimitState, error) {
	var found []ledger.LimitState
	var others []string
	for _, g := range list {
		switch {
		case string(g.Kind) != r.Kind || g.Kind == ledger.LimitClock:
		case names(r, g.Subject, g.Name):
			found = append(found, g)
		default:
			others = append(others, cmp.Or(g.SubjectName(), "the store, by no name"))
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return ledger.LimitState{}, fmt.Errorf("%w: %q is the name of one bucket and the id of another: choose by the ids in lethe limits show --json", api.ErrBadRequest, r.Subject)
	case r.Subject == "" && len(others) > 0:
		return ledger.LimitState{}, fmt.Errorf("%w: say which %s to allow: %s", api.ErrBadRequest, r.Kind, strings.Join(others, ", "))
	case len(others) > 0:
		return ledger.LimitState{}, fmt.Errorf("%w: the kind %s was not counted for %q, but for %s", api.ErrBadRequest, r.Kind, r.Subject, strings.Join(others, ", "))
	}
	if !slices.Contains(allowable, r.Kind) {
		return ledger.LimitState{}, fmt.Errorf("%w: there is no kind of limit %q: use %s", api.ErrBadRequest, r.Kind, strings.Join(allowable, ", "))
	}
	return ledger.LimitState{}, fmt.Errorf("%w: no limit of the kind %q has counted anything or tripped: see lethe limits show", api.ErrBadRequest, r.Kind)
}

func allowanceOf(r api.AllowRequest, g ledger.LimitState, now lethe.Time) (ledger.Allowance, error) {
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

// names reports whether a request is about a subject, by its id or by the name of its
// bucket.
func names(r api.AllowRequest, subject, name string) bool {
	return r.Subject == subject || r.Subject != "" && r.Subject == name
}

// limitState returns a limit's state for an audit line.
func (s *Service) limitState(ctx context.Context, req api.AllowRequest) (any, error) {
	list, err := s.ListLimits(ctx, api.None{})
	var out []api.LimitInfo
	for _, g := range list {
		if g.Kind == req.Kind && names(req, g.Subject, g.Name) {
			out = append(out, g)
		}
	}
	return out, err
}
