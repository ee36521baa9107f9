package sqlledger

import (
	"database/sql"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// What is due counts by the front of an index, unless there are holds or rules that are being
// reapplied: then each due row is looked at, as some of them are held, or due only by a rule
// that is not in force.
const (
	heldThere   = `(h.scope IN (1, 3) AND h.key = due.key OR h.scope = 2 AND substr(due.key, 1, length(h.key)) = h.key)`
	dueByReason = `SELECT bucket_id, rule_no, held, count(*), sum(size), min(at) FROM (
			SELECT due.bucket_id, due.rule_no, due.size, due.at, CASE WHEN EXISTS (SELECT 1 FROM holds h WHERE h.bucket_id = due.bucket_id AND ` + heldThere + `)
				THEN 1 ELSE 0 END AS held FROM (`
	byReason = `) AS due) AS counted GROUP BY bucket_id, rule_no, held`
)

var (
	anyHold        = register(`SELECT 1 FROM holds LIMIT 1`)
	anyReapply     = register(`SELECT 1 FROM reapplications LIMIT 1`)
	expireByReason = register(dueByReason + `SELECT bucket_id, key, CASE WHEN ttl_at <> 0 AND ttl_at <= ?2 THEN 0 ELSE rule_no END AS rule_no, size, due_at AS at
		FROM objects WHERE due_at IS NOT NULL AND due_at <= ?2 ORDER BY due_at LIMIT ?1` + byReason)
	purgeByReason = register(dueByReason + `SELECT coalesce((SELECT b.id FROM buckets b WHERE b.name = trash.bucket), '') AS bucket_id, key, 0 AS rule_no, size, purge_at AS at
		FROM trash WHERE purge_at <= ?2 ORDER BY purge_at LIMIT ?1` + byReason)
)

// sortsOut reports whether due rows have to be looked at one by one.
func (t *tx) sortsOut() (bool, error) {
	held, err := t.exists(anyHold)
	if held || err != nil {
		return held, err
	}
	return t.exists(anyReapply)
}

// countDueRows counts what is due up to a number of rows: by a statement that reads an index
// only, or by one that tells rows apart.
func (t *tx) countDueRows(whole, byReason string, limit int64) (b ledger.Backlog, err error) {
	apart, err := t.sortsOut()
	if err != nil || !apart {
		if err == nil {
			err = t.Failed(t.Row(whole, limit, t.Now).Scan(&b.Count, &b.Bytes, &b.Oldest))
		}
		return b, err
	}
	type group struct {
		bucket       lethe.ID
		rule, held   int64
		count, bytes int64
		oldest       lethe.Time
	}
	groups, err := all(t, func(r *sql.Rows) (g group, err error) {
		err = r.Scan(&g.bucket, &g.rule, &g.held, &g.count, &g.bytes, &g.oldest)
		return g, err
	}, byReason, limit, t.Now)
	if err != nil {
		return b, err
	}
	var ruled []lethe.ID
	for _, g := range groups {
		if g.rule != 0 {
			ruled = append(ruled, g.bucket)
		}
	}
	rules, err := t.rulesOfBuckets(readRules, ruled)
	for _, g := range groups {
		switch {
		case g.rule != 0 && rules[g.bucket].rules.InForce(g.rule) == nil:
		case g.held != 0:
			b.Held += g.count
			b.HeldBytes += g.bytes
		default:
			b.Count += g.count
			b.Bytes += g.bytes
			b.Oldest = ledger.Earlier(b.Oldest, g.oldest)
		}
	}
	return b, err
}

// queued counts what is due, up to a number of rows, and later.
func (t *tx) queued(whole, byReason, later string, limit int64) (ledger.Backlog, error) {
	b, err := t.countDueRows(whole, byReason, limit)
	if err != nil {
		return b, err
	}
	return b, t.Failed(t.Row(later, t.Now).Scan(&b.Scheduled, &b.NextDue))
}
