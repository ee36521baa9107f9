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

const (
	limitColumns = `kind, subject, hour, n, tripped_at, tripped_until, reason, free_until, free_n`
	limitName    = `coalesce((SELECT b.name FROM buckets b WHERE b.id = limits.subject), '')`
)

var (
	selectLimit = register(`SELECT ` + limitName + `, ` + limitColumns + ` FROM limits WHERE kind = ?1 AND subject = ?2`)
	limitedName = register(`SELECT coalesce((SELECT name FROM buckets WHERE id = ?1), '')`)
	saveLimit   = register(`INSERT INTO limits (` + limitColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (kind, subject) DO UPDATE SET hour = excluded.hour, n = excluded.n, tripped_at = excluded.tripped_at,
			tripped_until = excluded.tripped_until, reason = excluded.reason, free_until = excluded.free_until, free_n = excluded.free_n`)
	listLimits = register(`SELECT ` + limitName + `, ` + limitColumns + `
		FROM limits ORDER BY kind, subject`)
	passedLimits = register(`SELECT '', ` + limitColumns + ` FROM limits WHERE tripped_at > 0 AND tripped_until <= ?1 ORDER BY kind, subject`)
	dropLimits   = register(`DELETE FROM limits WHERE kind IN ('rules', 'ttl') AND subject IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
	// In one statement, so that what another transaction removes is counted on one side.
	bucketHas = register(`SELECT (SELECT coalesce(sum(n), 0) FROM bucket_counters WHERE bucket_id = ?1)
		+ (SELECT coalesce(sum(n), 0) FROM limits WHERE kind = ?2 AND subject = ?1 AND hour >= ?3)`)
	backendHas = register(`SELECT coalesce(sum(n), 0) FROM blob_counters WHERE backend = ?1`)
)

// limitState returns a limit's state, the zero value if it never counted, and locks it until the
// transaction ends, so that its counts are exact. In the lock order limits come after
// objects and before contents, sorted.
func (t *tx) limitState(kind ledger.LimitKind, subject string) (g ledger.LimitState, err error) {
	if t.concurrentWriters() {
		if _, err := t.exists(closeGate, gateOf("limit", string(kind)+"\x00"+subject)); err != nil {
			return g, err
		}
	}
	g, err = scanLimit(t.Row(selectLimit, kind, subject))
	if errors.Is(err, sql.ErrNoRows) {
		g = ledger.LimitState{Kind: kind, Subject: subject}
		err = t.Row(limitedName, subject).Scan(&g.Name)
	}
	return g, t.Failed(err)
}

func (t *tx) saveLimit(g ledger.LimitState) error {
	_, err := t.Send(saveLimit, g.Kind, g.Subject, g.Hour, g.N, g.TrippedAt, g.TrippedUntil, g.Reason, g.FreeUntil, g.FreeN)
	return err
}

func scanLimit(r sqldb.Scanner) (g ledger.LimitState, err error) {
	err = r.Scan(&g.Name, &g.Kind, &g.Subject, &g.Hour, &g.N, &g.TrippedAt, &g.TrippedUntil, &g.Reason, &g.FreeUntil, &g.FreeN)
	return g, err
}

func scanLimitRow(r *sql.Rows) (ledger.LimitState, error) { return scanLimit(r) }

// has returns how much a limit's subject has, with what the sibling let go within the hour, if the
// limit needs it.
func (t *tx) has(g ledger.LimitState, l ledger.Limit) (n int64, err error) {
	if l.Share == 0 {
		return 0, nil
	}
	query, args := bucketHas, []any{g.Subject, g.Kind.Sibling(), ledger.HourOf(t.Now)}
	if g.Kind == ledger.LimitDeletes {
		query, args = backendHas, args[:1]
	}
	return n, t.Failed(t.Row(query, args...).Scan(&n))
}

// spend counts as many of want deletions as the limit lets go. If those are not all the
// limit trips; tripped is set only if it tripped just now.
func (t *tx) spend(kind ledger.LimitKind, subject string, l ledger.Limits, want int64) (may int64, tripped *ledger.LimitState, err error) {
	if !l.Counts(kind) {
		return want, nil, nil
	}
	g, err := t.limitState(kind, subject)
	if err != nil {
		return 0, nil, err
	}
	has, err := t.has(g, l.Of(kind))
	if err != nil {
		return 0, nil, err
	}
	return t.spendOf(g, l.Of(kind), has, want)
}

// spendOf is spend of a subject that has so many. A limit that is not set only counts.
func (t *tx) spendOf(g ledger.LimitState, l ledger.Limit, has, want int64) (may int64, tripped *ledger.LimitState, err error) {
	switch {
	case !l.On():
		g.Count(t.Now, want)
		return want, nil, t.saveLimit(g)
	case g.Tripped(t.Now):
		return 0, nil, nil
	}
	may, tripped = g.Admit(t.Now, l, has, want)
	return may, tripped, t.saveLimit(g)
}

// limitKey identifies the limit of a deletion.
type limitKey struct {
	kind    ledger.LimitKind
	subject string
}

func compareLimitKeys(a, b limitKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.subject, b.subject))
}

