package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// ClaimCondemned claims condemned blobs of one backend that are due and unclaimed, oldest
// first: ErrBackendMismatch.
func (db *DB) ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Claimed{}, err
	}
	defer db.leave()
	b := db.backend(r.Backend)
	if b == nil {
		return ledger.Claimed{}, noBackend(r.Backend)
	}
	if b.Held != "" {
		return ledger.Claimed{}, fmt.Errorf("memledger: deletes on %s are held (%s): %w", r.Backend, b.Held, lethe.ErrBackendMismatch)
	}
	out := ledger.Claimed{Now: db.now, LastDue: r.After}
	rows, any := db.unclaimed(b, r)
	if !any {
		return out, nil
	}
	limit, may := db.mayClaim(r, &out)
	if !may {
		return out, nil
	}
	rows = db.certain(rows, r.Backend)
	if len(r.Turns) > 0 {
		rows = blobsByTurns(rows, r.Turns, limit)
	}
	out.Fence = db.newFence()
	out.Blobs = db.claim(first(rows, limit), r.Worker, out.Fence)
	if len(out.Blobs) == 0 {
		return out, nil
	}
	db.spend(limitKey{ledger.LimitDeletes, r.Backend}, ledger.Limits{Deletes: r.Deletes}, int64(len(out.Blobs)))
	slices.SortFunc(out.Blobs, func(a, b ledger.Blob) int {
		return cmp.Or(cmp.Compare(a.DueAt, b.DueAt), compareIDs(a.ID, b.ID))
	})
	if len(r.Turns) == 0 {
		out.LastDue = out.Blobs[len(out.Blobs)-1].DueAt
	}
	return out, nil
}

// mayClaim returns how many blobs may be claimed, 0 for any number. If none may, it sets
// out.
func (db *DB) mayClaim(r ledger.ClaimRequest, out *ledger.Claimed) (limit int, may bool) {
	if !r.Deletes.On() {
		return r.Limit, true
	}
	at := limitKey{ledger.LimitDeletes, r.Backend}
	g, has := db.limitState(at), db.has(at, r.Deletes)
	left := g.Left(db.now, r.Deletes, has)
	if left == 0 && !g.Tripped(db.now) {
		g.Trip(db.now, r.Deletes, has, 1)
		db.saveLimit(g)
		out.Tripped = &g
	}
	if r.Limit <= 0 || left < int64(r.Limit) {
		return int(left), left > 0
	}
	return r.Limit, true
}

// certain leaves out blobs that may land late while a clock is in doubt.
func (db *DB) certain(rows []*blob, backend string) []*blob {
	if db.limitState(limitKey{ledger.LimitClock, backend}).Reason == "" {
		return rows
	}
	var out []*blob
	for _, b := range rows {
		if b.LateUntil == 0 {
			out = append(out, b)
		}
	}
	return out
}

// newFence returns a new fence, higher than all before.
func (db *DB) newFence() int64 {
	db.fence++
	return db.fence
}

// claim claims rows of a queue, which they leave.
func (db *DB) claim(rows []*blob, worker string, fence int64) []ledger.Blob {
	out := make([]ledger.Blob, 0, len(rows))
	for _, b := range slices.Clone(rows) {
		next := b.Blob
		next.Claim = ledger.Claim{Worker: worker, Fence: fence, At: db.now}
		db.set(b, next)
		out = append(out, next)
	}
	return out
}

// claimedRow returns a row in the state and with the fence of a claim.
func (db *DB) claimedRow(id lethe.ID, s lethe.State, fence int64) *blob {
	b := db.byID[id]
	if b == nil || b.State != s || fence == 0 || b.Claim.Fence != fence {
		return nil
	}
	return b
}

// Settle records the results of a claimed batch.
func (db *DB) Settle(ctx context.Context, s ledger.Settlement) (ledger.Settled, error) {
	out := ledger.Settled{}
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.leave()
	for _, item := range s.Items {
		if (item.Result < ledger.Gone || item.Result > ledger.Waits) && db.claimedRow(item.ID, lethe.Condemned, s.Fence) != nil {
			return out, fmt.Errorf("memledger: settle: blob %s has no valid result (%d)", item.ID, item.Result)
		}
	}
	out.Now = db.now
	for _, item := range s.Items {
		if b := db.claimedRow(item.ID, lethe.Condemned, s.Fence); b != nil {
			db.settle(b, item, &out)
			continue
		}
		out.Fenced++
	}
	return out, nil
}

