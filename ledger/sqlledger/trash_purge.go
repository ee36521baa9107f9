package sqlledger

import (
	"context"
	"database/sql"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

var (
	dueTrash = register(`SELECT id, purge_at, content_id, bucket, key FROM trash
		WHERE purge_at BETWEEN ?1 AND ?2 ORDER BY purge_at LIMIT ?3 ` + sqldb.Locked)
	deleteTrash = register(`DELETE FROM trash
		WHERE id IN (SELECT key FROM ` + sqldb.Rows(1, "key text") + `) AND purge_at + 0 <= ?2
		RETURNING ` + trashColumns + `, coalesce((SELECT b.id FROM buckets b WHERE b.name = trash.bucket), '')`)
	bucketsNamed = register(`SELECT id, name, holds FROM buckets WHERE name IN (SELECT id FROM ` + sqldb.IDs(1) + `) ORDER BY id ` + sqldb.Shared)
	// As bucketsNamed, without locks.
	readNamed = register(`SELECT id, name, holds FROM buckets WHERE name IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
	// A deferred entry is due and kept, so it is not counted as later.
	purgeLater = register(countLater(`purge_at`, `trash WHERE purge_at > ?1 AND purge_at < 9223372036854775807`))

	pruneOps = register(`DELETE FROM ops WHERE id IN (
		SELECT id FROM ops WHERE at <= ?1 ORDER BY at LIMIT ?2)`)
	emptyNameless = register(`SELECT b.id FROM buckets b WHERE b.name IS NULL
		AND NOT EXISTS (SELECT 1 FROM objects o WHERE o.bucket_id = b.id)
		AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.bucket_id = b.id)
		AND NOT EXISTS (SELECT 1 FROM deferred p WHERE p.bucket_id = b.id)
		ORDER BY b.id LIMIT ?1`)
	deleteBucketCounters = register(`DELETE FROM bucket_counters
		WHERE bucket_id IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
	deleteBuckets = register(`DELETE FROM buckets WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
)

// Purge removes up to a batch of trash entries whose undo window has passed, oldest first,
// as Expire does with objects.
func (db *DB) Purge(ctx context.Context, b ledger.Batch) (out ledger.Reclaimed, err error) {
	err = db.batch(ctx, "purge", func(t *tx) error {
		out = ledger.Reclaimed{LastDue: b.After}
		entries, err := t.trashNow(b)
		if err != nil || len(entries) == 0 {
			return err
		}
		out.LastDue, out.More = entries[len(entries)-1].row.Due, b.Only == nil && b.Limit > 0 && len(entries) > b.Limit
		found, err := t.unheld(entries, &out)
		if err != nil || len(found) == 0 {
			return err
		}
		taken, err := t.weigh(found, b)
		if err != nil {
			return err
		}
		if len(taken) < len(found) {
			out.More, out.LastDue = true, taken[len(taken)-1].Due
		}
		may, tripped, err := t.spend(ledger.LimitPurge, "", b.Limits, int64(len(taken)))
		if tripped != nil {
			out.Tripped = append(out.Tripped, *tripped)
		}
		if may < int64(len(taken)) {
			taken, out.More = taken[:may], false
		}
		if err != nil || may == 0 {
			return err
		}
		out.Taken = namedOf(b, taken)
		var buckets []lethe.ID
		went, err := all(t, func(r *sql.Rows) (ledger.TrashEntry, error) {
			var bucket string
			e, err := scanTrashRow(named{r, &bucket})
			buckets = append(buckets, lethe.ID(bucket))
			return e, err
		}, deleteTrash, sqldb.JSON(taken), t.Now)
		if err != nil {
			return err
		}
		gone := make([]loss, len(went))
		for i, e := range went {
			gone[i] = loss{bucket: buckets[i], content: e.Object.ContentID, size: e.Object.Size, died: e.PurgeAt}
			t.gone(e.Object.Bucket, e.Object, receipt.Receipt{Reason: lethe.ReasonPurge, Due: receipt.Instant(e.PurgeAt), Trash: e.Receipt("")})
		}
		return t.reclaim(gone, lethe.ReasonPurge, &out)
	})
	return out, err
}

// trashNow returns the entries that a batch may take, and one more.
func (t *tx) trashNow(b ledger.Batch) ([]dueEntry, error) {
	if b.Only != nil {
		return all(t, scanDueEntry, trashNamed, sqldb.JSON(b.Only), t.Now)
	}
	return all(t, scanDueEntry, dueTrash, b.After, t.Now, oneMore(b.Limit))
}

// dueEntry is a due trash entry with its former object.
type dueEntry struct {
	row         dueRow // its key is the entry's id
	bucket, key string
}

func scanDueEntry(r *sql.Rows) (e dueEntry, err error) {
	var content sql.NullString
	err = r.Scan(&e.row.Key, &e.row.Due, &content, &e.bucket, &e.key)
	e.row.content, e.row.version = lethe.ID(content.String), lethe.ID(e.row.Key)
	return e, err
}

// unheld defers entries whose key is held in the bucket that now has the name, and returns
// the others. The buckets' rows are locked, as in Expire (docs/protocol.md, rule 21).
func (t *tx) unheld(entries []dueEntry, out *ledger.Reclaimed) (free []dueRow, err error) {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.bucket
	}
	byName, err := t.bucketsWithHolds(bucketsNamed, names)
	if err != nil {
		return nil, err
	}
	var asked []dueRow
	for _, e := range entries {
		if id, holds := byName[e.bucket]; holds {
			asked = append(asked, dueRow{Bucket: id, Key: e.key})
		}
	}
	held, err := t.heldBy(asked)
	if err != nil {
		return nil, err
	}
	var deferred []deferredRow
	for _, e := range entries {
		if _, found := held[spot{byName[e.bucket], e.key}]; found {
			deferred = append(deferred, deferredRow{byName[e.bucket], e.key, lethe.ID(e.row.Key), e.row.Due})
		} else {
			free = append(free, e.row)
		}
	}
	out.Deferred += len(deferred)
	return free, t.deferRows(deferred)
}

// bucketsWithHolds returns those of the named buckets that have holds.
func (t *tx) bucketsWithHolds(query string, names []string) (map[string]lethe.ID, error) {
	byName := map[string]lethe.ID{}
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var name string
		var id lethe.ID
		var holds int64
		if err = r.Scan(&id, &name, &holds); err == nil && holds > 0 {
			byName[name] = id
		}
		return none, err
	}, query, sqldb.JSON(slices.Compact(slices.Sorted(slices.Values(names)))))
	return byName, err
}

// PurgeBacklog counts trash entries, due and later, as ExpireBacklog.
func (db *DB) PurgeBacklog(ctx context.Context) (b ledger.Backlog, err error) {
	err = db.read(ctx, "purge backlog", func(t *tx) error {
		b, err = t.queued(purgeQueue, bounded(0))
		return err
	})
	return b, err
}

// Prune removes up to limit rows of expired bookkeeping and returns how many. These are
// outcomes of operations older than OpsKept; finished runs beyond the last 1,000 of each
// routine, except its newest successful one; and deleted buckets whose last object was
// reclaimed and whose deferred rows were released.
func (db *DB) Prune(ctx context.Context, limit int) (int, error) {
	var n int64
	err := db.batch(ctx, "prune", func(t *tx) error {
		n = 0
		for _, prune := range []func(*tx, int64) (int64, error){(*tx).pruneOps, (*tx).pruneRuns, (*tx).pruneBuckets} {
			gone, err := prune(t, bounded(limit)-n)
			if err != nil {
				return err
			}
			n += gone
		}
		return nil
	})
	return int(n), err
}

func (t *tx) pruneOps(limit int64) (int64, error) {
	return t.Exec(pruneOps, t.Now.Add(-t.db.o.OpsKept), limit)
}

// pruneBuckets removes deleted buckets without any rows, along with their counters, which
// must be zero.
func (t *tx) pruneBuckets(limit int64) (int64, error) {
	empty, err := all(t, sqldb.One[lethe.ID], emptyNameless, limit)
	if err != nil || len(empty) == 0 {
		return 0, err
	}
	list := sqldb.JSON(empty)
	for _, query := range []string{deleteBucketCounters, dropLimits} {
		if _, err := t.Send(query, list); err != nil {
			return 0, err
		}
	}
	return t.Exec(deleteBuckets, list)
}
