package sqlledger

import (
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Due rows are counted by the front of an index. If there are holds, or rules that are being
// reapplied, each due row is read: it may be held, or due only by a rule that is not in force.
const (
	heldThere = `(EXISTS (SELECT 1 FROM holds h WHERE h.bucket_id = due.bucket_id AND h.scope IN (1, 3) AND h.key = due.key)
			OR EXISTS (SELECT 1 FROM holds h WHERE h.bucket_id = due.bucket_id AND h.scope = 2 AND substr(due.key, 1, length(h.key)) = h.key))`
	dueByReason = `SELECT bucket_id, rule_no, held, count(*), sum(size), min(at) FROM (
			SELECT due.bucket_id, due.rule_no, due.size, due.at, CASE WHEN ` + heldThere + ` THEN 1 ELSE 0 END AS held FROM (`
	byReason  = `) AS due) AS counted GROUP BY bucket_id, rule_no, held`
	trashRows = `coalesce((SELECT b.id FROM buckets b WHERE b.name = trash.bucket), '') AS bucket_id, key`
)

// heldLater returns a query that counts what holds keep of the first MaxDepth rows that are due
// later, and the first due time of the others: each row is looked at.
func heldLater(columns, at, rows string) string {
	return register(fmt.Sprintf(`SELECT coalesce(sum(held), 0), coalesce(min(CASE WHEN held = 0 THEN at END), 0) FROM (
		SELECT due.at, CASE WHEN %s THEN 1 ELSE 0 END AS held FROM (
			SELECT %s, %s AS at FROM %s ORDER BY %s LIMIT %d) AS due) AS counted`, heldThere, columns, at, rows, at, ledger.MaxDepth))
}

var (
	anyHold        = register(`SELECT 1 FROM holds LIMIT 1`)
	anyReapply     = register(`SELECT 1 FROM reapplications LIMIT 1`)
	expireByReason = register(dueByReason + `SELECT bucket_id, key, ` + ruleAlone(`?2`) + ` AS rule_no, size, due_at AS at
		FROM objects WHERE due_at IS NOT NULL AND due_at <= ?2 ORDER BY due_at LIMIT ?1` + byReason)
	purgeByReason = register(dueByReason + `SELECT ` + trashRows + `, 0 AS rule_no, size, purge_at AS at
		FROM trash WHERE purge_at <= ?2 ORDER BY purge_at LIMIT ?1` + byReason)
	expireHeld  = heldLater(`bucket_id, key`, `due_at`, `objects WHERE due_at IS NOT NULL AND due_at > ?1`)
	purgeHeld   = heldLater(trashRows, `purge_at`, `trash WHERE purge_at > ?1 AND purge_at < 9223372036854775807`)
	expireQueue = queue{expireDepth, expireByReason, expireLater, expireHeld}
	purgeQueue  = queue{purgeDepth, purgeByReason, purgeLater, purgeHeld}
)

// queue is the statements that count one: what is due, by the front of an index or row by row,
// what is due later, and what holds keep of that.
type queue struct{ due, byReason, later, held string }

// countDueRows counts what is due up to a number of rows: by a statement that reads an index
// only, or by one that tells rows apart.
func (t *tx) countDueRows(q queue, held bool, limit int64) (b ledger.Backlog, err error) {
	apart := held
	if !apart {
		if apart, err = t.exists(anyReapply); err != nil {
			return b, err
		}
	}
	if !apart {
		return b, t.Failed(t.Row(q.due, limit, t.Now).Scan(&b.Count, &b.Bytes, &b.Oldest))
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
	}, q.byReason, limit, t.Now)
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

// queued counts what is due, up to a number of rows, and what goes later.
func (t *tx) queued(q queue, limit int64) (ledger.Backlog, error) {
	held, err := t.exists(anyHold)
	if err != nil {
		return ledger.Backlog{}, err
	}
	b, err := t.countDueRows(q, held, limit)
	if err == nil {
		err = t.Failed(t.Row(q.later, t.Now).Scan(&b.Scheduled, &b.NextDue))
	}
	if err != nil || !held || b.Scheduled == 0 {
		return b, err
	}
	var stay int64
	var next lethe.Time
	if err := t.Row(q.held, t.Now).Scan(&stay, &next); err != nil {
		return b, t.Failed(err)
	}
	if b.Scheduled -= stay; next != 0 || b.Scheduled == 0 {
		b.NextDue = next
	}
	return b, nil
}
