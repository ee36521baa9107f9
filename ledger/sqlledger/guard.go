package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const guardColumns = `kind, subject, hour, n, held_at, held_until, reason, free_until, free_n`

var (
	selectGuard = register(`SELECT '', ` + guardColumns + ` FROM guards WHERE kind = ?1 AND subject = ?2`)
	saveGuard   = register(`INSERT INTO guards (` + guardColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (kind, subject) DO UPDATE SET hour = excluded.hour, n = excluded.n, held_at = excluded.held_at,
			held_until = excluded.held_until, reason = excluded.reason, free_until = excluded.free_until, free_n = excluded.free_n`)
	listGuards = register(`SELECT coalesce((SELECT b.name FROM buckets b WHERE b.id = guards.subject), ''), ` + guardColumns + `
		FROM guards ORDER BY kind, subject`)
	passedGuards = register(`SELECT '', ` + guardColumns + ` FROM guards WHERE held_at > 0 AND held_until <= ?1 ORDER BY kind, subject`)
	dropGuards   = register(`DELETE FROM guards WHERE kind IN ('rules', 'ttl') AND subject IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
	bucketHas    = register(`SELECT coalesce(sum(n), 0) FROM bucket_counters WHERE bucket_id = ?1`)
	backendHas   = register(`SELECT coalesce(sum(n), 0) FROM blob_counters WHERE backend = ?1`)
)

// guard returns a guard, the zero value if it never counted, and locks it until the
// transaction ends, so that its counts are exact. In the lock order guards come after
// objects and before contents, sorted.
func (t *tx) guard(kind ledger.GuardKind, subject string) (g ledger.Guard, err error) {
	if t.concurrentWriters() {
		if _, err := t.exists(closeGate, gateOf("guard", string(kind)+"\x00"+subject)); err != nil {
			return g, err
		}
	}
	g, err = scanGuard(t.Row(selectGuard, kind, subject))
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Guard{Kind: kind, Subject: subject}, nil
	}
	return g, t.Failed(err)
}

func (t *tx) saveGuard(g ledger.Guard) error {
	_, err := t.Exec(saveGuard, g.Kind, g.Subject, g.Hour, g.N, g.HeldAt, g.HeldUntil, g.Reason, g.FreeUntil, g.FreeN)
	return err
}

func scanGuard(r sqldb.Scanner) (g ledger.Guard, err error) {
	err = r.Scan(&g.Name, &g.Kind, &g.Subject, &g.Hour, &g.N, &g.HeldAt, &g.HeldUntil, &g.Reason, &g.FreeUntil, &g.FreeN)
	return g, err
}

// has returns how much a guard's subject has, if the limit needs it.
func (t *tx) has(g ledger.Guard, l ledger.Limit) (n int64, err error) {
	if l.Share == 0 {
		return 0, nil
	}
	query := bucketHas
	if g.Kind == ledger.GuardDeletes {
		query = backendHas
	}
	return n, t.Failed(t.Row(query, g.Subject).Scan(&n))
}

// spend counts as many of want deletions as the limit lets go. If those are not all the
// limit trips; stopped is set only if it tripped just now.
func (t *tx) spend(kind ledger.GuardKind, subject string, l ledger.Limit, want int64) (may int64, stopped *ledger.Guard, err error) {
	if !l.On() {
		return want, nil, nil
	}
	g, err := t.guard(kind, subject)
	if err != nil {
		return 0, nil, err
	}
	has, err := t.has(g, l)
	if err != nil || g.Held(t.Now) {
		return 0, nil, err
	}
	may, stopped = g.Let(t.Now, l, has, want)
	return may, stopped, t.saveGuard(g)
}

// bound identifies the guard of a deletion.
type bound struct {
	kind    ledger.GuardKind
	subject string
}

func compareBounds(a, b bound) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.subject, b.subject))
}

// boundOf returns the guard of a due object.
func boundOf(d dueRow) bound {
	if d.byRule() {
		return bound{ledger.GuardRules, string(d.Bucket)}
	}
	return bound{ledger.GuardTTL, string(d.Bucket)}
}

