package adoption

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Moments at which a row names an object.
const (
	whileUploaded    = "named after passes in which it was uploaded"
	beforeCondemned  = "named right before it is condemned"
	whileQuarantined = "named while in quarantine"
	beforePurge      = "named right before the purge of its copy"
)

// lateRow is an object that lies before its row.
type lateRow struct {
	key, collection string
	put             lethe.Time // not later than the object
	seen            lethe.Time // by a whole pass; 0: not yet
}

// namedWithin is how long after it was put the row of an upload is inserted at the
// latest: times of objects are whole seconds.
const namedWithin = minAge - 3*time.Second/2

// namer inserts rows at the worst moments of passes.
type namer struct {
	*uploads
	passed   chan struct{} // a pass has ended
	draining atomic.Bool   // passes restore, and nothing more is named for them

	mu      sync.Mutex
	made    int
	waiting []*lateRow
}

// run uploads, and puts old objects whose rows come late, after each pass.
func (n *namer) run(ctx context.Context) {
	for {
		for _, collection := range []string{"files", "plain"} {
			n.add(ctx, collection)
		}
		select {
		case <-ctx.Done():
			return
		case <-n.passed:
		}
	}
}

// add puts an object whose row comes soon, and an old one of each kind.
func (n *namer) add(ctx context.Context, collection string) {
	n.mu.Lock()
	n.made++
	made := n.made
	enough := len(n.waiting) >= 20
	n.mu.Unlock()
	if enough {
		return
	}
	u := &lateRow{key: fmt.Sprint(collection, "/soon ", made), collection: collection, put: lethe.SystemClock{}.Now()}
	if n.uploads.put(ctx, u.key, 0) == nil {
		n.mu.Lock()
		n.waiting = append(n.waiting, u)
		n.mu.Unlock()
	}
	_ = n.uploads.put(ctx, fmt.Sprint(collection, "/late ", made), time.Hour)
}

// watch lets the namer know of the passes of an instance.
func (n *namer) watch(ctx context.Context, a *Adoption) {
	n.t.Helper()
	for _, name := range []string{"files", "plain"} {
		k, err := a.Keys(ctx, name)
		if err != nil {
			n.t.Fatal(err)
		}
		seen := &watchedKeys{KeyRows: k.Rows, n: n, collection: name}
		k.Rows = seen
		replace(n.t, a, name, watchedRoutine{k, seen.ended})
	}
	q, err := a.Quarantine(ctx, "files")
	if err != nil {
		n.t.Fatal(err)
	}
	seen := &watchedQuarantine{QuarantineRows: q.Rows, n: n}
	q.Rows = seen
	replace(n.t, a, "files", watchedRoutine{q, seen.ended})
}

// watchedKeys are the rows that the passes of one instance read.
type watchedKeys struct {
	adopt.KeyRows
	n          *namer
	collection string
	began      lethe.Time
	named      []string // in this pass
}

// Stream implements adopt.KeyRows.
func (k *watchedKeys) Stream(ctx context.Context, fn func(string) error) (lethe.Time, int64, error) {
	k.began = lethe.SystemClock{}.Now()
	return k.KeyRows.Stream(ctx, fn)
}

// See implements adopt.KeyRows. Rows of old orphans are committed right before.
// Another pass may have condemned them, and its delete may be on its way.
func (k *watchedKeys) See(ctx context.Context, s adopt.Seeing) (adopt.Seen, error) {
	if k.collection == "plain" {
		named := k.n.name(ctx, `INSERT INTO files SELECT key FROM lethe.orphans WHERE collection = 'plain' AND key LIKE 'plain/late %' AND allowed_at = 0
			AND since_at <= extract(epoch FROM clock_timestamp()) * 1000000 - $1 AND key = ANY($2) ON CONFLICT DO NOTHING RETURNING object_key`,
			s.Retention.Microseconds(), keysOf(s.Orphans))
		k.named = append(k.named, named...)
	}
	return k.KeyRows.See(ctx, s)
}

func keysOf(orphans []adopt.OrphanObject) (keys []string) {
	for _, o := range orphans {
		keys = append(keys, o.Key)
	}
	return keys
}

// name inserts rows, and returns their keys.
func (n *namer) name(ctx context.Context, query string, args ...any) []string {
	ctx, cancel := context.WithTimeout(ctx, longestOperation)
	defer cancel()
	rows, err := n.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil
	}
	keys, err := sqldb.Collect(rows, scanText)
	if err != nil {
		return nil
	}
	return keys
}

