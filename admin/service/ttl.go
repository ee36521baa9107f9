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

// SetTTL changes when an object expires, without touching its bytes. It fails
// with ErrInvalidTTL beyond the bucket's longest time to live.
func (s *Service) SetTTL(ctx context.Context, req api.TTLRequest) (api.ObjectInfo, error) {
	if err := checkObject(req.ObjectName); err != nil {
		return api.ObjectInfo{}, err
	}
	change := &ledger.TTLChange{}
	if req.TTL != "" {
		d, err := lethe.ParseTTL(req.TTL)
		if err != nil {
			return api.ObjectInfo{}, fmt.Errorf("%w: %w", api.ErrBadRequest, err)
		}
		change.TTL = d
	}
	if !req.At.IsZero() {
		if change.TTL != 0 {
			return api.ObjectInfo{}, fmt.Errorf("%w: a time to live is either relative or an instant, not both", api.ErrBadRequest)
		}
		if !req.At.After(s.o.Clock.Now().Time()) {
			return api.ObjectInfo{}, fmt.Errorf("%w: %s lies in the past; delete the object if it is to go now", api.ErrBadRequest, req.At.Format(time.RFC3339))
		}
		change.At = lethe.FromTime(req.At)
	}
	o, err := s.o.Objects.Update(ctx, ledger.Update{Bucket: req.Bucket, Key: req.Key, TTL: change})
	if err != nil {
		return api.ObjectInfo{}, err
	}
	s.audit(ctx, "ttl_set", "operator", slog.String("bucket", req.Bucket), slog.String("key", req.Key), slog.String("ends_at", o.TTLAt.String()))
	return s.objectInfo(ctx, o)
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
