package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/schedule"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// blobsPerObject bounds the blobs of one batch of expire and purge, in multiples of
// its objects: an object of many parts has many.
const blobsPerObject = 4

// traits are what the loop does differently with a routine.
type traits struct {
	// solo: it walks over everything, and only one instance runs it.
	solo bool
	// unthrottled: it does not slow down while clients wait or the database is busy.
	unthrottled bool
	// unpaced: its own rate and workers bound its calls, not those of the loop.
	unpaced bool
	// placing: it is of package placement, and needs several backends.
	placing bool
	// takes is the count that limits the deletions of a run, where that is not its
	// items: clean also counts retries, lifecycle the objects that it reads.
	takes string
}

// routineTraits has every routine by name. Store.routine makes them.
var routineTraits = map[string]traits{
	"expire":    {},
	"evict":     {solo: true},
	"clean":     {takes: "gone"},
	"reap":      {},
	"multipart": {},
	"lifecycle": {solo: true, takes: "aborted"},
	"purge":     {},
	"deliver":   {},
	// watch takes back what dead workers held, in a few short transactions, and its
	// delay would block all others.
	"watch":     {unthrottled: true},
	"receipts":  {solo: true},
	"verify":    {solo: true},
	"checksums": {solo: true},
	"replicate": {placing: true},
	"drain":     {solo: true, placing: true},
	"rebalance": {solo: true, placing: true},
	"survey":    {solo: true, placing: true},
	"inline":    {solo: true},
	"reconcile": {solo: true, unpaced: true},
	"recount":   {solo: true},
	"usage":     {solo: true},
}

// makeEngine makes the configured routines, the loop and the pairing.
func (s *Store) makeEngine(context.Context) error {
	events := s.watch.engine()
	s.Pairing = &pairing.Pairing{
		Ledger: s.Ledger, Stores: s.raw, Clock: s.opt.Clock, Events: events, Place: s.place, Beat: s.safety.Beat, Boot: s.opt.Boot,
	}
	if !s.opt.Create {
		s.Pairing.Sleep = s.quietly // a separate command
	}
	s.Loop = &reclaim.Loop{
		Ledger: s.Ledger, Clock: s.opt.Clock, Worker: s.worker, Events: events, Ready: s.ledgerHealth.answers, Confirmed: s.Pairing.Confirmed, Spans: s.watch.trace.runs(),
		NewID: func() lethe.ID { return lethe.RandomID(s.opt.Clock.Now()) }, BeatEvery: cmp.Or(s.opt.Hooks.RunBeat, s.safety.RunBeat()),
	}
	s.makeThrottle()
	s.locks = s.claimLock()
	s.makeBus()
	for _, r := range s.Config.Reclaim.Routines() {
		is, known := routineTraits[r.Name]
		if !known {
			return fmt.Errorf("the traits of the routine %s are unknown", r.Name)
		}
		if is.placing && len(s.Config.Backends) < 2 {
			continue
		}
		most := s.Config.Reclaim.Limits.PerRun.Of(r.Name)
		if most > 0 {
			r.Batch = int(min(int64(r.Batch), most))
		}
		made, err := s.routine(r, events)
		if err != nil {
			return err
		}
		out := scheduled(made, r)
		out.Most, out.Takes, out.Solo = most, is.takes, is.solo
		if is.unpaced {
			out.Workers, out.Rate = 1, nil
		}
		if !is.unthrottled {
			out.Controller = s.watch.throttle
		}
		if r.Enabled && s.Config.Has(config.RoleReclaim) {
			s.watch.metrics.Routine(r.Name, r.Batch, out.Interval(s.opt.Clock.Now()))
		}
		s.Loop.Routines = append(s.Loop.Routines, out)
	}
	return nil
}