// ended names uploads that several passes may have seen, and checks what was
// named.
func (k *watchedKeys) ended(ctx context.Context, err error) {
	n := k.n
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestOperation)
	defer cancel()
	for _, key := range k.named {
		n.there(ctx, key, beforeCondemned)
	}
	n.count(beforeCondemned, int64(len(k.named)))
	k.named = nil
	for _, u := range n.due(k, err == nil) {
		n.insert(ctx, u)
	}
	n.ended()
}

func (n *namer) ended() {
	select {
	case n.passed <- struct{}{}:
	default:
	}
}

// due returns the uploads whose rows are to come now. Those that are too late
// stay without one.
func (n *namer) due(k *watchedKeys, whole bool) (due []*lateRow) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, retention := lethe.SystemClock{}.Now(), k.n.Description.Collections[k.collection].Keys.Rules().Retention
	n.waiting = slices.DeleteFunc(n.waiting, func(u *lateRow) bool {
		switch {
		case now.Sub(u.put) >= namedWithin:
			return true
		case u.collection != k.collection || !whole || k.began < u.put:
			return false
		case u.seen == 0:
			u.seen = now
			return false
		case k.began.Sub(u.seen) < retention:
			return false
		}
		due = append(due, u)
		return true
	})
	return due
}

// insert inserts the row of an upload while its object is young.
func (n *namer) insert(ctx context.Context, u *lateRow) {
	short, cancel := context.WithTimeout(ctx, namedWithin-lethe.SystemClock{}.Now().Sub(u.put))
	defer cancel()
	if _, err := n.db.ExecContext(short, `INSERT INTO files VALUES ($1)`, u.key); err == nil {
		n.there(ctx, u.key, whileUploaded)
		n.count(whileUploaded+" "+u.collection, 1)
	}
}

// watchedQuarantine is the record of a quarantine that one instance reads.
type watchedQuarantine struct {
	adopt.QuarantineRows
	n     *namer
	named []string // in this pass
}

// someFree are a few objects in quarantine that no worker has, locked.
const someFree = `INSERT INTO files SELECT key FROM (SELECT key FROM lethe.quarantined WHERE state = 2 AND due_at = 0 AND (key = ANY($1) OR $1 IS NULL)
	ORDER BY random() LIMIT 3 FOR UPDATE) AS q ON CONFLICT DO NOTHING RETURNING object_key`

// Page implements adopt.QuarantineRecords. Some of the objects are named right
// before.
func (q *watchedQuarantine) Page(ctx context.Context, after string, limit int) (adopt.QuarantinePage, error) {
	if !q.n.draining.Load() {
		q.n.count(whileQuarantined, int64(len(q.n.name(ctx, someFree, nil))))
	}
	return q.QuarantineRows.Page(ctx, after, limit)
}

// Claim implements adopt.QuarantineRecords. Some of what is to be purged is named
// right before.
func (q *watchedQuarantine) Claim(ctx context.Context, c adopt.ClaimRequest) (int64, []string, error) {
	if c.For == adopt.Purging && !c.Spare {
		q.named = append(q.named, q.n.name(ctx, someFree, c.Keys)...)
	}
	return q.QuarantineRows.Claim(ctx, c)
}

// ended checks that what was named is there, or its copy.
func (q *watchedQuarantine) ended(ctx context.Context, _ error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestOperation)
	defer cancel()
	for _, key := range q.named {
		copied, known := q.n.exists(ctx, "kept/"+key)
		there, also := q.n.exists(ctx, key)
		if known && also && !copied && !there {
			q.n.t.Errorf("%s was %s, and is gone", key, beforePurge)
		}
	}
	q.n.count(beforePurge, int64(len(q.named)))
	q.named = nil
	q.n.ended()
}

// restores checks, without faults, that one pass restores all that is named.
func (n *namer) restores(ctx context.Context) {
	n.t.Helper()
	n.draining.Store(true)
	for named := []string(nil); ; {
		named = append(named, n.name(ctx, someFree, nil)...)
		_, err := n.Loop.Once(ctx, []string{"quarantine files"}) // a killed one may count as running
		if err == nil && len(named) > 0 {
			for _, key := range named {
				n.there(ctx, key, "although it was "+whileQuarantined+", and a pass has ended")
			}
			return
		}
		if ctx.Err() != nil {
			n.t.Fatalf("nothing is in quarantine, or no pass ends: %v", err)
		}
		_, _ = n.Loop.Once(ctx, []string{"keys files"})
		_ = lethe.Sleep(ctx, 50*time.Millisecond)
	}
}