// within counts what is about to expire against the limits, one bucket's share of the batch
// at a time, and defers the rest.
func (t *tx) within(taken []dueRow, l ledger.Limits, out *ledger.Reclaimed) (going []dueRow, err error) {
	if !l.Rules.On() && !l.TTL.On() {
		return taken, nil
	}
	want := map[bound]int64{}
	for _, d := range taken {
		want[boundOf(d)]++
	}
	may := map[bound]int64{}
	for _, b := range slices.SortedFunc(maps.Keys(want), compareBounds) {
		n, stopped, err := t.spend(b.kind, b.subject, l.Of(b.kind), want[b])
		if err != nil {
			return nil, err
		}
		if may[b] = n; stopped != nil {
			out.Stopped = append(out.Stopped, *stopped)
		}
	}
	var parked []dueRow
	for _, d := range taken {
		if b := boundOf(d); may[b] > 0 {
			may[b]--
			going = append(going, d)
		} else {
			parked = append(parked, d)
		}
	}
	out.Parked += len(parked)
	return going, t.park(parkedObjects(parked))
}

// Guards lists the counts of limits, the limits that have tripped, and the clocks in doubt.
func (db *DB) Guards(ctx context.Context) (list []ledger.Guard, err error) {
	err = db.read(ctx, "guards", func(t *tx) error {
		list, err = all(t, func(r *sql.Rows) (ledger.Guard, error) { return scanGuard(r) }, listGuards)
		return err
	})
	return list, err
}

// AllowGuard resets a limit that has tripped, with an allowance. Unpark then releases the
// deferred rows step by step.
func (db *DB) AllowGuard(ctx context.Context, a ledger.Allowance) error {
	return db.write(ctx, fmt.Sprintf("allow %s of %s", a.Kind, a.Subject), func(t *tx) error {
		_, err := t.freeGuards([]ledger.Guard{{Kind: a.Kind, Subject: a.Subject}}, func(g *ledger.Guard) bool {
			*g = ledger.Guard{Kind: a.Kind, Subject: a.Subject, FreeUntil: a.Until, FreeN: a.N}
			return true
		})
		return err
	})
}

// endGuards resets limits whose time has passed.
func (t *tx) endGuards(passed []ledger.Guard) error {
	_, err := t.freeGuards(passed, func(g *ledger.Guard) bool {
		if g.HeldAt == 0 || t.Now < g.HeldUntil {
			return false
		}
		g.Clear()
		return true
	})
	return err
}

// DoubtClock records why the clocks of the ledger and of a backend cannot be trusted
// together, or, with an empty reason, that they can. Without a backend it is about the
// ledger's own clock. It returns the reason recorded before.
func (db *DB) DoubtClock(ctx context.Context, backend, why string) (before string, err error) {
	err = db.write(ctx, "doubt the clock of "+backend, func(t *tx) error {
		g, err := t.guard(ledger.GuardClock, backend)
		if err != nil {
			return err
		}
		if before = g.Reason; why == before {
			return nil
		}
		g.Reason, g.HeldAt, g.HeldUntil = cleanText(why), t.Now, lethe.Forever
		if why == "" {
			g.HeldAt, g.HeldUntil = 0, 0
		}
		return t.saveGuard(g)
	})
	return before, err
}

// ClockDoubt returns why the clock of a backend, or without a backend the ledger's, is in
// doubt; "" if it is not.
func (db *DB) ClockDoubt(ctx context.Context, backend string) (why string, err error) {
	err = db.read(ctx, "clock of "+backend, func(t *tx) error {
		why, err = t.clockDoubt(backend)
		return err
	})
	return why, err
}

// LedgerTime returns the ledger's time (docs/protocol.md, rule 10).
func (db *DB) LedgerTime(ctx context.Context) (now lethe.Time, err error) {
	err = db.read(ctx, "now", func(t *tx) error {
		now = t.Now
		return nil
	})
	return now, err
}

func (t *tx) clockDoubt(backend string) (string, error) {
	g, err := scanGuard(t.Row(selectGuard, ledger.GuardClock, backend))
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return g.Reason, t.Failed(err)
}
