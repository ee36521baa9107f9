package service

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// SetTTL changes when an object ends, without touching its bytes. It fails with
// ErrInvalidTTL beyond the bucket's longest time to live or idle time.
func (s *Service) SetTTL(ctx context.Context, req api.TTLRequest) (api.ObjectInfo, error) {
	if err := checkObject(req.ObjectName); err != nil {
		return api.ObjectInfo{}, err
	}
	u := ledger.Update{Bucket: req.Bucket, Key: req.Key}
	var err error
	if u.Idle, err = idleChange(req.Idle); err != nil {
		return api.ObjectInfo{}, err
	}
	if u.TTL, err = ttlChange(req, s.o.Clock.Now()); err != nil {
		return api.ObjectInfo{}, err
	}
	o, err := s.o.Objects.Update(ctx, u)
	if err != nil {
		return api.ObjectInfo{}, err
	}
	s.audit(ctx, "ttl_set", "operator", slog.String("bucket", req.Bucket), slog.String("key", req.Key), slog.String("ends_at", o.TTLAt.String()),
		slog.String("idle", ttlText(o.IdleFor)))
	return s.objectInfo(ctx, o)
}

// idleChange returns the change of an idle time that is asked for, nil for none.
func idleChange(idle string) (*ledger.IdleChange, error) {
	switch idle {
	case "":
		return nil, nil
	case "none":
		return &ledger.IdleChange{}, nil
	}
	d, err := lethe.ParseIdleTTL(idle)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
	}
	return &ledger.IdleChange{Idle: d}, nil
}

// ttlChange returns the change of a time to live that is asked for, nil for none.
func ttlChange(req api.TTLRequest, now lethe.Time) (*ledger.TTLChange, error) {
	switch {
	case req.TTL != "" && !req.At.IsZero():
		return nil, fmt.Errorf("%w: a time to live is either relative or an instant, not both", api.ErrBadRequest)
	case req.TTL != "":
		d, err := lethe.ParseTTL(req.TTL)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
		}
		return &ledger.TTLChange{TTL: d}, nil
	case !req.At.IsZero() && !req.At.After(now.Time()):
		return nil, fmt.Errorf("%w: %s lies in the past; delete the object if it is to go now", api.ErrBadRequest, req.At.Format(time.RFC3339))
	case !req.At.IsZero():
		return &ledger.TTLChange{At: lethe.FromTime(req.At)}, nil
	case req.Idle != "":
		return nil, nil
	}
	return &ledger.TTLChange{}, nil
}

// ShowTTL returns when an object expires. It fails with ErrNoSuchKey if clients
// cannot see it.
func (s *Service) ShowTTL(ctx context.Context, req api.ObjectName) (api.ObjectInfo, error) {
	if err := checkObject(req); err != nil {
		return api.ObjectInfo{}, err
	}
	o, err := s.o.Objects.Head(ctx, object.GetRequest{Bucket: req.Bucket, Key: req.Key})
	if err != nil {
		return api.ObjectInfo{}, err
	}
	return s.objectInfo(ctx, o)
}
