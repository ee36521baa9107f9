package app

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/claimlock"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/wake"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// wakeGap is the least time between two wake-ups of a routine, in which batches
// grow.
const wakeGap = 5 * time.Second

// makeBus lets a routine that has work begin before its time, here and, through Redis, on
// other instances. Timetables continue.
func (s *Store) makeBus() {
	o := wake.Options{
		Channel: wake.Channel(s.Identity.ID), Self: s.worker, Gap: wakeGap,
		Wake: func(routine string) { s.Loop.Wake(routine) },
		Events: wake.Events{
			Failed: func(err error) { s.opt.Log.Debug("other instances could not be woken", "error", err) },
		},
	}
	if s.redis != nil && s.Config.Redis.Wake {
		o.Conn = s.redis
	}
	if s.Config.Has(config.RoleReclaim) {
		o.Routines = s.wakeable()
	}
	s.bus = wake.New(o)
}

// wakeable are the routines that may begin before their time: those with an
// interval. One with a timetable waits for it.
func (s *Store) wakeable() (names []string) {
	for _, r := range s.Config.Reclaim.Routines() {
		if r.Enabled && r.Schedule.Spec().Cron == "" {
			names = append(names, r.Name)
		}
	}
	return names
}

// moved counts the rows that a transaction moved, and wakes the routines that have
// work by it.
func (s *Store) moved(list []ledger.Move) {
	s.watch.metrics.Moved(list)
	if s.bus == nil {
		return // the store is still being opened
	}
	for _, m := range list {
		switch {
		case m.To == lethe.Condemned && m.From == lethe.Live:
			s.bus.Notify("clean", s.safety.ReadGrace)
		case m.To == lethe.Condemned:
			s.bus.Notify("clean", 0)
		case m.To == lethe.Live && m.From == lethe.Pending && s.Config.Placement.Replicas > 1:
			s.bus.Notify("replicate", 0)
		}
	}
}

// claimLock serializes the claims of routines, where the configuration enables it;
// nil: they do not wait for each other.
func (s *Store) claimLock() routine.ClaimLock {
	if s.redis == nil || !s.Config.Redis.Lock {
		return nil
	}
	return claimlock.New(claimlock.Options{
		Conn: s.redis, Store: s.Identity.ID,
		Events: claimlock.Events{
			Without: func(name string, err error) {
				s.opt.Log.Debug("a claim continued without the lock", "lock", name, "error", err)
			},
		},
	}).Around
}
