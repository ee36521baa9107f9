package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

var (
	// The index holds dead letters only; the filters read no other rows. An error contains a
	// text if removing the text changes it.
	selectDead = register(`SELECT ` + deadColumns + ` FROM blobs b LEFT JOIN buckets k ON k.id = b.bucket_id
		WHERE b.state = 4 AND b.id > ?1 AND (?2 = '' OR b.backend = ?2) AND (?3 = '' OR b.reason = ?3)
			AND (?4 = '' OR k.name = ?4) AND b.died_at <= ?5 AND b.size >= ?6
			AND (?7 = '' OR replace(b.last_error, ?7, '') <> b.last_error)
		ORDER BY b.id LIMIT ?8`)
	deadByID = register(`SELECT ` + deadColumns + ` FROM ` + sqldb.IDs(1) + ` CROSS JOIN blobs b LEFT JOIN buckets k ON k.id = b.bucket_id
		WHERE b.id = t.id AND b.state = 4`)
	requeueDead = register(`UPDATE blobs SET state = 3, due_at = ?2, attempts = 0
		WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) AND state = 4 RETURNING id, backend, size, coalesce(content_id, ''), reason, block`)
	writeOffDead = register(`DELETE FROM blobs
		WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) AND state = 4 AND late_until <= ?2 RETURNING id, backend, size, coalesce(content_id, ''), reason, block`)
	selectTotals = register(`SELECT backend, state, sum(n), sum(bytes) FROM blob_counters
		GROUP BY backend, state HAVING sum(n) <> 0 OR sum(bytes) <> 0 ORDER BY backend, state`)
)

// deadColumns are the columns of scanDead, from blobs b and buckets k.
var deadColumns = qualified("b", blobColumns) + `, b.bucket_id, coalesce(k.name, '')`

func scanDead(r *sql.Rows) (d ledger.DeadLetter, err error) {
	d.Blob, err = scanBlobRow(r, &d.BucketID, &d.Bucket)
	return d, err
}

// Dead lists dead letters in the order in which their blobs were made. A page reads at most
// as many rows as there are dead letters.
func (db *DB) Dead(ctx context.Context, q ledger.DeadQuery) (letters []ledger.DeadLetter, err error) {
	diedBy := cmp.Or(q.DiedBy, lethe.Forever)
	err = db.read(ctx, "dead letters", func(t *tx) error {
		letters, err = all(t, scanDead, selectDead, q.After, q.Backend, q.Reason, q.Bucket, diedBy, q.MinSize, q.Error, bounded(q.Limit))
		return err
	})
	return letters, err
}

// DeadByID returns the dead letters among the blobs, in any order.
func (db *DB) DeadByID(ctx context.Context, blobs []lethe.ID) (letters []ledger.DeadLetter, err error) {
	err = db.read(ctx, "dead letters by id", func(t *tx) error {
		letters, err = all(t, scanDead, deadByID, sqldb.JSON(slices.Compact(slices.Sorted(slices.Values(blobs)))))
		return err
	})
	return letters, err
}

// Requeue condemns dead blobs again: due now, with no attempts counted. Ids that name no
// dead letter are not counted.
func (db *DB) Requeue(ctx context.Context, blobs []lethe.ID) (n int, err error) {
	err = db.write(ctx, "requeue dead letters", func(t *tx) error {
		n, err = t.leaveDead(lethe.Condemned, requeueDead, sqldb.JSON(blobs), t.Now)
		return err
	})
	return n, err
}

// WriteOff removes dead rows: the operator vouches that their bytes are gone. Ids that name
// no dead letter are not counted. Rows whose upload may still land (before LateUntil) stay
// and are not counted either, as no operator can vouch for that (docs/protocol.md, rule 9).
func (db *DB) WriteOff(ctx context.Context, blobs []lethe.ID) (n int, err error) {
	err = db.write(ctx, "write off dead letters", func(t *tx) error {
		n, err = t.leaveDead(0, writeOffDead, sqldb.JSON(blobs), t.Now)
		return err
	})
	return n, err
}

// leaveDead runs a statement that takes rows out of the dead letters, and moves the counters
// accordingly. State 0 means that the rows are removed.
func (t *tx) leaveDead(to lethe.State, query string, args ...any) (int, error) {
	rows, err := all(t, func(r *sql.Rows) (b ledger.Blob, err error) {
		err = r.Scan(&b.ID, &b.Backend, &b.Size, &b.ContentID, &b.Reason, &b.Block)
		return b, err
	}, query, args...)
	var sums []lethe.ID
	for _, r := range rows {
		how := moveWrittenOff
		if to != 0 {
			how = moveRequeued
		} else {
			t.goneBytes(r, receipt.WrittenOff)
			if r.Block > 0 {
				sums = append(sums, r.ID)
			}
		}
		t.counts.move(ledger.Move{Backend: r.Backend, From: lethe.Dead, To: to, Reason: how, Blobs: 1, Bytes: r.Size})
	}
	return len(rows), cmp.Or(err, t.dropBlocks(sums))
}

// Totals returns the exact numbers of blobs and bytes by backend and state, without zeros.
func (db *DB) Totals(ctx context.Context) (totals []ledger.Total, err error) {
	err = db.read(ctx, "totals", func(t *tx) error {
		totals, err = all(t, scanTotal, selectTotals)
		return err
	})
	return totals, err
}

func scanTotal(r *sql.Rows) (x ledger.Total, err error) {
	err = r.Scan(&x.Backend, &x.State, &x.Blobs, &x.Bytes)
	return x, err
}
