package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// HoldRequest names a hold: of one key, of all keys with a prefix, or, if both are
// empty, of the whole bucket.
type HoldRequest struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Legal selects the legal hold that an S3 client has set on the key (remove
	// only).
	Legal bool `json:"legal,omitempty"`
}

func holdOf(r HoldRequest) (ledger.Hold, error) {
	h := ledger.Hold{Bucket: r.Bucket, Scope: ledger.HoldPrefix, Key: r.Prefix, Reason: r.Reason}
	switch {
	case r.Bucket == "" || r.Key != "" && r.Prefix != "" || r.Legal && r.Key == "":
		return h, fmt.Errorf("%w: a hold is on a bucket, and there on one key, on one prefix, or on all", ErrBadRequest)
	case r.Legal:
		h.Scope, h.Key = ledger.HoldLegal, r.Key
	case r.Key != "":
		h.Scope, h.Key = ledger.HoldObject, r.Key
	}
	return h, nil
}

// HoldList selects holds after one, by bucket, scope and key.
type HoldList struct {
	Bucket string   `json:"bucket,omitempty"`
	After  HoldInfo `json:"after,omitzero"`
	Limit  int      `json:"limit,omitempty"` // at most 1,000, the default
}

// HoldInfo is a hold: its scope is "object", "prefix" or "legal".
type HoldInfo struct {
	Bucket string     `json:"bucket"`
	Scope  string     `json:"scope"`
	Key    string     `json:"key"`
	Reason string     `json:"reason,omitempty"`
	By     string     `json:"by,omitempty"`
	At     lethe.Time `json:"at,omitempty"` // microseconds since 1970
}

// Holds is a page of holds, and whether there are more.
type Holds struct {
	Holds []HoldInfo `json:"holds"`
	More  bool       `json:"more"`
}

const maxHolds = 1000

// ListHolds lists holds.
func (s *Service) ListHolds(ctx context.Context, req HoldList) (Holds, error) {
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
		return Holds{}, err
	}
	out := Holds{Holds: []HoldInfo{}, More: len(list) > limit}
	for _, h := range list[:min(len(list), limit)] {
		out.Holds = append(out.Holds, holdInfo(h))
	}
	return out, nil
}

func holdInfo(h ledger.Hold) HoldInfo {
	return HoldInfo{h.Bucket, h.Scope.String(), h.Key, h.Reason, h.By, h.At}
}

// AddHold sets a hold: what it covers is not deleted, replaced, expired or
// purged until it is removed.
func (s *Service) AddHold(ctx context.Context, req HoldRequest) (HoldInfo, error) {
	h, err := holdOf(req)
	if err == nil && req.Legal {
		err = fmt.Errorf("%w: legal holds are set by clients of S3", ErrBadRequest)
	}
	if err != nil {
		return HoldInfo{}, err
	}
	h.By = callerOf(ctx).name
	if h, err = s.o.Ledger.AddHold(ctx, h); err != nil {
		return HoldInfo{}, err
	}
	s.audit(ctx, "hold_set", h.Reason, slog.String("bucket", h.Bucket), slog.String("scope", h.Scope.String()), slog.String("key", h.Key))
	return holdInfo(h), nil
}

// RemoveHold removes a hold. What was due meanwhile goes with the next pass.
func (s *Service) RemoveHold(ctx context.Context, req HoldRequest) (None, error) {
	h, err := holdOf(req)
	if err != nil {
		return None{}, err
	}
	err = s.o.Ledger.LiftHold(ctx, h)
	if errors.Is(err, ledger.ErrNoSuchHold) && h.Scope == ledger.HoldObject {
		err = fmt.Errorf("%w (a legal hold of a client is another one: --legal)", err)
	}
	if err != nil {
		return None{}, err
	}
	s.audit(ctx, "hold_lifted", "operator", slog.String("bucket", h.Bucket), slog.String("scope", h.Scope.String()), slog.String("key", h.Key))
	s.o.Loop.Wake("expire", "purge")
	return None{}, nil
}

// holdState returns the number of holds in the bucket, for audit lines.
func (s *Service) holdState(ctx context.Context, req HoldRequest) (any, error) {
	return s.ListHolds(ctx, HoldList{Bucket: req.Bucket, Limit: auditedHolds})
}

// auditedHolds is how many holds an audit line lists.
const auditedHolds = 5
