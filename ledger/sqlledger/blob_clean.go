package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

var (
	anyCondemned = register(`SELECT 1 FROM blobs
		WHERE backend = ?1 AND state = 3 AND fence = 0 AND due_at BETWEEN ?2 AND ?3 LIMIT 1`)
	nextFence      = register(engine.NextFence)
	claimCondemned = register(`WITH due AS MATERIALIZED (
			SELECT id FROM blobs
			WHERE backend = ?1 AND state = 3 AND fence = 0 AND due_at BETWEEN ?2 AND ?3 AND (?7 = 0 OR late_until = 0)
			ORDER BY due_at LIMIT ?4 ` + sqldb.Locked + `)
		UPDATE blobs SET worker = ?5, fence = ?6, claimed_at = ?3 FROM due
		WHERE blobs.id = due.id RETURNING ` + qualified("blobs", blobColumns))
	staleClaims = register(`WITH stale AS MATERIALIZED (
			SELECT id FROM blobs WHERE fence <> 0 AND claimed_at <= ?1
			ORDER BY fence LIMIT ?2 ` + sqldb.Locked + `)
		UPDATE blobs SET worker = '', fence = 0, claimed_at = 0 FROM stale
		WHERE blobs.id = stale.id RETURNING blobs.backend, blobs.state`)
	cleanDue = register(`SELECT count(*), coalesce(sum(size), 0), coalesce(min(due_at), 0) FROM blobs
		WHERE backend = ?1 AND state = 3 AND fence = 0 AND due_at <= ?2`)
	cleanLater = register(countLater(`due_at`, `blobs
		WHERE backend = ?1 AND state = 3 AND fence = 0 AND due_at > ?2`))
)

// countLater returns a query that counts rows due later, up to MaxScheduled, and the first
// due time. Every live object may be among them.
func countLater(at, rows string) string {
	return fmt.Sprintf(`SELECT count(*), coalesce(min(at), 0) FROM (
		SELECT %s AS at FROM %s ORDER BY %s LIMIT %d) AS later`, at, rows, at, ledger.MaxScheduled)
}

// ClaimCondemned claims condemned blobs of one backend that are due and not claimed, oldest
// first or by fair scheduling over some buckets. All get one new fence. ErrBackendMismatch
// while deletes on the backend are held, or if the ledger does not know the backend. While a
// clock is in doubt, blobs that may land late are left: the clock decides when that ends.
func (db *DB) ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (out ledger.Claimed, err error) {
	err = db.batch(ctx, "claim condemned blobs of "+r.Backend, func(t *tx) error {
		out = ledger.Claimed{Now: t.Now, LastDue: r.After}
		b, err := t.backend(r.Backend)
		if err != nil {
			return err
		}
		if b.Held != "" {
			return fmt.Errorf("deletes on %s are held (%s): %w", r.Backend, b.Held, lethe.ErrBackendMismatch)
		}
		if found, err := t.exists(anyCondemned, r.Backend, r.After, t.Now); err != nil || !found {
			return err
		}
		limit, err := t.mayClaim(r, &out)
		if err != nil || limit == 0 {
			return err
		}
		doubt, err := t.clockDoubt(r.Backend)
		if err != nil {
			return err
		}
		if out.Fence, err = t.newFence(); err != nil {
			return err
		}
		out.Blobs, err = t.claimDue(r, out.Fence, limit, doubt != "")
		if err != nil || len(out.Blobs) == 0 {
			return err
		}
		if _, _, err := t.spend(ledger.LimitDeletes, r.Backend, ledger.Limits{Deletes: r.Deletes}, int64(len(out.Blobs))); err != nil {
			return err
		}
		sortBlobs(out.Blobs, func(b ledger.Blob) lethe.Time { return b.DueAt })
		if len(r.Turns) == 0 {
			out.LastDue = out.Blobs[len(out.Blobs)-1].DueAt
		}
		return nil
	})
	return out, err
}

func (t *tx) claimDue(r ledger.ClaimRequest, fence, limit int64, doubt bool) ([]ledger.Blob, error) {
	if r.Only != nil {
		return all(t, scanBlob, claimNamed, r.Backend, sqldb.JSON(r.Only), t.Now, limit, r.Worker, fence, flag(doubt))
	}
	if len(r.Turns) > 0 {
		return t.claimByTurns(r, fence, limit, doubt)
	}
	return all(t, scanBlob, claimCondemned, r.Backend, r.After, t.Now, limit, r.Worker, fence, flag(doubt))
}

