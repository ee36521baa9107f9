package sim

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

// The methods that tell of objects and deliver.

func (s *seam) SetNotifications(ctx context.Context, c ledger.NotificationChange) error {
	return do(s, "notify", c.Bucket, scope{}, func() error { return s.in.SetNotifications(s.lasting(ctx), c) })
}

func (s *seam) Notifications(ctx context.Context, bucket string) (notification.Rules, error) {
	return read(s, "notifications", bucket, func() (notification.Rules, error) { return s.in.Notifications(ctx, bucket) })
}

func (s *seam) ClaimEvents(ctx context.Context, c ledger.EventClaim) (ledger.ClaimedEvents, error) {
	return write(s, "claim-events", c.Target, scope{}, func() (ledger.ClaimedEvents, error) { return s.in.ClaimEvents(s.lasting(ctx), c) })
}

func (s *seam) SettleEvents(ctx context.Context, e ledger.EventSettlement) (ledger.EventsSettled, error) {
	return write(s, "settle-events", fmt.Sprint(len(e.Results)), scope{}, func() (ledger.EventsSettled, error) { return s.in.SettleEvents(s.lasting(ctx), e) })
}

func (s *seam) TrimEvents(ctx context.Context, t ledger.EventTrim) (int64, error) {
	return write(s, "trim-events", t.Target, scope{}, func() (int64, error) { return s.in.TrimEvents(s.lasting(ctx), t) })
}

func (s *seam) RequeueEvents(ctx context.Context, e ledger.EventSelection) (int, error) {
	return write(s, "requeue-events", e.Target, scope{}, func() (int, error) { return s.in.RequeueEvents(s.lasting(ctx), e) })
}

func (s *seam) DropEvents(ctx context.Context, e ledger.EventSelection) (int, error) {
	return write(s, "drop-events", e.Target, scope{}, func() (int, error) { return s.in.DropEvents(s.lasting(ctx), e) })
}

func (s *seam) EventTargets(ctx context.Context) ([]ledger.EventTarget, error) {
	return read(s, "event-targets", "", func() ([]ledger.EventTarget, error) { return s.in.EventTargets(ctx) })
}

func (s *seam) Events(ctx context.Context, q ledger.EventQuery) ([]ledger.Event, error) {
	return read(s, "events", q.Target, func() ([]ledger.Event, error) { return s.in.Events(ctx, q) })
}