// left is how a settled blob was removed.
var left = map[ledger.Result]string{ledger.Gone: receipt.Deleted, ledger.Absent: receipt.Absent}

// settle records the result of one delete. Bytes that may still land are gone only if the
// delete was issued, hence claimed, after the late window.
func (db *DB) settle(b *blob, item ledger.SettleItem, out *ledger.Settled) {
	next := b.Blob
	next.Claim, next.DueAt = ledger.Claim{}, item.RetryAt
	if item.Error != "" {
		next.LastError = item.Error
	}
	switch {
	case item.Result == ledger.Waits:
		out.Retried++
	case item.Result == ledger.Failed && item.Dead:
		next.State, next.DueAt = lethe.Dead, b.DueAt
		next.Attempts++
		out.Dead++
	case item.Result == ledger.Failed:
		next.Attempts++
		out.Retried++
	case b.Claim.At < b.LateUntil:
		next.DueAt = b.LateUntil
		out.Kept++
	default:
		out.Gone++
		out.GoneBytes += b.Size
		out.DiedAt = append(out.DiedAt, b.DiedAt)
		db.lostBytes(b, left[item.Result])
		db.remove(b)
		return
	}
	db.set(b, next)
}

// RecoverClaims releases claims that are at least grace old.
func (db *DB) RecoverClaims(ctx context.Context, grace time.Duration, limit int) ([]ledger.Recovered, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	stale := db.claimed.until(func(b *blob) bool { return b.Claim.At > db.now.Add(-grace) })
	return db.unclaim(slices.Clone(first(stale, limit))), nil
}

// unclaim ends the claims on blobs.
func (db *DB) unclaim(blobs []*blob) (out []ledger.Recovered) {
	for _, b := range blobs {
		next := b.Blob
		next.Claim = ledger.Claim{}
		db.set(b, next)
		out = addRecovered(out, b)
	}
	slices.SortFunc(out, func(a, b ledger.Recovered) int {
		return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.State, b.State))
	})
	return out
}

func addRecovered(out []ledger.Recovered, b *blob) []ledger.Recovered {
	for i := range out {
		if out[i].Backend == b.Backend && out[i].State == b.State {
			out[i].Claims++
			return out
		}
	}
	return append(out, ledger.Recovered{Backend: b.Backend, State: b.State, Claims: 1})
}

// CondemnedDue reports whether a claim with After would find a condemned blob.
func (db *DB) CondemnedDue(ctx context.Context, backend string, after lethe.Time) (bool, error) {
	if err := db.enter(ctx); err != nil {
		return false, err
	}
	defer db.leave()
	b := db.backend(backend)
	if b == nil {
		return false, nil
	}
	_, due := db.unclaimed(b, ledger.ClaimRequest{After: after})
	return due, nil
}

// CleanBacklog counts the condemned blobs of a backend that are not claimed.
func (db *DB) CleanBacklog(ctx context.Context, name string) (ledger.Backlog, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Backlog{}, err
	}
	defer db.leave()
	b := db.backend(name)
	if b == nil {
		return ledger.Backlog{}, nil
	}
	return backlog(b.due.rows, db.now, func(b *blob) (lethe.Time, int64) { return b.DueAt, b.Size }), nil
}

// apart separates the rows that are held, and leaves out those that are void.
func apart[T any](rows []T, is func(T) (void, held bool)) (rest, held []T) {
	for _, row := range rows {
		switch void, kept := is(row); {
		case void:
		case kept:
			held = append(held, row)
		default:
			rest = append(rest, row)
		}
	}
	return rest, held
}

// backlog counts rows in the order of their due times.
func backlog[T any](rows []T, now lethe.Time, due func(T) (at lethe.Time, bytes int64)) ledger.Backlog {
	var out ledger.Backlog
	for i, row := range rows {
		at, bytes := due(row)
		if at > now {
			out.NextDue, out.Scheduled = at, min(int64(len(rows)-i), ledger.MaxScheduled)
			break
		}
		if out.Count == 0 {
			out.Oldest = at
		}
		out.Count++
		out.Bytes += bytes
	}
	return out
}
