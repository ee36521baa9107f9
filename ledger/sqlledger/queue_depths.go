package sqlledger

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// depth returns a query that counts what is due in one queue, oldest first, up to a limit.
func depth(at, size, rows string) string {
	return register(fmt.Sprintf(`SELECT count(*), coalesce(sum(size), 0), coalesce(min(at), 0) FROM (
		SELECT %s AS at, %s AS size FROM %s ORDER BY %s LIMIT ?1) AS due`, at, size, rows, at))
}

var (
	expireDepth = depth(`due_at`, `size`, `objects WHERE due_at IS NOT NULL AND due_at <= ?2`)
	purgeDepth  = depth(`purge_at`, `size`, `trash WHERE purge_at <= ?2`)
	cleanDepth  = depth(`due_at`, `size`, `blobs WHERE state = 3 AND fence = 0 AND due_at <= ?2 AND backend = ?3`)
	reapDepth   = depth(`beat_at`, `size`, `blobs WHERE state = 1 AND fence = 0 AND beat_at <= ?2`)
	placeDepth  = depth(`due_at`, `0`, `placements WHERE due_at <= ?2`)

	failingDepth = register(`SELECT count(*), coalesce(max(attempts), 0), coalesce(min(due_at), 0) FROM (
		SELECT attempts, due_at FROM blobs WHERE backend = ?1 AND state = 3 AND attempts > 0
		ORDER BY attempts DESC LIMIT ?2) AS failing`)
	failingWorst = register(`SELECT last_error FROM blobs WHERE backend = ?1 AND state = 3 AND attempts > 0
		ORDER BY attempts DESC LIMIT 1`)
	// A try puts off the due time. So what waits is a claim or has failed, and what is due
	// and has never been tried is not read.
	uncopiedDepth = register(`SELECT count(*), coalesce(max(attempts), 0), coalesce(min(due_at), 0) FROM (
		SELECT attempts, due_at FROM placements WHERE due_at > ?1 ORDER BY due_at LIMIT ?2) AS later WHERE attempts >= ?3`)
	uncopiedWorst = register(`SELECT last_error FROM (
		SELECT attempts, last_error FROM placements WHERE due_at > ?1 ORDER BY due_at LIMIT ?2) AS later ORDER BY attempts DESC LIMIT 1`)
	suspectDepth = register(`SELECT count(*), coalesce(sum(lost), 0) FROM (
		SELECT CASE WHEN b.content_id IS NULL OR EXISTS (SELECT 1 FROM blobs c
			WHERE c.content_id = b.content_id AND c.segment = b.segment AND c.state = 2 AND c.suspect = 0) THEN 0 ELSE 1 END AS lost
		FROM blobs b WHERE b.backend = ?1 AND b.state = 2 AND b.suspect = 1 LIMIT ?2) AS suspects`)
	deferredDepth = register(`SELECT count(*) FROM (SELECT 1 FROM deferred LIMIT ?1) AS waiting`)
)

// queues returns the routines with a single queue that no hold keeps, and the age from which a
// row counts.
// Later rows are counted by the statement of their backlogs.
func queues(q ledger.DepthQuery) []struct {
	routine, due, later string
	age                 time.Duration
} {
	return []struct {
		routine, due, later string
		age                 time.Duration
	}{
		{"reap", reapDepth, reapLater, q.MinAge}, {"replicate", placeDepth, placeLater, 0},
	}
}

// Depths returns the lengths of the routines' queues. It is cheap enough to be called often.
func (db *DB) Depths(ctx context.Context, q ledger.DepthQuery) (out ledger.Depths, err error) {
	if q.Limit <= 0 {
		q.Limit = ledger.MaxDepth
	}
	err = db.read(ctx, "depths", func(t *tx) error {
		out = ledger.Depths{
			Now: t.Now, Limit: int64(q.Limit), Routines: map[string]ledger.Backlog{}, Clean: map[string]ledger.Backlog{},
			Failing: map[string]ledger.Failing{}, Suspects: map[string]ledger.Suspects{},
		}
		if out.Routines["expire"], err = t.queued(expireQueue, int64(q.Limit)); err != nil {
			return err
		}
		if out.Routines["purge"], err = t.queued(purgeQueue, int64(q.Limit)); err != nil {
			return err
		}
		for _, x := range queues(q) {
			until := t.Now.Add(-x.age)
			b, err := t.depth(x.due, x.later, []any{q.Limit, until}, []any{until})
			if err != nil {
				return err
			}
			b.CountLater(x.age)
			out.Routines[x.routine] = b
		}
		if err := t.cleanDepths(q, &out); err != nil {
			return err
		}
		return t.troubles(q, &out)
	})
	return out, err
}

// troubles adds failing deletes, suspect blobs, and what is deferred.
func (t *tx) troubles(q ledger.DepthQuery, out *ledger.Depths) error {
	for _, id := range q.Backends {
		var f ledger.Failing
		if err := t.Row(failingDepth, id, q.Limit).Scan(&f.Count, &f.Attempts, &f.NextTry); err != nil {
			return t.Failed(err)
		}
		if f.Count > 0 {
			if err := t.Row(failingWorst, id).Scan(&f.Error); err != nil {
				return t.Failed(err)
			}
			out.Failing[id] = f
		}
		var s ledger.Suspects
		if err := t.Row(suspectDepth, id, ledger.MaxSuspects).Scan(&s.Count, &s.Lost); err != nil {
			return t.Failed(err)
		}
		if s.Count > 0 {
			out.Suspects[id] = s
		}
	}
	if err := t.uncopied(q, &out.Uncopied); err != nil {
		return err
	}
	return t.Failed(t.Row(deferredDepth, q.Limit).Scan(&out.Deferred))
}

// uncopied counts what lacks copies that could not be made for long.
func (t *tx) uncopied(q ledger.DepthQuery, f *ledger.Failing) error {
	err := t.Row(uncopiedDepth, t.Now, q.Limit, ledger.CopyTries).Scan(&f.Count, &f.Attempts, &f.NextTry)
	if err != nil || f.Count == 0 {
		return t.Failed(err)
	}
	return t.Failed(t.Row(uncopiedWorst, t.Now, q.Limit).Scan(&f.Error))
}

// cleanDepths adds the cleanup queues and their sum.
func (t *tx) cleanDepths(q ledger.DepthQuery, out *ledger.Depths) error {
	var sum ledger.Backlog
	for _, id := range q.Backends {
		b, err := t.depth(cleanDepth, cleanLater, []any{q.Limit, t.Now, id}, []any{id, t.Now})
		if err != nil {
			return err
		}
		out.Clean[id] = b
		sum.Count += b.Count
		sum.Bytes += b.Bytes
		sum.Scheduled += b.Scheduled
		sum.Oldest, sum.NextDue = ledger.Earlier(sum.Oldest, b.Oldest), ledger.Earlier(sum.NextDue, b.NextDue)
	}
	out.Routines["clean"] = sum
	return nil
}

func (t *tx) depth(due, later string, dueArgs, laterArgs []any) (b ledger.Backlog, err error) {
	if err = t.Row(due, dueArgs...).Scan(&b.Count, &b.Bytes, &b.Oldest); err != nil {
		return b, t.Failed(err)
	}
	return b, t.Failed(t.Row(later, laterArgs...).Scan(&b.Scheduled, &b.NextDue))
}
