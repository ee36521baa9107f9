package sim

import (
	"context"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

// tells says that the buckets of this world tell what becomes of their objects.
func (w *World) tells() bool { return hash2(w.cfg.Seed, 181)%8 == 0 }

func (w *World) notify(in Ledger) error {
	rules := notification.Rules{{ID: "all", Target: "app", Events: []string{"s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"}}}
	for _, name := range bucketNames {
		if !w.tells() {
			return nil
		}
		if err := in.SetNotifications(context.Background(), ledger.NotificationChange{Bucket: name, Rules: rules}); err != nil {
			return err
		}
	}
	return nil
}

// notified: each version that came or went in the step has its event, and nothing else has one.
func (o *oracle) notified(before View) error {
	if !o.w.tells() {
		return nil
	}
	list, err := o.w.ledger.Events(context.Background(), ledger.EventQuery{Target: "app", After: o.heard})
	if err != nil {
		return err
	}
	was, is := byPlace(before.Objects), byPlace(o.view.Objects)
	want := map[string]int{}
	for at, now := range is {
		if old, there := was[at]; !there || old.ID != now.ID {
			want["created "+string(now.ID)]++
		}
	}
	for at, old := range was {
		now, there := is[at]
		if !there || now.ID != old.ID && !visible(old, o.w.now) {
			want["gone "+string(old.ID)]++
		}
	}
	for _, e := range list {
		o.heard = max(o.heard, e.No)
		o.w.inbox.told[e.No] = e
		now := is[place{e.Bucket, e.Key}]
		what := "created "
		switch {
		case e.Kind == notification.Copy && was[place{e.Bucket, e.Key}].ID == e.Version && now.ID == e.Version:
			continue // copied onto itself
		case e.Kind == notification.Deleted || e.Kind == notification.Expired:
			what = "gone "
		}
		want[what+string(e.Version)]--
	}
	for what, n := range want {
		if n != 0 {
			return broken("version %s: %d events are missing (or, below 0, too many)", what, n)
		}
	}
	return nil
}

// The methods that tell of objects. What delivers uses those in telling.go, too.

func (s *seam) SetNotifications(ctx context.Context, c ledger.NotificationChange) error {
	return do(s, "notify", c.Bucket, scope{}, func() error { return s.in.SetNotifications(s.lasting(ctx), c) })
}

func (s *seam) Notifications(ctx context.Context, bucket string) (notification.Rules, error) {
	return read(s, "notifications", bucket, func() (notification.Rules, error) { return s.in.Notifications(ctx, bucket) })
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
