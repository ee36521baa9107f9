package memmeta

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// guarded names a guard.
type guarded struct {
	kind    meta.GuardKind
	subject string
}

func compareGuarded(a, b guarded) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.subject, b.subject))
}

func (db *DB) guard(at guarded) meta.Guard {
	if g := db.guards[at]; g != nil {
		return *g
	}
	return meta.Guard{Kind: at.kind, Subject: at.subject}
}

func (db *DB) saveGuard(g meta.Guard) { db.guards[guarded{g.Kind, g.Subject}] = &g }

// has is how much a guard's subject has, if the limit asks.
func (db *DB) has(at guarded, l meta.Limit) (n int64) {
	if l.Share == 0 {
		return 0
	}
	if b := db.backend(at.subject); b != nil && at.kind == meta.GuardDeletes {
		for _, t := range b.totals {
			n += t.Blobs
		}
		return n
	}
	if b := db.bucketByID(lethe.ID(at.subject)); b != nil {
		return b.Objects
	}
	return 0
}

func (db *DB) bucketByID(id lethe.ID) *bucket {
	rows := db.buckets.from(func(b *bucket) bool { return b.ID >= id })
	if len(rows) == 0 || rows[0].ID != id {
		return nil
	}
	return rows[0]
}

// spend counts as many of want deletions as the limit lets go, and stops the kind
// if those are not all.
func (db *DB) spend(at guarded, l meta.Limit, want int64) (may int64, stopped *meta.Guard) {
	if !l.On() {
		return want, nil
	}
	g, has := db.guard(at), db.has(at, l)
	if g.Held(db.now) {
		return 0, nil
	}
	may, stopped = g.Let(db.now, l, has, want)
	db.saveGuard(g)
	return may, stopped
}

// bound is the guard of an object that is due.
func (o *object) bound(now lethe.Time) guarded {
	if o.endedBy(now) != nil {
		return guarded{meta.GuardRules, string(o.BucketID)}
	}
	return guarded{meta.GuardTTL, string(o.BucketID)}
}

func limitOf(l meta.Limits, k meta.GuardKind) meta.Limit {
	if k == meta.GuardRules {
		return l.Rules
	}
	return l.TTL
}

// within counts what is about to expire against the limits, and parks what they
// stop.
func (db *DB) within(taken []*object, l meta.Limits, out *meta.Reclaimed) (going []*object) {
	want := map[guarded]int64{}
	for _, o := range taken {
		want[o.bound(db.now)]++
	}
	may := map[guarded]int64{}
	for _, at := range slices.SortedFunc(maps.Keys(want), compareGuarded) {
		n, stopped := db.spend(at, limitOf(l, at.kind), want[at])
		if may[at] = n; stopped != nil {
			out.Stopped = append(out.Stopped, *stopped)
		}
	}
	for _, o := range taken {
		if at := o.bound(db.now); may[at] > 0 {
			may[at]--
			going = append(going, o)
		} else {
			db.parkObject(o)
			out.Parked++
		}
	}
	return going
}

// Foresee stops what is due beyond the limits before the first of it goes.
func (db *DB) Foresee(ctx context.Context, l meta.Limits) ([]meta.Guard, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	due := map[guarded]int64{}
	for _, o := range db.due.until(func(o *object) bool { return o.DueAt() > db.now }) {
		if !o.byRule(db.now) || o.endedBy(db.now) != nil {
			due[o.bound(db.now)]++
		}
	}
	var stopped []meta.Guard
	for _, at := range slices.SortedFunc(maps.Keys(due), compareGuarded) {
		limit := limitOf(l, at.kind)
		g, has := db.guard(at), db.has(at, limit)
		if !limit.On() || !g.Foresees(db.now, limit, has, due[at]) {
			continue
		}
		g.Stop(db.now, limit, has, due[at])
		db.saveGuard(g)
		stopped = append(stopped, g)
	}
	return stopped, nil
}

// Guards lists all guards by kind and subject.
func (db *DB) Guards(ctx context.Context) ([]meta.Guard, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []meta.Guard
	for _, at := range slices.SortedFunc(maps.Keys(db.guards), compareGuarded) {
		g := *db.guards[at]
		if b := db.bucketByID(lethe.ID(at.subject)); b != nil {
			g.Name = b.Name
		}
		out = append(out, g)
	}
	return out, nil
}

// AllowGuard ends the stop of a kind of deletion, and allows what is said.
func (db *DB) AllowGuard(ctx context.Context, a meta.Allowance) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	db.freeGuard(meta.Guard{Kind: a.Kind, Subject: a.Subject, FreeUntil: a.Until, FreeN: a.N})
	return nil
}

func (db *DB) freeGuard(g meta.Guard) {
	db.saveGuard(g)
	b := db.bucketByID(lethe.ID(g.Subject))
	if b != nil && (g.Kind == meta.GuardRules || g.Kind == meta.GuardTTL) {
		db.lift(b, "")
	}
}

// EndStops ends the stops for limits that there are no more, and answers them as
// they were.
func (db *DB) EndStops(ctx context.Context, l meta.Limits) (ended []meta.Guard, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	for _, at := range slices.SortedFunc(maps.Keys(db.guards), compareGuarded) {
		g := *db.guards[at]
		limit := map[meta.GuardKind]meta.Limit{
			meta.GuardRules: l.Rules, meta.GuardTTL: l.TTL, meta.GuardPurge: l.Purge, meta.GuardDeletes: l.Deletes,
		}[g.Kind]
		if g.Kind == meta.GuardClock || g.HeldAt == 0 || limit.Upholds(g) {
			continue
		}
		ended = append(ended, g)
		g.HeldAt, g.HeldUntil, g.Reason = 0, 0, ""
		db.freeGuard(g)
	}
	return ended, nil
}

// endGuards ends the stops whose time has passed.
func (db *DB) endGuards() {
	for _, at := range slices.SortedFunc(maps.Keys(db.guards), compareGuarded) {
		g := *db.guards[at]
		if g.HeldAt != 0 && g.HeldUntil <= db.now {
			g.HeldAt, g.HeldUntil, g.Reason = 0, 0, ""
			db.freeGuard(g)
		}
	}
}

// DoubtClock notes why the clock of a backend, or the ledger's, is in doubt; it
// answers what was noted before.
func (db *DB) DoubtClock(ctx context.Context, backend, why string) (string, error) {
	if err := db.enter(ctx); err != nil {
		return "", err
	}
	defer db.mu.Unlock()
	g := db.guard(guarded{meta.GuardClock, backend})
	before := g.Reason
	if why == before {
		return before, nil
	}
	g.Reason, g.HeldAt, g.HeldUntil = why, db.now, lethe.Forever
	if why == "" {
		g.HeldAt, g.HeldUntil = 0, 0
	}
	db.saveGuard(g)
	return before, nil
}

// ClockDoubt says why a clock is in doubt.
func (db *DB) ClockDoubt(ctx context.Context, backend string) (string, error) {
	if err := db.enter(ctx); err != nil {
		return "", err
	}
	defer db.mu.Unlock()
	return db.guard(guarded{meta.GuardClock, backend}).Reason, nil
}

// LedgerTime is the ledger's time.
func (db *DB) LedgerTime(ctx context.Context) (lethe.Time, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	return db.now, nil
}
