// Package memledger is the complete in-memory ledger: the semantics of *sqlledger.DB over
// plain maps, for the simulation and for tests. Each method is one critical section that
// checks everything first and then changes everything, so that it applies whole or not at
// all. Nothing that a caller can observe depends on the order of a map. With the same clock
// and the same source of ids it returns the same as *sqlledger.DB; ledger/ledgertest tests
// both.
//
// Beyond the ledger's methods it has what a checker needs: iteration over all rows in order
// (inspect.go), a cheap Recount, and a hook on every transition of a blob. Nothing here is
// stored, and no program but a test uses it.
package memledger

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// DB is an in-memory ledger. It is safe for concurrent use.
type DB struct {
	// OnTransition, if set, is called for every change of a blob's state, while it happens:
	// from 0 for a new row, to 0 for a removed one. It must not call the DB. It is not
	// called for changes within a state (a claim, a heartbeat).
	OnTransition func(blob lethe.ID, from, to lethe.State)

	mu     sync.Mutex
	opts   ledger.Options
	random io.Reader
	jump   ledger.Jump
	now    lethe.Time // the transaction's; never runs back
	store  ledger.Store
	fence  int64

	backends  table[*backend]
	buckets   table[*bucket] // by id, nameless ones included
	names     table[*bucket]
	contents  table[*content]
	inline    ledger.Total // of the inline contents
	open      map[ledger.ContentKey]*content
	blobs     table[*blob]
	byID      map[lethe.ID]*blob
	byContent map[lethe.ID]*table[*blob] // blobs that name the content, in any state
	pending   table[*blob]               // unclaimed, by heartbeat
	claimed   table[*blob]               // by fence
	dead      table[*blob]               // by id
	due       table[*object]             // by due time
	trash     table[*entry]              // by id
	purge     table[*entry]              // by purge time
	uploads   map[lethe.ID]*upload
	touched   table[*upload] // by last touch
	promos    map[lethe.ID]*promotion
	ops       map[lethe.ID]*ledger.Outcome
	opsByAt   table[*ledger.Outcome]
	runs      table[*ledger.Run]
	places    placements
	walking   walking
	deferred  table[*deferred]
	releases  table[*released]
	limits    map[limitKey]*ledger.LimitState
	solo      map[string]lethe.ID // the last exclusive run of each routine
	receipts  receipts
	events    events
	// rulesRevision is DuePage.Rules.
	rulesRevision int64
}

// New returns an empty ledger; zero options take the defaults of ledger.Options.
func New(o ledger.Options) *DB {
	o = o.WithDefaults()
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	db := &DB{opts: o, random: o.Random, jump: ledger.Jump{Boot: o.Boot, Most: o.ClockJump}}
	db.init()
	db.now = db.jump.Corrected(o.Clock.Now())
	db.store = ledger.Store{ID: db.newID(), DB: db.newID(), CreatedAt: db.now}
	return db
}

func (db *DB) init() {
	db.solo = map[string]lethe.ID{}
	db.events.targets = map[string]*ledger.EventTarget{}
	db.rulesRevision = 1
	db.inline = ledger.Total{Backend: ledger.InLedger, State: lethe.Live}
	db.backends.order = backendsByID
	db.buckets.order = bucketsByID
	db.names.order = bucketsByName
	db.contents.order = contentsByID
	db.blobs.order = blobsByID
	db.pending.order = blobsByBeat
	db.claimed.order = blobsByFence
	db.dead.order = blobsByID
	db.due.order = objectsByDue
	db.trash.order = entriesByID
	db.purge.order = entriesByPurge
	db.touched.order = uploadsByTouch
	db.opsByAt.order = outcomesByAt
	db.runs.order = runsByID
	db.walking.findings.order = findingsByKey
	db.open = map[ledger.ContentKey]*content{}
	db.byID = map[lethe.ID]*blob{}
	db.byContent = map[lethe.ID]*table[*blob]{}
	db.uploads = map[lethe.ID]*upload{}
	db.promos = map[lethe.ID]*promotion{}
	db.ops = map[lethe.ID]*ledger.Outcome{}
	db.limits = map[limitKey]*ledger.LimitState{}
	db.deferred.order = deferredByPlace
	db.releases.order = releasesByPlace
}

// enter begins a transaction: it sets the time and takes the lock, which the caller
// releases. It fails, without the lock, if ctx has ended.
func (db *DB) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memledger: %w", err)
	}
	db.mu.Lock()
	db.now = max(db.now, db.jump.Corrected(db.opts.Clock.Now()))
	db.receipts.by = lethe.CallerOf(ctx)
	return nil
}

// ClockBehind returns how far the clock lies behind the latest time used, 0 for up to a
// minute.
func (db *DB) ClockBehind() time.Duration {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.behind()
}

func (db *DB) behind() time.Duration {
	if d := db.now.Sub(db.opts.Clock.Now()); d > time.Minute {
		return d
	}
	return 0
}

// ClockAhead returns how far the clock was set forward since the ledger was made, 0 for up
// to Options.ClockJump. The ledger's own clock continues without the jump.
func (db *DB) ClockAhead() time.Duration {
	db.jump.Corrected(db.opts.Clock.Now())
	return db.jump.Ahead()
}

func (db *DB) newID() lethe.ID { return lethe.NewID(db.now, db.random) }

// Identity returns which store and which database this ledger is.
func (db *DB) Identity(ctx context.Context) (ledger.Store, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Store{}, err
	}
	defer db.mu.Unlock()
	return db.store, nil
}
