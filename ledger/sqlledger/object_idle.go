package sqlledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// firstEnd returns an expression for the earlier of two instants, of which the first may not be
// 0 and the second may, for none.
func firstEnd(at, end string) string {
	return `CASE WHEN ` + end + ` <> 0 AND ` + end + ` < ` + at + ` THEN ` + end + ` ELSE ` + at + ` END`
}

// idleGrace is ledger.IdleGrace in SQL.
var idleGrace = fmt.Sprint(ledger.IdleGrace.Microseconds())

// dueOf returns an expression for ledger.Object.DueAt of a row: 0 for none.
func dueOf(table string) string {
	return dueBy(table+`ttl_at`, table+`rule_at`, table+`idle_at`)
}

// dueBy is dueOf of three ends.
func dueBy(ttl, rule, idle string) string {
	stamped := `CASE WHEN ` + ttl + ` = 0 THEN ` + rule + ` WHEN ` + rule + ` = 0 OR ` + ttl + ` < ` + rule + ` THEN ` + ttl + ` ELSE ` + rule + ` END`
	return `CASE WHEN ` + idle + ` = 0 THEN ` + stamped + ` WHEN (` + stamped + `) NOT BETWEEN 1 AND ` + idle + ` + ` + idleGrace +
		` THEN ` + idle + ` + ` + idleGrace + ` ELSE ` + stamped + ` END`
}

// visibleAt returns a condition for ledger.Object.VisibleAt of a row. The last read has set
// ttl_at.
func visibleAt(table, now string) string {
	return `(` + table + `ttl_at = 0 OR ` + table + `ttl_at > ` + now + `) AND (` + table + `idle_at = 0 OR ` + table + `idle_at > ` + now + `)`
}

// ruleAlone returns an expression for the rule that alone ends a due row: 0 if it has ended by
// itself.
func ruleAlone(now string) string {
	return `CASE WHEN ttl_at <> 0 AND ttl_at <= ` + now + ` OR idle_at <> 0 AND idle_at + ` + idleGrace + ` <= ` + now + ` THEN 0 ELSE rule_no END`
}

var (
	readNoted = register(`SELECT o.bucket_id, o.key, o.id, o.ttl_at, o.rule_at, o.idle_for, o.idle_at, coalesce(o.used_at, 0), t.at, (SELECT b.evict FROM buckets b WHERE b.id = o.bucket_id)
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "id text", "at bigint") + ` CROSS JOIN objects o
		WHERE o.bucket_id = t.bucket_id AND o.key = t.key AND o.id = t.id AND (o.idle_for <> 0 OR o.used_at IS NOT NULL) ` + sqldb.ExclusiveBy("o.bucket_id, o.key"))
	noteReads = register(`UPDATE objects SET idle_at = t.idle_at, used_at = t.used_at, due_at = t.due_at
		FROM ` + sqldb.Rows(1, "bucket_id text", "key text", "idle_at bigint", "used_at bigint", "due_at bigint") + `
		WHERE objects.bucket_id = t.bucket_id AND objects.key = t.key`)
)

// notedRow is an object with its end and its last use, as noted.
type notedRow struct {
	Bucket lethe.ID   `json:"bucket_id"`
	Key    string     `json:"key"`
	Idle   lethe.Time `json:"idle_at"`
	Used   lethe.Time `json:"used_at"`
	Due    any        `json:"due_at"`
}

// NoteReads notes reads, of each version at most one, and returns how many objects it changed.
// An end by idleness moves forward only, by more than a tenth of the idle time, for a read that
// was before it. A version that is gone is not changed, nor the one in its place. awaited: a client
// waits for it.
func (db *DB) NoteReads(ctx context.Context, reads []ledger.Read, awaited bool) (noted int, err error) {
	err = db.batchFor(ctx, awaited, "note reads", func(t *tx) error {
		noted = 0
		var rows []notedRow
		_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
			var o ledger.Object
			var idle int64
			var at lethe.Time
			var in ledger.Eviction
			err = r.Scan(&o.BucketID, &o.Key, &o.ID, &o.TTLAt, &o.RuleAt, &idle, &o.IdleAt, &o.UsedAt, &at, &in.Order)
			if o.IdleFor = duration(idle); err == nil && o.Note(in, min(at, t.Now)) {
				rows = append(rows, notedRow{o.BucketID, o.Key, o.IdleAt, o.UsedAt, nullTime(o.DueAt())})
			}
			return none, err
		}, readNoted, sqldb.JSON(reads))
		if err != nil || len(rows) == 0 {
			return err
		}
		noted = len(rows)
		return t.Must(int64(noted), lethe.ErrFenced, noteReads, sqldb.JSON(rows))
	})
	return noted, err
}
