package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/internal/wake"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// Options of a Store and an App. The zero value has the defaults.
type Options struct {
	Log   *slog.Logger
	Level *slog.LevelVar // of Log; changed by a reload
	Clock lethe.Clock    // tests set their own
	// Stopwatch measures durations, for throttling and for metrics (default
	// lethe.Monotonic).
	Stopwatch lethe.Clock
	// Boot runs on however the machine's clock is set (default Clock if there is
	// one, else lethe.Monotonic).
	Boot lethe.Clock
	// Version is the build's version in status and metrics.
	Version string
	// Create makes the data folder and its store if there is none; without it that
	// is ErrNoStore.
	Create bool
	// Spans replaces the exporter to a collector, for tests.
	Spans sdktrace.SpanExporter
	// Reload reads the configuration again, for SIGHUP. If nil, nothing is
	// reloaded.
	Reload func() (*config.Config, error)
	// Sources are where the values of the configuration come from; nil if unknown.
	Sources config.Sources
	// Command writes a lethe command for this store that can be pasted into a
	// shell. Nil: without options.
	Command func(args ...string) string
	Hooks   Hooks // of tests
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Level == nil {
		o.Level = new(slog.LevelVar)
	}
	if o.Boot == nil {
		o.Boot = lethe.Monotonic{}
		if o.Clock != nil {
			o.Boot = o.Clock
		}
	}
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	if o.Stopwatch == nil {
		o.Stopwatch = lethe.Monotonic{}
	}
	if o.Command == nil {
		o.Command = func(args ...string) string { return "lethe " + strings.Join(args, " ") }
	}
	o.Hooks = o.Hooks.withDefaults()
	return o
}

// Store is a ledger and its backends at work, with nothing that listens. It is
// built in this order, and closed in the reverse one:
//
//	       lock on the data folder
//	                 |
//	 ledger (SQLite in the folder, or PostgreSQL)
//	      /          |            \
//	backends    Redis, cache   observer (log, audit, metrics)
//	   |   \         |         /
//	   |    +--- objects -----+
//	   |                       \
//	 pairing -- engine loop ----+--- admin service
//
// Objects and engine meet only in the ledger's rows.
type Store struct {
	Config   *config.Config
	Ledger   *sqlledger.DB
	Identity ledger.Store
	Backends map[string]blob.Store
	Cache    cache.Cache
	Objects  *object.Store
	Loop     *reclaim.Loop
	Pairing  *pairing.Pairing

	raw          map[string]blob.Store                        // Backends without mount guards and breakers: for Pairing
	mountGuards  map[string]*intercept.MountGuard             // the outermost hooks of Backends
	breakers     map[string]*intercept.Breaker                // behind the mount guards
	buckets      map[string]*s3blob.Store                     // those of raw that lie in S3
	redis        *redisconn.Conn                              // nil: none
	locks        routine.ClaimLock                            // of the routines' claims; nil: none
	bus          *wake.Bus                                    // wakes routines that have work
	copyRate     func(ctx context.Context, bytes int64) error // of all copies and imports; nil: no limit
	router       *placement.Router
	ledgerHealth *healthCheck // the ledger's
	opt          Options
	watch        *observer
	safety       reclaim.Safety
	admin        *service.Service      // set once there is a handler of it
	pairingTold  sync.Map              // what was last logged about the epoch of each backend
	unswept      map[string]lethe.Time // before when unfinished uploads on a backend were begun
	noteSoon     chan struct{}         // reads are to be noted within seconds
	rules        ruleBook
	targets      targets
	worker       string
	closes       []func() error
}

// OpenStore opens the store of a configuration: with a ledger in SQLite for this
// process alone, else in PostgreSQL beside others. Errors: ErrInUse, ErrNoStore,
// and those of ledger and backends.
func OpenStore(ctx context.Context, c *config.Config, o Options) (*Store, error) {
	s := &Store{Config: c, opt: o.withDefaults(), noteSoon: make(chan struct{}, 1)}
	if err := errors.Join(s.readRules(c), s.openTargets()); err != nil {
		return nil, err
	}
	err := s.inOrder(ctx, []step{
		{"lock", s.lock}, {"ledger", s.openLedger}, {"tracing", s.openTracing}, {"backends", s.openBackends},
		{"redis", s.openRedis}, {"cache", s.openCache},
		{"router", s.makeRouter}, {"objects", s.makeObjects}, {"engine", s.makeEngine}, {"places", s.lookAtPlaces},
		{"earlier", s.endEarlier},
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// step is one step of opening.
type step struct {
	name string // for hooks
	do   func(context.Context) error
}

// inOrder runs the steps one after the other until one fails.
func (s *Store) inOrder(ctx context.Context, steps []step) error {
	for _, st := range steps {
		if err := s.opt.Hooks.Step(st.name, func() error { return st.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// Close closes everything, last opened first.
func (s *Store) Close() error {
	var errs []error
	for i := len(s.closes) - 1; i >= 0; i-- {
		errs = append(errs, s.closes[i]())
	}
	s.closes = nil
	return errors.Join(errs...)
}

func (s *Store) closing(fn func() error) { s.closes = append(s.closes, fn) }

// shared reports whether other processes may work on the ledger.
func (s *Store) shared() bool { return s.Config.Database.On() }

// lock locks the data folder. Commands on a shared ledger need no lock.
func (s *Store) lock(context.Context) error {
	if s.shared() && !s.opt.Create {
		return CheckDataDir(s.Config.DataDir)
	}
	f, err := LockDataDir(s.Config.DataDir, s.opt.Create)
	if err != nil {
		return err
	}
	s.closing(f.Close)
	if err := sweepBackups(s.Config.DataDir); err != nil {
		s.opt.Log.Warn("remains of an interrupted backup could not be removed", "error", err)
	}
	if s.shared() || exists(LedgerPath(s.Config.DataDir)) {
		return nil
	}
	if err := checkRestored(s.Config.DataDir); err != nil || s.opt.Create {
		return err
	}
	return fmt.Errorf("%w in %s: run \"lethe serve\" to make one, or choose another with --data-dir", ErrNoStore, s.Config.DataDir)
}

func (s *Store) makeObjects(context.Context) (err error) {
	events := s.watch.objects()
	events.Begun = s.router.Wrote
	s.Objects, err = object.New(object.Options{
		Pick: s.router.Pick, Refuse: s.router.Refuse,
		Ledger: object.Ledger{
			Buckets: s.Ledger, Documents: s.Ledger, Rules: s.Ledger, Holds: s.Ledger,
			Objects: s.Ledger, Reads: s.Ledger, Intents: s.Ledger, Copies: s.Ledger, Uploads: s.Ledger, Trash: s.Ledger,
		},
		Backends: s.Backends, Cache: s.Cache, StoreID: s.Identity.ID, Clock: s.opt.Clock,
		Inline: s.Config.InlineUpTo(), Small: int64(s.Config.Store.MemoryBody), MinPart: int64(s.Config.Store.MinPartSize), CacheTTL: s.Config.Cache.TTL.Std(),
		Beat: s.safety.MinAge / 10, MinAge: s.safety.MinAge, ReadGrace: s.safety.ReadGrace, OpsKept: s.safety.OpsKept,
		Background: true, Events: events, NoteSoon: s.hurryNotes,
	})
	if err == nil {
		s.closing(s.lastNotes)
	}
	return err
}

// discard is for closers whose error is of no use.
func discard(c io.Closer) { _ = c.Close() }

// drainTimeout is how long open requests may take to finish.
func (s *Store) drainTimeout() time.Duration {
	return cmp.Or(s.Config.Server.DrainTimeout.Std(), time.Second)
}