// limitKeyOf returns the key of the limit of a due object.
func limitKeyOf(d dueRow) limitKey {
	if d.byRule() {
		return limitKey{ledger.LimitRules, string(d.Bucket)}
	}
	return limitKey{ledger.LimitTTL, string(d.Bucket)}
}

// within counts what is about to expire against the limits, one bucket's share of the batch
// at a time, and defers the rest.
func (t *tx) within(taken []dueRow, l ledger.Limits, out *ledger.Reclaimed) (going []dueRow, err error) {
	if !l.Rules.On() && !l.TTL.On() {
		return taken, nil
	}
	want := map[limitKey]int64{}
	for _, d := range taken {
		want[limitKeyOf(d)]++
	}
	keys := slices.SortedFunc(maps.Keys(want), compareLimitKeys)
	states, had := map[limitKey]ledger.LimitState{}, map[limitKey]int64{}
	for _, b := range keys {
		// All before the first counts, as one may be the sibling of another.
		if states[b], err = t.limitState(b.kind, b.subject); err != nil {
			return nil, err
		}
		if had[b], err = t.has(states[b], l.Of(b.kind)); err != nil {
			return nil, err
		}
	}
	may := map[limitKey]int64{}
	for _, b := range keys {
		if may[b] = want[b]; !l.Counts(b.kind) {
			continue
		}
		n, tripped, err := t.spendOf(states[b], l.Of(b.kind), had[b], want[b])
		if err != nil {
			return nil, err
		}
		if may[b] = n; tripped != nil {
			out.Tripped = append(out.Tripped, *tripped)
		}
	}
	var deferred []dueRow
	for _, d := range taken {
		if b := limitKeyOf(d); may[b] > 0 {
			may[b]--
			going = append(going, d)
		} else {
			deferred = append(deferred, d)
		}
	}
	out.Deferred += len(deferred)
	return going, t.deferRows(deferredObjects(deferred))
}

// LimitStates lists the counts of limits, the limits that have tripped, and the clocks in doubt.
func (db *DB) LimitStates(ctx context.Context) (list []ledger.LimitState, err error) {
	err = db.read(ctx, "limits", func(t *tx) error {
		list, err = all(t, scanLimitRow, listLimits)
		return err
	})
	return list, err
}

// AllowBeyondLimit resets a limit that has tripped, with an allowance. ReturnDeferred then
// returns the deferred rows step by step.
func (db *DB) AllowBeyondLimit(ctx context.Context, a ledger.Allowance) error {
	return db.write(ctx, fmt.Sprintf("allow %s of %s", a.Kind, a.Subject), func(t *tx) error {
		_, err := t.resetLimits([]ledger.LimitState{{Kind: a.Kind, Subject: a.Subject}}, func(g *ledger.LimitState) bool {
			*g = ledger.LimitState{Kind: a.Kind, Subject: a.Subject, FreeUntil: a.Until, FreeN: a.N}
			return true
		})
		return err
	})
}

// endLimits resets limits whose time has passed.
func (t *tx) endLimits(passed []ledger.LimitState) error {
	_, err := t.resetLimits(passed, func(g *ledger.LimitState) bool {
		if g.TrippedAt == 0 || t.Now < g.TrippedUntil {
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
		g, err := t.limitState(ledger.LimitClock, backend)
		if err != nil {
			return err
		}
		if before = g.Reason; why == before {
			return nil
		}
		g.Reason, g.TrippedAt, g.TrippedUntil = cleanText(why), t.Now, lethe.Forever
		if why == "" {
			g.TrippedAt, g.TrippedUntil = 0, 0
		}
		return t.saveLimit(g)
	})
	return before, err
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
	g, err := scanLimit(t.Row(selectLimit, ledger.LimitClock, backend))
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return g.Reason, t.Failed(err)
}
