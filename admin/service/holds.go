package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

func holdOf(r api.HoldRequest) (ledger.Hold, error) {
	h := ledger.Hold{Bucket: r.Bucket, Scope: ledger.HoldPrefix, Key: r.Prefix, Reason: r.Reason}
	switch {
	case r.Bucket == "" || r.Key != "" && r.Prefix != "" || r.Legal && r.Key == "":
		return h, fmt.Errorf("%w: a hold is on a bucket, and there on one key, on one prefix, or on all", api.ErrBadRequest)
	case r.Legal:
		h.Scope, h.Key = ledger.HoldLegal, r.Key
	case r.Key != "":
		h.Scope, h.Key = ledger.HoldObject, r.Key
	}
	return h, nil
}

const maxHolds = 1000

// ListHolds lists holds.
func (s *Service) ListHolds(ctx context.Context, req api.HoldList) (api.Holds, error) {
	limit := req.Limit
	if limit <= 0 || limit > maxHolds {
		limit = maxHolds
	}
	q := ledger.HoldQuery{Bucket: req.Bucket, After: ledger.Hold{Bucket: req.After.Bucket, Key: req.After.Key}, Limit: limit + 1}
	for _, scope := range []ledger.HoldScope{ledger.HoldObject, ledger.HoldPrefix, ledger.HoldLegal} {
		if scope.String() == req.After.Scope {
			q.After.Scope = scope
		}
	}
	list, err := s.o.Ledger.Holds(ctx, q)
	if err != nil {
		return api.Holds{}, err
	}
	out := api.Holds{Holds: []api.HoldInfo{}, More: len(list) > limit}
	for _, h := range list[:min(len(list), limit)] {
		out.Holds = append(out.Holds, holdInfo(h))
	}
	return out, nil
}

func holdInfo(h ledger.Hold) api.HoldInfo {
	return api.HoldInfo{Bucket: h.Bucket, Scope: h.Scope.String(), Key: h.Key, Reason: h.Reason, By: h.By, At: h.At}
}

// AddHold sets a hold: what it covers is not deleted, replaced, expired or
// purged until it is removed.
func (s *Service) AddHold(ctx context.Context, req api.HoldRequest) (api.HoldInfo, error) {
	h, err := holdOf(req)
	if err == nil && req.Legal {
		err = fmt.Errorf("%w: legal holds are set by clients of S3", api.ErrBadRequest)
	}
	if err != nil {
		return api.HoldInfo{}, err
	}
	h.By = callerOf(ctx).name
	if h, err = s.o.Ledger.AddHold(ctx, h); err != nil {
		return api.HoldInfo{}, err
	}
	s.audit(ctx, "hold_set", h.Reason, slog.String("bucket", h.Bucket), slog.String("scope", h.Scope.String()), slog.String("key", h.Key))
	return holdInfo(h), nil
}

// RemoveHold removes a hold. What was due meanwhile goes with the next pass.
func (s *Service) RemoveHold(ctx context.Context, req api.HoldRequest) (api.None, error) {
	h, err := holdOf(req)
	if err != nil {
		return api.None{}, err
	}
	err = s.o.Ledger.ReleaseHold(ctx, h)
	if errors.Is(err, ledger.ErrNoSuchHold) && h.Scope == ledger.HoldObject {
		err = fmt.Errorf("%w (a legal hold of a client is another one: --legal)", err)
	}
	if err != nil {
		return api.None{}, err
	}
	s.audit(ctx, "hold_released", "operator", slog.String("bucket", h.Bucket), slog.String("scope", h.Scope.String()), slog.String("key", h.Key))
	s.o.Loop.Wake("expire", "purge")
	return api.None{}, nil
}

// holdState returns the first holds in the bucket, for audit lines.
func (s *Service) holdState(ctx context.Context, req api.HoldRequest) (any, error) {
	return s.ListHolds(ctx, api.HoldList{Bucket: req.Bucket, Limit: auditedHolds})
}

// auditedHolds is how many holds an audit line lists.
const auditedHolds = 5
