package memledger

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// guarded identifies a guard.
type guarded struct {
	kind    ledger.GuardKind
	subject string
}

func compareGuarded(a, b guarded) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.subject, b.subject))
}

func (db *DB) guard(at guarded) ledger.Guard {
	if g := db.guards[at]; g != nil {
		return *g
	}
	return ledger.Guard{Kind: at.kind, Subject: at.subject}
}

func (db *DB) saveGuard(g ledger.Guard) { db.guards[guarded{g.Kind, g.Subject}] = &g }

// has returns how much a guard's subject has, if the limit needs it.
func (db *DB) has(at guarded, l ledger.Limit) (n int64) {
	if l.Share == 0 {
		return 0
	}
	if b := db.backend(at.subject); b != nil && at.kind == ledger.GuardDeletes {
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

// spend counts as many of want deletions as the limit lets go; if those are not all the
// limit trips.
func (db *DB) spend(at guarded, l ledger.Limit, want int64) (may int64, stopped *ledger.Guard) {
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

// bound returns the guard of a due object.
func (o *object) bound(now lethe.Time) guarded {
	if o.endedBy(now) != nil {
		return guarded{ledger.GuardRules, string(o.BucketID)}
	}
	return guarded{ledger.GuardTTL, string(o.BucketID)}
}

func limitOf(l ledger.Limits, k ledger.GuardKind) ledger.Limit {
	if k == ledger.GuardRules {
		return l.Rules
	}
	return l.TTL
}

// within counts what is about to expire against the limits, and defers the rest.
func (db *DB) within(taken []*object, l ledger.Limits, out *ledger.Reclaimed) (going []*object) {
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

// Foresee trips limits that would be exceeded, before the first object goes.
func (db *DB) Foresee(ctx context.Context, l ledger.Limits) ([]ledger.Guard, error) {
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
	var stopped []ledger.Guard
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
func (db *DB) Guards(ctx context.Context) ([]ledger.Guard, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Guard
	for _, at := range slices.SortedFunc(maps.Keys(db.guards), compareGuarded) {
		g := *db.guards[at]
		if b := db.bucketByID(lethe.ID(at.subject)); b != nil {
			g.Name = b.Name
		}
		out = append(out, g)
	}
	return out, nil
}

// AllowGuard resets a limit that has tripped, with an allowance.
func (db *DB) AllowGuard(ctx context.Context, a ledger.Allowance) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	db.freeGuard(ledger.Guard{Kind: a.Kind, Subject: a.Subject, FreeUntil: a.Until, FreeN: a.N})
	return nil
}

func (db *DB) freeGuard(g ledger.Guard) {
	db.saveGuard(g)
	b := db.bucketByID(lethe.ID(g.Subject))
	if b != nil && (g.Kind == ledger.GuardRules || g.Kind == ledger.GuardTTL) {
		db.lift(b, "")
	}
}

// EndStops resets limits that have tripped and no longer exist, and returns their guards as
// they were.
func (db *DB) EndStops(ctx context.Context, l ledger.Limits) (ended []ledger.Guard, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	for _, at := range slices.SortedFunc(maps.Keys(db.guards), compareGuarded) {
		g := *db.guards[at]
		limit := map[ledger.GuardKind]ledger.Limit{
			ledger.GuardRules: l.Rules, ledger.GuardTTL: l.TTL, ledger.GuardPurge: l.Purge, ledger.GuardDeletes: l.Deletes,
		}[g.Kind]
		if g.Kind == ledger.GuardClock || g.HeldAt == 0 || limit.Upholds(g) {
			continue
		}
		ended = append(ended, g)
		g.HeldAt, g.HeldUntil, g.Reason = 0, 0, ""
		db.freeGuard(g)
	}
	return ended, nil
}

// endGuards resets limits whose time has passed.
func (db *DB) endGuards() {
	for _, at := range slices.SortedFunc(maps.Keys(db.guards), compareGuarded) {
		g := *db.guards[at]
		if g.HeldAt != 0 && g.HeldUntil <= db.now {
			g.HeldAt, g.HeldUntil, g.Reason = 0, 0, ""
			db.freeGuard(g)
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
	g := db.guard(guarded{ledger.GuardClock, backend})
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

// ClockDoubt returns why a clock is in doubt.
func (db *DB) ClockDoubt(ctx context.Context, backend string) (string, error) {
	if err := db.enter(ctx); err != nil {
		return "", err
	}
	defer db.mu.Unlock()
	return db.guard(guarded{ledger.GuardClock, backend}).Reason, nil
}

// LedgerTime returns the ledger's time.
func (db *DB) LedgerTime(ctx context.Context) (lethe.Time, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	return db.now, nil
}
