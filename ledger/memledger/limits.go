package memledger

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// limitKey identifies a limit.
type limitKey struct {
	kind    ledger.LimitKind
	subject string
}

func compareLimitKeys(a, b limitKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.subject, b.subject))
}

func (db *DB) limitState(at limitKey) ledger.LimitState {
	g := ledger.LimitState{Kind: at.kind, Subject: at.subject}
	if known := db.limits[at]; known != nil {
		g = *known
	}
	g.Name = ""
	if b := db.bucketByID(lethe.ID(at.subject)); b != nil {
		g.Name = b.Name
	}
	return g
}

func (db *DB) saveLimit(g ledger.LimitState) { db.limits[limitKey{g.Kind, g.Subject}] = &g }

// has returns how much a limit's subject has, with what the sibling let go within the hour, if the
// limit needs it.
func (db *DB) has(at limitKey, l ledger.Limit) (n int64) {
	if l.Share == 0 {
		return 0
	}
	if b := db.backend(at.subject); b != nil && at.kind == ledger.LimitDeletes {
		for _, t := range b.totals {
			n += t.Blobs
		}
		return n
	}
	if b := db.bucketByID(lethe.ID(at.subject)); b != nil {
		n = b.Objects
	}
	return n + db.limitState(limitKey{at.kind.Sibling(), at.subject}).Taken(db.now)
}

func (db *DB) bucketByID(id lethe.ID) *bucket {
	rows := db.buckets.from(func(b *bucket) bool { return b.ID >= id })
	if len(rows) == 0 || rows[0].ID != id {
		return nil
	}
	return rows[0]
}

// spend counts as many of want deletions as the limit lets go; if those are not all the
// limit trips.
func (db *DB) spend(at limitKey, l ledger.Limits, want int64) (may int64, tripped *ledger.LimitState) {
	if !l.Counts(at.kind) {
		return want, nil
	}
	return db.spendOf(at, l.Of(at.kind), db.has(at, l.Of(at.kind)), want)
}

// spendOf is spend of a subject that has so many. A limit that is not set only counts.
func (db *DB) spendOf(at limitKey, l ledger.Limit, has, want int64) (may int64, tripped *ledger.LimitState) {
	g := db.limitState(at)
	switch {
	case !l.On():
		g.Count(db.now, want)
		may = want
	case g.Tripped(db.now):
		return 0, nil
	default:
		may, tripped = g.Admit(db.now, l, has, want)
	}
	db.saveLimit(g)
	return may, tripped
}

// limitKey returns the key of the limit of a due object.
func (o *object) limitKey(now lethe.Time) limitKey {
	if o.endedBy(now) != nil {
		return limitKey{ledger.LimitRules, string(o.BucketID)}
	}
	return limitKey{ledger.LimitTTL, string(o.BucketID)}
}

// within counts what is about to expire against the limits, and defers the rest.
func (db *DB) within(taken []*object, l ledger.Limits, out *ledger.Reclaimed) (going []*object) {
	want := map[limitKey]int64{}
	for _, o := range taken {
		want[o.limitKey(db.now)]++
	}
	keys := slices.SortedFunc(maps.Keys(want), compareLimitKeys)
	had := map[limitKey]int64{}
	for _, at := range keys {
		had[at] = db.has(at, l.Of(at.kind)) // before the first counts, as one may be the sibling of another
	}
	may := map[limitKey]int64{}
	for _, at := range keys {
		if may[at] = want[at]; !l.Counts(at.kind) {
			continue
		}
		n, tripped := db.spendOf(at, l.Of(at.kind), had[at], want[at])
		if may[at] = n; tripped != nil {
			out.Tripped = append(out.Tripped, *tripped)
		}
	}
	for _, o := range taken {
		if at := o.limitKey(db.now); may[at] > 0 {
			may[at]--
			going = append(going, o)
		} else {
			db.deferObject(o)
			out.Deferred++
		}
	}
	return going
}

// PrecheckLimits trips limits that would be exceeded, before the first object goes.
func (db *DB) PrecheckLimits(ctx context.Context, l ledger.Limits) ([]ledger.LimitState, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	due := map[limitKey]int64{}
	for _, o := range db.due.until(func(o *object) bool { return o.DueAt() > db.now }) {
		if !o.byRule(db.now) || o.endedBy(db.now) != nil {
			due[o.limitKey(db.now)]++
		}
	}
	var tripped []ledger.LimitState
	for _, at := range slices.SortedFunc(maps.Keys(due), compareLimitKeys) {
		limit := l.Of(at.kind)
		g, has := db.limitState(at), db.has(at, limit)
		if !limit.On() || !g.WouldTrip(db.now, limit, has, due[at]) {
			continue
		}
		g.Trip(db.now, limit, has, due[at])
		db.saveLimit(g)
		tripped = append(tripped, g)
	}
	return tripped, nil
}

// LimitStates lists all limits by kind and subject.
func (db *DB) LimitStates(ctx context.Context) ([]ledger.LimitState, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.LimitState
	for _, at := range slices.SortedFunc(maps.Keys(db.limits), compareLimitKeys) {
		out = append(out, db.limitState(at))
	}
	return out, nil
}

// AllowBeyondLimit resets a limit that has tripped, with an allowance.
func (db *DB) AllowBeyondLimit(ctx context.Context, a ledger.Allowance) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	db.resetLimit(ledger.LimitState{Kind: a.Kind, Subject: a.Subject, FreeUntil: a.Until, FreeN: a.N})
	return nil
}

func (db *DB) resetLimit(g ledger.LimitState) {
	db.saveLimit(g)
	b := db.bucketByID(lethe.ID(g.Subject))
	if b != nil && g.Defers() {
		db.releaseDeferred(b, "")
	}
}

// EndTrips resets limits that have tripped and are no longer set, and returns their states as
// they were.
func (db *DB) EndTrips(ctx context.Context, l ledger.Limits) (ended []ledger.LimitState, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	for _, at := range slices.SortedFunc(maps.Keys(db.limits), compareLimitKeys) {
		g := db.limitState(at)
		if g.Kind == ledger.LimitClock || g.TrippedAt == 0 || l.Of(g.Kind).Explains(g) {
			continue
		}
		ended = append(ended, g)
		g.Clear()
		db.resetLimit(g)
	}
	return ended, nil
}

// endLimits resets limits whose time has passed.
func (db *DB) endLimits() {
	for _, at := range slices.SortedFunc(maps.Keys(db.limits), compareLimitKeys) {
		g := *db.limits[at]
		if g.TrippedAt != 0 && g.TrippedUntil <= db.now {
			g.Clear()
			db.resetLimit(g)
		}
	}
}

// DoubtClock records why the clock of a backend, or the ledger's, is in doubt. It returns
// the reason recorded before.
func (db *DB) DoubtClock(ctx context.Context, backend, why string) (string, error) {
	if err := db.enter(ctx); err != nil {
		return "", err
	}
	defer db.mu.Unlock()
	g := db.limitState(limitKey{ledger.LimitClock, backend})
	before := g.Reason
	if why == before {
		return before, nil
	}
	g.Reason, g.TrippedAt, g.TrippedUntil = why, db.now, lethe.Forever
	if why == "" {
		g.TrippedAt, g.TrippedUntil = 0, 0
	}
	db.saveLimit(g)
	return before, nil
}

// LedgerTime returns the ledger's time.
func (db *DB) LedgerTime(ctx context.Context) (lethe.Time, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	return db.now, nil
}
