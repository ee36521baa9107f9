// Package adoption assembles "lethe adopt": it opens the database, the buckets
// and the cache that a description names, and builds the routines of its
// collections. The rules of adoption are in package adopt, its SQL in sqladopt,
// flags and output in cmd/lethe.
package adoption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/rediskeys"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/internal/claimlock"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/schedule"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// Options of an Adoption. The zero value takes the defaults.
type Options struct {
	Log   *slog.Logger
	Clock lethe.Clock
	Boot  lethe.Clock
	// Recheck is the interval of checks of collections with a problem, and the time
	// before a description is opened again (default 1 min).
	Recheck time.Duration
	// Worker is this process's name in runs (default host, process id, and random characters:
	// containers may have the first two in common).
	Worker string
	Spans  Spans
	// Watch is of the process (default a new one).
	Watch *ClockWatch
}

// filled returns the options with the defaults.
func (o Options) filled() Options {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Clock = cmp.Or[lethe.Clock](o.Clock, lethe.SystemClock{})
	o.Recheck = cmp.Or(o.Recheck, time.Minute)
	o.Boot = cmp.Or[lethe.Clock](o.Boot, lethe.Monotonic{})
	o.Watch = cmp.Or(o.Watch, new(ClockWatch))
	if o.Worker == "" {
		host, _ := os.Hostname() // empty is valid
		id := lethe.RandomID(o.Clock.Now())
		o.Worker = fmt.Sprintf("%s-%d-%s", cmp.Or(host, "host"), os.Getpid(), id[len(id)-6:])
	}
	return o
}

// Adoption is a description with everything that it names opened.
type Adoption struct {
	Description *adopt.Description // without collections that cannot be opened
	whole       *adopt.Description
	DB          *sqladopt.DB
	Loop        *reclaim.Loop
	// Unusable are collections that do not fit the database, with the reason;
	// the others are worked on.
	Unusable    map[string]error
	collections map[string]*sqladopt.Collection
	folders     map[string]*sqladopt.Folders
	keys        map[string]*sqladopt.Keys
	quarantines map[string]*adopt.Quarantine // of routines, by collection
	suspended   suspensions
	changed     chan struct{} // a run found that tables changed
	buckets     buckets
	redis       *redisconn.Conn
	audits      *slog.Logger // nil if audit lines go to the log
	o           Options
	since       lethe.Time // by this machine's clock
	close       []func() error
}