// mayClaim returns how many blobs may be claimed, and sets out if that is none.
func (t *tx) mayClaim(r ledger.ClaimRequest, out *ledger.Claimed) (int64, error) {
	limit := bounded(r.Limit)
	if !r.Deletes.On() {
		return limit, nil
	}
	g, err := t.limitState(ledger.LimitDeletes, r.Backend)
	if err != nil {
		return 0, err
	}
	has, err := t.has(g, r.Deletes)
	if err != nil {
		return 0, err
	}
	left := g.Left(t.Now, r.Deletes, has)
	if left == 0 && !g.Tripped(t.Now) {
		g.Trip(t.Now, r.Deletes, has, 1)
		out.Tripped = &g
		return 0, t.saveLimit(g)
	}
	return min(limit, left), nil
}

// sortBlobs sorts blobs by a time, then by id.
func sortBlobs(blobs []ledger.Blob, at func(ledger.Blob) lethe.Time) {
	slices.SortFunc(blobs, func(a, b ledger.Blob) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.ID, b.ID))
	})
}

func idsOf(blobs []ledger.Blob) []lethe.ID {
	out := make([]lethe.ID, len(blobs))
	for i, b := range blobs {
		out[i] = b.ID
	}
	return out
}

// newFence returns a new fence, higher than that of every earlier claim of the store.
func (t *tx) newFence() (fence int64, err error) {
	err = t.Row(nextFence).Scan(&fence)
	return fence, t.Failed(err)
}

// exists reports whether the query has a row.
func (t *tx) exists(query string, args ...any) (bool, error) {
	found, err := all(t, sqldb.One[int64], query, args...)
	return len(found) > 0, err
}

// RecoverClaims releases up to limit claims, of condemned and of pending rows, that are at
// least grace old. From then on their holders are fenced.
func (db *DB) RecoverClaims(ctx context.Context, grace time.Duration, limit int) ([]ledger.Recovered, error) {
	var rows []ledger.Recovered
	err := db.batch(ctx, "recover claims", func(t *tx) (err error) {
		rows, err = all(t, scanRecovered, staleClaims, t.Now.Add(-grace), bounded(limit))
		return err
	})
	return sumRecovered(rows), err
}

func scanRecovered(r *sql.Rows) (x ledger.Recovered, err error) {
	err = r.Scan(&x.Backend, &x.State)
	x.Claims = 1
	return x, err
}

// sumRecovered adds the rows up by backend and state, in that order.
func sumRecovered(rows []ledger.Recovered) (out []ledger.Recovered) {
	slices.SortFunc(rows, func(a, b ledger.Recovered) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.State, b.State))
	})
	for _, r := range rows {
		if n := len(out); n > 0 && out[n-1].Backend == r.Backend && out[n-1].State == r.State {
			out[n-1].Claims++
			continue
		}
		out = append(out, r)
	}
	return out
}

// CondemnedDue reports whether a claim with After would find a condemned blob on the
// backend: one that is not claimed, and due.
func (db *DB) CondemnedDue(ctx context.Context, backend string, after lethe.Time) (due bool, err error) {
	err = db.read(ctx, "condemned blobs of "+backend, func(t *tx) error {
		due, err = t.exists(anyCondemned, backend, after, t.Now)
		return err
	})
	return due, err
}

// CleanBacklog counts the condemned blobs of a backend that are not claimed.
func (db *DB) CleanBacklog(ctx context.Context, backend string) (b ledger.Backlog, err error) {
	err = db.read(ctx, "clean backlog of "+backend, func(t *tx) error {
		b, err = t.backlog(cleanDue, cleanLater, backend, t.Now)
		return err
	})
	return b, err
}

// backlog runs the two queries of a routine's backlog: due returns count, bytes and oldest,
// later returns count and next.
func (t *tx) backlog(due, later string, args ...any) (b ledger.Backlog, err error) {
	if err = t.Row(due, args...).Scan(&b.Count, &b.Bytes, &b.Oldest); err != nil {
		return b, t.Failed(err)
	}
	return b, t.Failed(t.Row(later, args...).Scan(&b.Scheduled, &b.NextDue))
}