// routine returns the routine with a name, or an error if no routine has it.
func (s *Store) routine(c config.NamedRoutine, events *reclaim.Events) (reclaim.Routine, error) {
	batch := ledger.Batch{Limit: c.Batch, MaxBlobs: blobsPerObject * c.Batch, Limits: s.deletionLimits()}
	switch c.Name {
	case "expire":
		return &routine.Expire{
			Ledger: s.Ledger, Batch: batch, Controller: s.watch.throttle, Drop: s.drop, Events: events, Lock: s.locks, Plans: s.Ledger,
			Rounds: routine.RestartInterval{Time: s.safety.PassTime},
		}, nil
	case "evict":
		return &routine.Evict{Ledger: s.Ledger, Batch: batch, Controller: s.watch.throttle, Drop: s.drop, Events: events, Note: s.noteNow}, nil
	case "clean":
		return &routine.Clean{
			Ledger: s.Ledger, Stores: s.Backends, Store: s.Identity.ID, Safety: s.safety,
			Limit: c.Batch, Controller: s.watch.throttle, Clock: s.opt.Clock, Events: events, Admit: s.Pairing.Admit,
			Lock: s.locks, Plans: s.Ledger,
			Deletes: s.deletionLimits().Deletes, Rounds: routine.RestartInterval{Time: s.safety.PassTime},
		}, nil
	case "reap":
		return &routine.Reap{
			Ledger: s.Ledger, Stores: s.Backends, Store: s.Identity.ID, Safety: s.safety, Limit: c.Batch, Events: events, Lock: s.locks, Plans: s.Ledger,
		}, nil
	case "multipart":
		return &routine.Uploads{Ledger: s.Ledger, Safety: s.safety, StaleOn: s.staleOn(), Limit: c.Batch, Events: events}, nil
	case "recount":
		return &routine.Recount{Ledger: s.Ledger, Events: events}, nil
	case "usage":
		return s.Usage(c.Batch), nil
	case "lifecycle":
		return s.lifecycle(c, events), nil
	case "purge":
		return &routine.Purge{
			Ledger: s.Ledger, Batch: batch, Controller: s.watch.throttle, Drop: s.drop, Events: events, Lock: s.locks, Plans: s.Ledger,
			Rounds: routine.RestartInterval{Time: s.safety.PassTime},
		}, nil
	case "deliver":
		return s.deliver(c.Batch, events), nil
	case "reconcile":
		return s.Reconciler(nil, false, nil), nil
	case "receipts":
		return &routine.Receipts{
			Ledger: s.Ledger, Age: s.Ledger, Store: s.Identity.ID, Keep: s.Config.Receipts.Keep.Std(), Safety: s.safety, Events: events,
		}, nil
	case "watch":
		return &routine.Watch{Ledger: s.Ledger, Safety: s.safety, Limit: c.Batch, Events: events}, nil
	case "verify", "checksums":
		return s.Verifier(c.Batch, c.Name == "checksums"), nil
	case "replicate":
		return placement.NewReplicate(s.placing(c)), nil
	case "drain":
		return placement.NewDrain(s.placing(c)), nil
	case "rebalance":
		return placement.NewRebalance(s.placing(c)), nil
	case "survey":
		return placement.NewSurvey(s.placing(c)), nil
	case "inline":
		return placement.NewInline(s.placing(c)), nil
	}
	return nil, fmt.Errorf("no routine is named %s", c.Name)
}

// staleOn are the backends on which uploads become stale sooner.
func (s *Store) staleOn() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, b := range s.Config.Backends {
		if b.MultipartStale > 0 {
			out[b.Name] = b.MultipartStale.Std()
		}
	}
	return out
}

// deletionLimits reads the limits of the configuration.
func (s *Store) deletionLimits() ledger.Limits {
	g := s.Config.Reclaim.Limits
	return ledger.Limits{Rules: limitOf(g.Rules), TTL: limitOf(g.TTL), Purge: limitOf(g.Purge), Deletes: limitOf(g.Deletes)}
}

func limitOf(l config.DeletionLimit) ledger.Limit {
	return ledger.Limit{Share: l.Share, Floor: l.Floor, Ask: l.Ask, PerHour: l.PerHour}
}

// Usage returns the routine that counts what buckets store.
func (s *Store) Usage(batch int) *routine.Usage {
	return &routine.Usage{Ledger: s.Ledger, Limit: batch, Safety: s.safety, StaleOn: s.staleOn(), Controller: s.watch.throttle}
}

// Verifier returns a verify pass of the store.
func (s *Store) Verifier(batch int, checksums bool) *routine.Verify {
	return &routine.Verify{
		Ledger: s.Ledger, Stores: s.Backends, Store: s.Identity.ID, Checksums: checksums, Limit: batch, Events: s.watch.engine(),
		Keep: s.Config.Receipts.Keep.Std(), Clock: s.opt.Clock,
	}
}

// scheduled gives a routine its timetable and rate. A disabled one never begins by
// itself.
func scheduled(r reclaim.Routine, c config.NamedRoutine) reclaim.Scheduled {
	out := reclaim.Scheduled{Routine: r, Timetable: schedule.Schedule{}, Workers: c.Workers}
	if c.Enabled {
		out.Timetable = c.Schedule.Schedule
	}
	out.Rate = throttle.PerSecond[int](c.RatePerSecond, c.Batch)
	return out
}

// drop removes cached contents that lost their last reference.
func (s *Store) drop(ctx context.Context, contents []lethe.ID) {
	cache.DropContents(ctx, s.Cache, s.Identity.ID, contents)
}
