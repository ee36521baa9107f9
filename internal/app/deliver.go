package app

import (
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/webhook"
)

// parallelRequests is how many requests of an instance to one target run at once.
const parallelRequests = 4

// openTargets reads the targets of events.
func (s *Store) openTargets() error {
	var targets []webhook.Target
	for _, t := range s.Config.Events.Targets {
		secret, err := t.Key()
		if err != nil {
			return fmt.Errorf("events.targets: %s: %w", t.Name, err)
		}
		targets = append(targets, webhook.Target{Name: t.Name, URL: t.URL.Reveal(), Buckets: t.Buckets, Secret: secret.Reveal(), Private: t.Private, Timeout: t.Timeout.Std()})
	}
	s.sender = webhook.New(targets, s.Config.Server.Region, s.opt.Clock)
	return nil
}

// notifications are the rules of buckets, and the targets that they may name.
type notifications struct {
	*sqlledger.DB
	config *config.Config
}

// MayUse returns nil if the configuration has a target, and lets the bucket use it.
func (n notifications) MayUse(bucket, target string) error {
	i := slices.IndexFunc(n.config.Events.Targets, func(t config.EventTarget) bool { return t.Name == target })
	switch {
	case i < 0:
		return notification.ErrNoTarget
	case !notification.Allows(n.config.Events.Targets[i].Buckets, bucket):
		return notification.ErrNotAllowed
	}
	return nil
}

// deliver returns the routine that sends events.
func (s *Store) deliver(batch int, events *reclaim.Events) *routine.Deliver {
	e := s.Config.Events
	return &routine.Deliver{
		Ledger: s.Ledger, Sender: s.sender, Limit: batch, Clock: s.opt.Stopwatch, Events: events,
		Delivery: routine.Delivery{
			Lease: max(s.safety.ClaimGrace, 4*longest(e.Targets)), BackoffMin: e.BackoffMin.Std(), BackoffMax: e.BackoffMax.Std(),
			GiveUp: e.GiveUp.Std(), MaxAge: e.MaxAge.Std(), Most: e.MaxWaiting, Parallel: parallelRequests,
		},
	}
}

// longest is the longest time that a request may take.
func longest(targets []config.EventTarget) (d time.Duration) {
	for _, t := range targets {
		d = max(d, t.Timeout.Std())
	}
	return d
}
