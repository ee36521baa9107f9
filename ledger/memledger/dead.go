package memledger

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// Dead lists dead letters by id.
func (db *DB) Dead(ctx context.Context, q ledger.DeadQuery) ([]ledger.DeadLetter, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.DeadLetter
	for _, b := range db.dead.from(func(b *blob) bool { return b.ID > q.After }) {
		letter := db.letter(b)
		if !chosen(q, letter) {
			continue
		}
		if out = append(out, letter); len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// DeadByID returns the dead letters among the rows.
func (db *DB) DeadByID(ctx context.Context, ids []lethe.ID) ([]ledger.DeadLetter, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.DeadLetter
	for i, id := range ids {
		if b := db.byID[id]; b != nil && b.State == lethe.Dead && !slices.Contains(ids[:i], id) {
			out = append(out, db.letter(b))
		}
	}
	return out, nil
}

func (db *DB) letter(b *blob) ledger.DeadLetter {
	out := ledger.DeadLetter{Blob: b.Blob, BucketID: b.bucket}
	if k := db.bucketByID(b.bucket); k != nil {
		out.Bucket = k.Name
	}
	return out
}

// chosen reports whether a dead letter matches the query.
func chosen(q ledger.DeadQuery, d ledger.DeadLetter) bool {
	return (q.Backend == "" || d.Backend == q.Backend) && (q.Reason == "" || d.Reason == q.Reason) &&
		(q.Bucket == "" || d.Bucket == q.Bucket) && (q.DiedBy == 0 || d.DiedAt <= q.DiedBy) &&
		d.Size >= q.MinSize && strings.Contains(d.LastError, q.Error)
}

// Requeue condemns dead blobs again: due now, with no attempts counted.
func (db *DB) Requeue(ctx context.Context, ids []lethe.ID) (int, error) {
	return db.leaveDead(ctx, ids, lethe.Forever, func(b *blob) {
		next := b.Blob
		next.State, next.DueAt, next.Attempts = lethe.Condemned, db.now, 0
		db.set(b, next)
	})
}

// WriteOff removes dead rows: the operator vouches that their bytes are gone. Rows whose
// upload may still land stay.
func (db *DB) WriteOff(ctx context.Context, ids []lethe.ID) (int, error) {
	return db.leaveDead(ctx, ids, 0, func(b *blob) {
		db.lostBytes(b, receipt.WrittenOff)
		db.remove(b)
	})
}

// leaveDead applies leave to those of the blobs that are dead letters and cannot land after
// by, or after now if by is 0.
func (db *DB) leaveDead(ctx context.Context, ids []lethe.ID, by lethe.Time, leave func(*blob)) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.leave()
	n := 0
	for _, id := range ids {
		if b := db.byID[id]; b != nil && b.State == lethe.Dead && b.LateUntil <= max(by, db.now) {
			leave(b)
			n++
		}
	}
	return n, nil
}

// Totals returns the exact numbers by backend and state, without zeros.
func (db *DB) Totals(ctx context.Context) ([]ledger.Total, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	var out []ledger.Total
	if db.inline.Blobs != 0 || db.inline.Bytes != 0 {
		out = append(out, db.inline)
	}
	for _, b := range db.backends.rows {
		for _, t := range b.totals[lethe.Pending:] {
			if t.Blobs != 0 || t.Bytes != 0 {
				out = append(out, t)
			}
		}
	}
	return out, nil
}
