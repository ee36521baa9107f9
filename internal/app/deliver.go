package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/jetstream"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/webhook"
)

// parallelRequests is how many requests of an instance to one target run at once.
const parallelRequests = 4

// sender gets an event to one target: see routine.Sender.
type sender interface {
	Send(ctx context.Context, e ledger.Event) error
}

// targets are the targets of events, by name.
type targets map[string]target

type target struct {
	sender
	buckets []string // that may use it
}

// Targets implements routine.Sender.
func (t targets) Targets() []string { return slices.Sorted(maps.Keys(t)) }

// Send implements routine.Sender.
func (t targets) Send(ctx context.Context, e ledger.Event) error {
	to, known := t[e.Target]
	switch {
	case !known:
		return fmt.Errorf("there is no target %s: %w", e.Target, routine.ErrUnreached)
	case !notification.Allows(to.buckets, e.Bucket):
		return notification.ErrNotAllowed
	}
	return to.Send(ctx, e)
}

// openTargets reads the targets of events. None is connected to yet.
func (s *Store) openTargets() error {
	s.targets = targets{}
	for _, t := range s.Config.Events.Targets {
		if t.Kind == "nats" {
			to, err := jetstream.New(jetstream.Target{
				URL: t.URL.Reveal(), Subject: t.Subject, Credentials: t.CredentialsFile, Private: t.Private, Timeout: t.Timeout.Std(),
			}, s.Config.Server.Region)
			if err != nil {
				return fmt.Errorf("events.targets: %s: %w", t.Name, err)
			}
			s.closing(to.Close)
			s.targets[t.Name] = target{to, t.Buckets}
			continue
		}
		secret, err := t.Key()
		if err != nil {
			return fmt.Errorf("events.targets: %s: %w", t.Name, err)
		}
		s.targets[t.Name] = target{webhook.New(webhook.Target{
			URL: t.URL.Reveal(), Secret: secret.Reveal(), Private: t.Private, Timeout: t.Timeout.Std(),
		}, s.Config.Server.Region, s.opt.Clock), t.Buckets}
	}
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
		Ledger: s.Ledger, Sender: s.targets, Limit: batch, Clock: s.opt.Stopwatch, Events: events,
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
