package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

// notify changes the notification rules of a bucket.
func (h *history) notify() {
	c := ledger.NotificationChange{Bucket: h.bucketName()}
	if !h.chance(5) {
		c.Rules = notification.Rules{
			{ID: "came", Target: h.one("app", "app", "other"), Events: []string{"s3:ObjectCreated:*"}, Prefix: h.one("", "", "a")},
			{ID: "went", Target: "app", Events: []string{"s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"}},
		}
	}
	ask(h, fmt.Sprintf("notify %+v", c), func(l Ledger) (any, error) { return nil, l.SetNotifications(h.ctx, c) })
	ask(h, "notifications", func(l Ledger) (notification.Rules, error) { return l.Notifications(h.ctx, c.Bucket) })
}

// deliver claims events, and settles them or an earlier claim.
func (h *history) deliver() {
	c := ledger.EventClaim{Target: h.one("app", "app", "other", "absent"), Worker: "w", Limit: h.number(4), Lease: time.Minute}
	claimed, err := ask(h, "claim events of "+c.Target, func(l Ledger) (ledger.ClaimedEvents, error) { return l.ClaimEvents(h.ctx, c) })
	if err == nil && len(claimed.Events) > 0 {
		h.events = append(h.events, claimed)
	}
	if h.chance(3) {
		claimed = pick(h, h.events)
	}
	if len(claimed.Events) == 0 || h.chance(4) {
		return
	}
	s := ledger.EventSettlement{Target: claimed.Events[0].Target, Fence: claimed.Fence}
	if h.chance(3) {
		s.RestUntil = claimed.Now.Add(time.Second)
	}
	for _, e := range claimed.Events {
		r := ledger.EventResult{No: e.No, Outcome: ledger.EventOutcome(h.number(4))}
		if r.Outcome > ledger.EventDelivered {
			r.Error, r.RetryAt = "no answer", claimed.Now.Add(2*time.Second)
		}
		s.Results = append(s.Results, r)
	}
	ask(h, fmt.Sprintf("settle events %+v", s), func(l Ledger) (ledger.EventsSettled, error) { return l.SettleEvents(h.ctx, s) })
}

// deadEvents requeues, drops or trims.
func (h *history) deadEvents() {
	s := ledger.EventSelection{Target: "app"}
	if h.chance(2) {
		s.Numbers = []int64{int64(h.number(50)), int64(h.number(50))}
	}
	switch h.number(3) {
	case 0:
		ask(h, "requeue events", func(l Ledger) (int, error) { return l.RequeueEvents(h.ctx, s) })
	case 1:
		ask(h, "drop events", func(l Ledger) (int, error) { return l.DropEvents(h.ctx, s) })
	default:
		t := ledger.EventTrim{Target: h.one("app", "other"), Most: int64(5 + h.number(20)), Limit: 1 + h.number(9)}
		ask(h, "trim events", func(l Ledger) (int64, error) { return l.TrimEvents(h.ctx, t) })
	}
}
