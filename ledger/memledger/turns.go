package memledger

import (
	"cmp"
	"context"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// DueBuckets looks at a stretch of the buckets, and returns those that have due rows.
func (db *DB) DueBuckets(ctx context.Context, q ledger.TurnQuery) (ledger.Turns, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Turns{}, err
	}
	defer db.mu.Unlock()
	rows := db.buckets.from(func(b *bucket) bool { return b.ID > q.From })
	out := ledger.Turns{Last: q.From, End: q.Limit <= 0 || len(rows) < q.Limit}
	var look []lethe.ID
	if q.From == "" && q.Backend != "" {
		look = append(look, "")
	}
	for _, b := range first(rows, q.Limit) {
		out.Last = b.ID
		look = append(look, b.ID)
	}
	due := db.firstDue(q)
	for _, id := range look {
		if at, found := due[id]; found {
			out.Due = append(out.Due, ledger.Turn{Bucket: id, After: at})
		}
	}
	return out, nil
}

// firstDue returns, by bucket, when its first due row was due.
func (db *DB) firstDue(q ledger.TurnQuery) map[lethe.ID]lethe.Time {
	due := map[lethe.ID]lethe.Time{}
	note := func(bucket lethe.ID, at lethe.Time) {
		if _, known := due[bucket]; !known && at >= q.After[bucket] {
			due[bucket] = at
		}
	}
	if q.Backend == "" {
		for _, o := range db.dueSince(0) {
			note(o.BucketID, o.DueAt())
		}
		return due
	}
	if b := db.backend(q.Backend); b != nil {
		for _, row := range b.dueSince(0, db.now) {
			note(row.bucket, row.DueAt)
		}
	}
	return due
}

// dueSince returns the objects that are due, from an instant on.
func (db *DB) dueSince(after lethe.Time) []*object {
	return db.due.between(
		func(o *object) bool { return o.DueAt() >= after },
		func(o *object) bool { return o.DueAt() > db.now })
}

// dueSince returns the blobs to be deleted now, due from an instant on.
func (b *backend) dueSince(after, now lethe.Time) []*blob {
	return b.due.between(
		func(b *blob) bool { return b.DueAt >= after },
		func(b *blob) bool { return b.DueAt > now })
}

// byTurns returns due objects, some of each bucket.
func (db *DB) byTurns(b ledger.Batch) []*object {
	return byTurns(b.Turns, b.Limit, db.dueSince, func(o *object) lethe.ID { return o.BucketID })
}

// blobsByTurns returns blobs, some of each bucket; rows is sorted by due time.
func blobsByTurns(rows []*blob, turns []ledger.Turn, limit int) []*blob {
	since := func(after lethe.Time) []*blob {
		i, _ := slices.BinarySearchFunc(rows, after, func(b *blob, at lethe.Time) int { return cmp.Compare(b.DueAt, at) })
		return rows[i:]
	}
	return byTurns(turns, limit, since, func(row *blob) lethe.ID { return row.bucket })
}

func byTurns[T any](turns []ledger.Turn, limit int, since func(lethe.Time) []T, bucket func(T) lethe.ID) []T {
	// Reads from memory cannot fail.
	rows, _ := ledger.TakeTurns(turns, limit, func(turn ledger.Turn, n int) ([]T, error) {
		var own []T
		for _, row := range since(turn.After) {
			if n > 0 && len(own) >= n {
				break
			}
			if bucket(row) == turn.Bucket {
				own = append(own, row)
			}
		}
		return own, nil
	})
	return rows
}

// idOf returns the id of a bucket by name, empty if there is none.
func (db *DB) idOf(name string) lethe.ID {
	if b, err := db.find(name); err == nil {
		return b.ID
	}
	return ""
}