// Open opens the database and reads every collection's tables. It changes
// nothing. Buckets and cache are opened when first needed.
func Open(ctx context.Context, d *adopt.Description, o Options) (_ *Adoption, err error) {
	o = o.filled()
	a := &Adoption{Description: d, whole: d, o: o, since: o.Clock.Now(), Unusable: map[string]error{}, collections: map[string]*sqladopt.Collection{}, folders: map[string]*sqladopt.Folders{}, keys: map[string]*sqladopt.Keys{}, quarantines: map[string]*adopt.Quarantine{}, changed: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.DB, err = sqladopt.Open(ctx, d.Database, sqladopt.Options{Schema: d.Schema, Connections: a.connections(), Watch: o.Spans.transactions()}); err != nil {
		return nil, err
	}
	a.close = append(a.close, a.DB.Close)
	if err := a.openAll(ctx); err != nil {
		return nil, err
	}
	if d.Redis != "" {
		a.redis, err = redisconn.Open(redisconn.Options{URL: d.Redis, Kind: redisconn.KindOf(d.Redis), Timeout: 5 * time.Second})
		if err != nil {
			return nil, err
		}
		a.close = append(a.close, a.redis.Close)
	}
	return a, a.makeLoop(ctx)
}

// openAll opens the collections, and removes those that cannot be opened from
// the description.
func (a *Adoption) openAll(ctx context.Context) error {
	for _, name := range a.Description.Names() {
		err := a.open(ctx, name, a.Description.Collections[name])
		if err == nil {
			continue
		}
		if _, down := a.DB.Now(ctx); down != nil {
			return err
		}
		if at := a.Description.Place(name); at != "" {
			err = fmt.Errorf("%s: %w", at, err)
		}
		a.Unusable[name] = err
	}
	rest := *a.Description
	rest.Collections = maps.Clone(rest.Collections)
	maps.DeleteFunc(rest.Collections, func(name string, _ adopt.Collection) bool { return a.Unusable[name] != nil })
	a.Description = &rest
	return nil
}

// open opens one collection.
func (a *Adoption) open(ctx context.Context, name string, c adopt.Collection) error {
	switch c.Kind {
	case adopt.OfFolders:
		return opened(name, a.folders)(a.DB.Folders(ctx, name, c))
	case adopt.OfKeys:
		return opened(name, a.keys)(a.DB.Keys(ctx, name, c))
	}
	return opened(name, a.collections)(a.DB.Collection(ctx, name, c))
}

// opened stores what was opened.
func opened[T any](name string, in map[string]T) func(T, error) error {
	return func(v T, err error) error {
		if err == nil {
			in[name] = v
		}
		return err
	}
}

// connections returns one for each worker and some to spare.
func (a *Adoption) connections() int {
	n := 4
	for _, c := range a.Description.Collections {
		n += max(1, c.Workers) * 2
	}
	return n
}

// Close closes what was opened.
func (a *Adoption) Close() error {
	var errs []error
	for _, c := range slices.Backward(a.close) {
		errs = append(errs, c())
	}
	a.close = nil
	errs = append(errs, a.buckets.close())
	return errors.Join(errs...)
}

// Collection returns a collection of records by its name, nil if there is none.
func (a *Adoption) Collection(name string) *sqladopt.Collection { return a.collections[name] }

// Defaults of a collection.
const (
	defaultBatch    = 1000
	defaultWatchdog = 10 * time.Minute
	cleanEvery      = time.Minute
	pruneEvery      = time.Hour
	sealEvery       = time.Minute
	reviewEvery     = 10 * time.Minute
)

func (a *Adoption) makeLoop(ctx context.Context) error {
	a.Loop = &reclaim.Loop{
		Ledger: a.DB, Clock: a.o.Clock, Worker: a.o.Worker, Events: a.events(), Spans: a.o.Spans.Spans,
		NewID: func() lethe.ID { return lethe.RandomID(a.o.Clock.Now()) },
	}
	for _, name := range a.Description.Names() {
		routines, err := a.routines(ctx, name, a.Description.Collections[name])
		if err != nil {
			return fmt.Errorf("collection %s: %w", name, err)
		}
		for _, r := range routines {
			timed := byClock{Routine: r.Routine, a: a}
			if q := a.quarantines[name]; q != nil && q.Name() == r.Routine.Name() {
				timed.quarantine = q
			}
			r.Routine = collected{timed, name}
			a.Loop.Routines = append(a.Loop.Routines, r)
		}
	}
	if len(a.Loop.Routines) > 0 {
		for _, name := range a.Description.Names() {
			if a.reclaims(name) {
				continue
			}
			// A plan of it may have been applied.
			reviews, err := a.reviews(ctx, name)
			if err != nil {
				return fmt.Errorf("collection %s: %w", name, err)
			}
			a.Loop.Routines = slices.Concat(a.Loop.Routines, reviews, a.recache(name))
		}
	}
	if len(a.Loop.Routines) > 0 {
		a.Loop.Routines = append(a.Loop.Routines, reclaim.Scheduled{
			Routine: borrow("", &adopt.Prune{Records: a.DB, Batch: defaultBatch}), Timetable: every(pruneEvery), Workers: 1,
		}, reclaim.Scheduled{
			Routine: collected{chainRoutine{a}, ""}, Timetable: every(sealEvery), Workers: 1, Solo: true,
		}, reclaim.Scheduled{
			Routine: collected{pairingRoutine{a}, ""}, Timetable: every(epochEvery), Workers: 1,
		})
	}
	return nil
}

// routines returns those of a collection that may reclaim. One that only
// reports has none: Plan reads it.
func (a *Adoption) routines(ctx context.Context, name string, c adopt.Collection) ([]reclaim.Scheduled, error) {
	if c.Mode != adopt.Reclaim {
		return nil, nil
	}
	switch c.Kind {
	case adopt.OfFolders:
		return a.folderRoutines(ctx, name)
	case adopt.OfKeys:
		return a.keyRoutines(ctx, name)
	}
	rows, grace, batch := a.collections[name], c.Graces(), c.BatchSize()
	main, err := c.Schedule.Times()
	if err != nil {
		return nil, err
	}
	expire := a.expire(name, rows)
	out := []reclaim.Scheduled{{
		Routine:   borrow(name, expire),
		Timetable: main, Workers: max(1, c.Workers), Most: c.Limit, Step: int64(batch), Rate: throttle.PerSecond[int](c.RatePerSecond, batch),
	}}
	if c.Rows.Status != nil {
		out = append(out, reclaim.Scheduled{
			Routine:   borrow(name, &adopt.Watchdog{Collection: name, Records: rows, Grace: grace, Batch: batch}),
			Timetable: every(cmp.Or(time.Duration(c.Schedule.Watchdog), defaultWatchdog)), Workers: 1,
		})
	}
	out = append(out, a.recache(name)...)
	reviews, err := a.reviews(ctx, name)
	if err != nil {
		return nil, err
	}
	out = append(out, reviews...)
	if !c.Cleans() {
		return out, nil
	}
	remover, err := a.remover(ctx, name)
	if err != nil {
		return nil, err
	}
	clean := a.clean(name, rows, remover)
	if e, ok := expire.(*adopt.Expire); ok && grace.Unreferenced == 0 {
		e.Clean, e.Ender = clean, rows
	}
	out = append(out, reclaim.Scheduled{
		Routine:   borrow(name, clean),
		Timetable: every(cleanEvery), Workers: max(1, c.Workers), Most: c.Limit, Step: int64(batch), Rate: throttle.PerSecond[int](c.RatePerSecond, batch),
	})
	more, err := a.quarantineRoutines(ctx, name)
	return append(out, more...), err
}

// clean returns the routine that deletes the objects of a collection's
// contents.
func (a *Adoption) clean(name string, rows *sqladopt.Collection, remover adopt.Deleter) *adopt.Clean {
	c := a.Description.Collections[name]
	return &adopt.Clean{
		Collection: name, Contents: rows, Bucket: remover, Grace: c.Graces(), Batch: c.BatchSize(), Boot: a.o.Boot, Events: a.adoptEvents(),
	}
}

// expire returns the routine that removes a collection's rows.
func (a *Adoption) expire(name string, rows *sqladopt.Collection) adoptRoutine {
	c := a.Description.Collections[name]
	batch := c.BatchSize()
	if c.Rows.Status == nil {
		return &adopt.Take{Collection: name, Records: rows, Holds: rows, Grace: c.Graces(), Batch: batch, Events: a.adoptEvents()}
	}
	var copies adopt.Copies
	if len(c.Cache) > 0 {
		copies = a.copies()
	}
	return &adopt.Expire{
		Collection: name, Records: a.claiming(name, c, rows), Holds: rows, Copies: copies, Grace: c.Graces(), Batch: batch, Events: a.adoptEvents(),
	}
}

// claiming returns the records of a collection, whose claims are serialised by
// a lock in Redis if so described.
func (a *Adoption) claiming(name string, c adopt.Collection, rows *sqladopt.Collection) adopt.Records {
	if !c.Lock {
		return rows
	}
	return lockedRecords{rows, claimlock.New(claimlock.Options{Conn: a.redis, Prefix: redisconn.KeyPrefix + "adopt:"}), name}
}

// lockedRecords are records that one worker claims at a time.
type lockedRecords struct {
	*sqladopt.Collection
	lock *claimlock.Locks
	name string
}

// Claim implements adopt.Records.
func (l lockedRecords) Claim(ctx context.Context, limit int) (c adopt.Claim, err error) {
	err = l.lock.Around(ctx, l.name, func(ctx context.Context) error {
		c, err = l.Collection.Claim(ctx, limit)
		return err
	})
	return c, err
}

// copies returns those in the application's cache.
func (a *Adoption) copies() adopt.Copies {
	copies := rediskeys.Copies{Conn: a.redis}
	if a.o.Spans.Call == nil {
		return copies
	}
	return tracedCopies{copies, a.o.Spans}
}

// every returns a timetable of a valid interval.
func every(d time.Duration) reclaim.Timetable {
	s, err := schedule.New(schedule.Spec{Every: d})
	if err != nil {
		panic(err)
	}
	return s
}

func (a *Adoption) adoptEvents() *adopt.Events {
	return &adopt.Events{
		Drifted: func(collection string, contents []string) {
			a.o.Log.Warn("counts of contents were wrong", "collection", collection, "contents", len(contents), "first", contents[0])
		},
		Broken: func(collection string, contents []string) {
			a.o.Log.Error("contents were referenced past the guard while their objects were deleted", "collection", collection, "contents", len(contents), "first", contents[0])
		},
		Failed: func(collection string, objects int, why string) {
			a.o.Log.Warn("objects could not be deleted and are tried again", "collection", collection, "objects", objects, "error", why)
		},
		Outside: func(collection string, keys []string) {
			a.o.Log.Warn("objects outside of the prefix are left alone", "collection", collection, "objects", len(keys), "first", keys[0])
		},
		Refused: func(collection, key, why string) {
			a.o.Log.Warn("the database does not let a row go: it is held for a while", "collection", collection, "row", key, "why", why, "hours", int(adopt.RefusedRest.Hours()))
		},
		Missing: func(collection string, keys []string) {
			a.o.Log.Warn("rows name objects that are not in the bucket", "collection", collection, "objects", len(keys), "first", keys[0])
		},
		HookFailed: func(collection string, err error) {
			a.o.Log.Error("the hook failed for some missing objects: the next run repeats them", "collection", collection, "error", err)
		},
		Restored: func(collection string, keys []string) {
			a.o.Log.Warn("objects were copied back from quarantine", "collection", collection, "objects", len(keys), "first", keys[0])
		},
		Lost: func(collection string, keys []string) {
			a.o.Log.Error("something refers to objects whose copies in quarantine are gone", "collection", collection, "objects", len(keys), "first", keys[0])
		},
		FolderCancelled: func(collection, folder, why string) {
			a.o.Log.Warn("a folder is not to go any more", "collection", collection, "folder", folder, "why", why)
		},
		FolderKept: func(collection, folder, why string) {
			a.o.Log.Warn("a folder without a row stays", "collection", collection, "folder", folder, "why", why)
		},
	}
}

func (a *Adoption) events() *reclaim.Events {
	return &reclaim.Events{
		RunEnded: func(r ledger.Run, err error) {
			if err != nil {
				a.refused(r, err)
				a.o.Log.Warn("a run failed", "routine", r.Routine, "counts", r.Counts, "error", err)
				return
			}
			level := slog.LevelInfo
			if r.Idle() {
				level = slog.LevelDebug
			}
			a.o.Log.Log(context.Background(), level, "a run ended", "routine", r.Routine, "counts", r.Counts)
		},
		RunTakenOver: func(r ledger.Run) {
			a.audit("run_taken_over", "no heartbeat", slog.String("routine", r.Routine), slog.String("run", string(r.ID)), slog.String("worker", r.Worker))
		},
	}
}
