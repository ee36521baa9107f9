package object

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/internal/budget"
	"github.com/lethe-storage/lethe/ledger"
)

// Options of a Store. Ledger, Backends and StoreID are required; the zero value of
// the others selects the defaults.
type Options struct {
	Ledger   Ledger
	Backends map[string]blob.Store // by their ids in the ledger
	// Pick returns the backends that may take size bytes (-1: unknown), best first.
	// Default: all, in the order of their ids.
	Pick func(size int64) []string
	// Refuse returns why no backend takes size bytes, once none of the picked ones
	// had room: ErrNoRoom, or ErrUnavailable if waiting may help. Default: the
	// error of each.
	Refuse  func(size int64) error
	Cache   cache.Cache // default: none
	StoreID lethe.ID    // begins the name of every blob

	Clock lethe.Clock // stamps ids (default lethe.SystemClock)
	// Monotonic measures durations (default lethe.Monotonic).
	Monotonic lethe.Clock
	Random    io.Reader // random bits of ids (default crypto/rand); used concurrently

	// Inline is the largest content whose bytes are put into the ledger, up to
	// ledger.MaxInline; 0: none.
	Inline     int64
	Small      int64         // bodies up to so many bytes are held in memory (default 1 MiB)
	Block      int64         // bytes that are read and verified at once (default lethe.BlockSize)
	BodyMemory int64         // memory for such bodies, in bytes; beyond, a body is streamed (default 256 MiB)
	MinPart    int64         // smallest part but the last, in bytes (default 5 MiB)
	CacheTTL   time.Duration // longest stay in the cache (default 1 h)

	Beat      time.Duration // heartbeat of an upload (default 30 s)
	MinAge    time.Duration // age at which the reaper takes an intent (default 5 min)
	ReadGrace time.Duration // the ledger's (default lethe.DefaultReadGrace); readers extend it after half of it
	// Patience is how long a write is settled after its client has left or while
	// the ledger does not answer (default 30 s).
	Patience time.Duration
	// OpsKept is the ledger's: how long the outcome of an operation can be looked
	// up. An operation that is looked up later is unknown (default 24 h).
	OpsKept time.Duration

	// Background runs a goroutine beside each long upload and read, so that their
	// heartbeats continue while the client stalls. Without it, as in the
	// simulation, heartbeats are sent only as bytes pass.
	Background bool
	// Sleep waits d or until ctx is done (default: a timer).
	Sleep func(ctx context.Context, d time.Duration) error

	// NoteSoon, if set, is called when NoteReads is to be called within seconds, not at the
	// next minute: an object that was read would end before.
	NoteSoon func()

	Events Events
}

// Store joins the ledger and the backends. It is safe for concurrent use.
type Store struct {
	// Buckets, their documents, rules and holds belong to the ledger alone.
	BucketLedger
	DocumentLedger
	RuleLedger
	HoldLedger

	opt        Options
	ledger     Ledger
	events     Events
	notes      notes
	bodies     pool // of small bodies, up to Options.Small, and of blocks
	bodyMemory *budget.Budget
	// sumReads joins concurrent reads of a blob for its block sums, sumSlots bounds how
	// many blobs are read for that at once.
	sumReads singleflight.Group
	sumSlots *semaphore.Weighted
}

// New makes a store.
func New(o Options) (*Store, error) {
	switch {
	case o.Ledger.incomplete():
		return nil, errors.New("object: Options.Ledger lacks a part")
	case len(o.Backends) == 0:
		return nil, errors.New("object: Options.Backends is empty: at least one backend is needed")
	case o.StoreID == "":
		return nil, errors.New("object: Options.StoreID is missing")
	}
	o = o.withDefaults()
	return &Store{
		BucketLedger: o.Ledger.Buckets, DocumentLedger: o.Ledger.Documents, RuleLedger: o.Ledger.Rules, HoldLedger: o.Ledger.Holds,
		opt: o, ledger: o.Ledger, events: o.Events, notes: notes{waiting: map[lethe.ID]ledger.Read{}, urgent: map[lethe.ID]ledger.Read{}}, bodyMemory: budget.New(o.BodyMemory, o.BodyMemory), sumSlots: semaphore.NewWeighted(maxSumReads),
	}, nil
}

func (o Options) withDefaults() Options {
	if o.Pick == nil {
		ids := slices.Sorted(maps.Keys(o.Backends))
		o.Pick = func(int64) []string { return ids }
	}
	if o.Cache == nil {
		o.Cache = cache.Null{}
	}
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	if o.Monotonic == nil {
		o.Monotonic = lethe.Monotonic{}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Sleep == nil {
		o.Sleep = lethe.Sleep
	}
	o.Inline = min(o.Inline, ledger.MaxInline)
	o.Small = max(cmp.Or(o.Small, 1<<20), o.Inline)
	o.Block = cmp.Or(o.Block, lethe.BlockSize)
	o.BodyMemory = cmp.Or(o.BodyMemory, 256<<20)
	o.MinPart = cmp.Or(o.MinPart, 5<<20)
	o.CacheTTL = cmp.Or(o.CacheTTL, time.Hour)
	o.Beat = cmp.Or(o.Beat, 30*time.Second)
	o.MinAge = cmp.Or(o.MinAge, 5*time.Minute)
	o.ReadGrace = cmp.Or(o.ReadGrace, lethe.DefaultReadGrace)
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	o.OpsKept = cmp.Or(o.OpsKept, 24*time.Hour)
	return o
}

// reach returns the backends that can be read now, as far as is known without a
// call: those that are configured and not known to be down.
func (s *Store) reach() []string {
	out := make([]string, 0, len(s.opt.Backends))
	for id, b := range s.opt.Backends {
		if d, ok := b.(blob.Downer); !ok || d.Down() == "" {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return []string{""} // none
	}
	return out
}

func (s *Store) newID() lethe.ID { return lethe.NewID(s.opt.Clock.Now(), s.opt.Random) }

// bookkeeping returns a context that outlives the client's, for Patience.
func (s *Store) bookkeeping(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.opt.Patience)
}

// drop removes contents without references from the cache.
func (s *Store) drop(ctx context.Context, contents []lethe.ID) {
	cache.DropContents(context.WithoutCancel(ctx), s.opt.Cache, s.opt.StoreID, contents)
}

// named wraps err with what was done to which object; nil stays nil.
func named(what, bucket, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("object: %s %s/%s: %w", what, bucket, key, err)
}

// List lists a page of a bucket's visible objects and common prefixes in byte
// order.
func (s *Store) List(ctx context.Context, q ledger.ListQuery) (ledger.ListPage, error) {
	return s.ledger.Objects.List(ctx, q)
}
