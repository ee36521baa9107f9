package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// ListBackends returns the state of each backend.
func (s *Service) ListBackends(ctx context.Context, _ api.None) ([]api.BackendStatus, error) {
	depths, err := s.depths(ctx)
	if err != nil {
		return nil, err
	}
	return s.backendStatus(ctx, depths)
}

// AcceptBackend resumes deletes on a held backend: the operator has decided
// that ledger and backend belong together (docs/protocol.md, rule 13).
func (s *Service) AcceptBackend(ctx context.Context, req api.BackendRequest) (api.None, error) {
	if s.o.Backends[req.ID] == nil {
		return api.None{}, s.noBackend(req.ID)
	}
	err := s.o.Pairing.Accept(ctx, req.ID)
	if err == nil {
		s.audit(ctx, "backend_accepted", "operator", slog.String("backend", req.ID))
	}
	return api.None{}, err
}

// HoldBackend stops the deletes on a backend until it is accepted.
func (s *Service) HoldBackend(ctx context.Context, req api.BackendRequest) (api.None, error) {
	if s.o.Backends[req.ID] == nil {
		return api.None{}, s.noBackend(req.ID)
	}
	reason := cmp.Or(req.Reason, "held by the operator")
	err := s.o.Ledger.HoldBackend(ctx, req.ID, reason)
	if err == nil {
		s.audit(ctx, "backend_held", reason, slog.String("backend", req.ID))
	}
	return api.None{}, err
}

// DrainBackend starts to drain a backend: it takes no writes any more, and its
// blobs are copied elsewhere.
func (s *Service) DrainBackend(ctx context.Context, req api.BackendRequest) (api.None, error) {
	list, err := s.o.Ledger.Backends(ctx)
	if err != nil {
		return api.None{}, err
	}
	others := 0
	for _, b := range list {
		if b.ID != req.ID && !b.Draining && s.o.Backends[b.ID] != nil {
			others++
		}
	}
	if err := s.hasBackend(ctx, req.ID); err != nil {
		return api.None{}, err
	}
	if others == 0 {
		return api.None{}, fmt.Errorf("%w: there is no other backend for what lies on %s: configure one first", api.ErrBadRequest, req.ID)
	}
	return s.drain(ctx, req.ID, true, "backend_drained")
}

// UndrainBackend ends a drain: the backend takes writes again. Moved blobs stay
// where they are.
func (s *Service) UndrainBackend(ctx context.Context, req api.BackendRequest) (api.None, error) {
	return s.drain(ctx, req.ID, false, "backend_undrained")
}

func (s *Service) drain(ctx context.Context, id string, draining bool, event string) (api.None, error) {
	err := s.hasBackend(ctx, id)
	if err == nil {
		err = s.o.Ledger.SetDraining(ctx, id, draining)
	}
	if err == nil {
		s.audit(ctx, event, "operator", slog.String("backend", id))
		s.o.Loop.Wake("drain")
	}
	return api.None{}, err
}

// RemoveBackend forgets a backend that was drained and is empty.
func (s *Service) RemoveBackend(ctx context.Context, req api.BackendRequest) (api.None, error) {
	err := s.hasBackend(ctx, req.ID)
	if err == nil {
		err = s.o.Pairing.Leave(ctx, req.ID, s.o.Ledger.RemoveBackend)
	}
	if err == nil {
		s.audit(ctx, "backend_removed", "operator", slog.String("backend", req.ID))
	}
	return api.None{}, err
}

// hasBackend returns api.ErrNoBackend unless the ledger has the backend, or none is named.
func (s *Service) hasBackend(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	list, err := s.o.Ledger.Backends(ctx)
	if err == nil && !slices.ContainsFunc(list, func(b ledger.Backend) bool { return b.ID == id }) {
		err = s.noBackend(id)
	}
	return err
}

func (s *Service) noBackend(id string) error {
	return fmt.Errorf("%w: %q; configured here: %s", api.ErrNoBackend, id, strings.Join(slices.Sorted(maps.Keys(s.o.Backends)), ", "))
}
