package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/usage"
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

// trashKept counts the trash entries that a hold keeps; AtLeast is set if there may be more.
func (s *Service) trashKept(ctx context.Context, h ledger.Hold, out *api.HoldSet) error {
	if h.Scope != ledger.HoldPrefix {
		facts, err := s.o.Ledger.ExplainKey(ctx, h.Bucket, h.Key)
		out.Trash = int64(len(facts.Trash))
		return err
	}
	list, err := s.o.Objects.Trash(ctx, ledger.TrashQuery{Bucket: h.Bucket, Prefix: h.Key, Limit: page})
	out.Trash, out.AtLeast = int64(len(list)), len(list) == page
	return err
}

// AddHold sets a hold: what it covers is not deleted, replaced, expired or
// purged until it is removed. It counts the objects that the hold keeps now.
func (s *Service) AddHold(ctx context.Context, req api.HoldRequest) (api.HoldSet, error) {
	h, err := holdOf(req)
	if err == nil && req.Legal {
		err = fmt.Errorf("%w: legal holds are set by clients of S3", api.ErrBadRequest)
	}
	if err != nil {
		return api.HoldSet{}, err
	}
	h.By = callerOf(ctx).name
	if h, err = s.o.Ledger.AddHold(ctx, h); err != nil {
		return api.HoldSet{}, err
	}
	s.audit(ctx, "hold_set", h.Reason, slog.String("bucket", h.Bucket), slog.String("scope", h.Scope.String()), slog.String("key", h.Key))
	out, err := s.keptBy(ctx, h)
	if err == nil && out.Held.Objects == 0 {
		err = s.trashKept(ctx, h, &out)
	}
	return out, err
}

// maxHeldCounted is how many objects under a hold are counted for an answer.
const maxHeldCounted = 5000

// keptBy counts the objects that a hold keeps now.
func (s *Service) keptBy(ctx context.Context, h ledger.Hold) (out api.HoldSet, err error) {
	out.HoldInfo = holdInfo(h)
	switch {
	case h.Scope == ledger.HoldPrefix && h.Key == "":
		b, err := s.o.Ledger.Bucket(ctx, h.Bucket)
		out.Held = api.Amount{Objects: b.Objects, Bytes: b.Bytes}
		return out, err
	case h.Scope == ledger.HoldPrefix:
		out.Held, out.AtLeast, err = s.countBelow(ctx, h.Bucket, h.Key)
		return out, err
	}
	_, list, err := s.o.Ledger.UsageObjects(ctx, ledger.UsageQuery{Bucket: h.Bucket, Prefix: h.Key, Limit: 1})
	if err == nil && len(list) > 0 && list[0].Key == h.Key {
		out.Held = api.Amount{Objects: 1, Bytes: list[0].Size}
		return out, nil
	}
	if err == nil {
		var below api.Amount
		below, out.AtLeast, err = s.countBelow(ctx, h.Bucket, h.Key+"/")
		out.Below = below.Objects
	}
	return out, err
}

// countBelow counts the objects below a prefix; more reports that there are others.
func (s *Service) countBelow(ctx context.Context, bucket, prefix string) (n api.Amount, more bool, err error) {
	q := ledger.UsageQuery{Bucket: bucket, Prefix: prefix, Limit: page}
	for n.Objects <= maxHeldCounted {
		_, list, err := s.o.Ledger.UsageObjects(ctx, q)
		if err != nil {
			return n, false, err
		}
		for _, o := range list {
			addAmount(&n, usage.Amount{Objects: 1, Bytes: o.Size})
			q.AfterKey = o.Key
		}
		if len(list) < q.Limit {
			return n, false, nil
		}
	}
	return n, true, nil
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
