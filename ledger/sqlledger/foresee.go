package sqlledger

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// foreseen is how many due rows Foresee looks at.
const foreseen = 1_000_000

const (
	aloneEnding = `CASE WHEN ttl_at <> 0 AND ttl_at <= ?1 THEN 0 ELSE rule_no END AS rule_no`
	byRule      = ` GROUP BY bucket_id, rule_no ORDER BY bucket_id, rule_no`
)

var (
	anyRules    = register(`SELECT 1 FROM buckets WHERE rules <> '' LIMIT 1`)
	dueByBucket = register(`SELECT bucket_id, rule_no, count(*) FROM (
			SELECT bucket_id, ` + aloneEnding + `
			FROM objects WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2) AS due` + byRule)
	dueOfBucket = register(`SELECT bucket_id, rule_no, count(*) FROM (
			SELECT bucket_id, ` + aloneEnding + `
			FROM objects WHERE due_at IS NOT NULL AND length(bucket_id) >= 0
				AND (bucket_id, due_at) >= (?3, 0) AND (bucket_id, due_at) <= (?3, ?1)
			ORDER BY bucket_id, due_at LIMIT ?2) AS due` + byRule)
)

// foreseeing is what is due of whom a limit may stop.
type foreseeing map[bound]dueByRule

// dueByRule counts objects that are due by the rule that alone ends them, 0 if
// their own time to live does.
type dueByRule map[int64]int64

// sum counts what may go: a rule that is not in force ends nothing.
func (d dueByRule) sum(b namedRules) (n int64) {
	for rule, count := range d {
		if rule == 0 || b.rules.InForce(rule) != nil {
			n += count
		}
	}
	return n
}

// Foresee stops, before the first of them goes, what is due beyond the limits: so
// a mistaken rule is found out while nothing is lost. It looks at the oldest
// million that are due, and returns what it stopped. What it lets pass is counted
// as it goes, all the same. A stop is decided in the transaction that makes it, by
// what is due then; what a person has allowed is left to be used up.
func (db *DB) Foresee(ctx context.Context, l ledger.Limits) (stopped []ledger.Guard, err error) {
	var beyond []bound
	err = db.read(ctx, "look ahead", func(t *tx) error {
		ruled, err := t.exists(anyRules)
		if err != nil || !(ruled && l.Rules.On()) && !l.TTL.On() {
			return err
		}
		beyond, err = t.beyond(l)
		return err
	})
	if err != nil || len(beyond) == 0 {
		return nil, err
	}
	err = db.batch(ctx, "look ahead", func(t *tx) error {
		stopped, err = t.foresee(beyond, l)
		return err
	})
	return stopped, err
}

// beyond returns what seems to be due beyond its limit.
func (t *tx) beyond(l ledger.Limits) (out []bound, err error) {
	due, err := t.countDue(dueByBucket, t.now, foreseen)
	if err != nil {
		return nil, err
	}
	list := slices.SortedFunc(maps.Keys(due), compareBounds)
	rules, err := t.rulesOfBuckets(readRules, subjects(list))
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		limit, n := l.Of(b.kind), due[b].sum(rules[lethe.ID(b.subject)])
		if !limit.On() || n == 0 {
			continue
		}
		g, err := t.guard(b.kind, b.subject)
		if err != nil {
			return nil, err
		}
		stops, err := t.stop(&g, limit, n)
		if err != nil {
			return nil, err
		}
		if stops {
			out = append(out, b)
		}
	}
	return out, nil
}

// foresee counts once more, and stops what is beyond its limit. The rules stand
// still, and so do the guards: who counts there has committed what went, or waits.
func (t *tx) foresee(list []bound, l ledger.Limits) (stopped []ledger.Guard, err error) {
	rules, err := t.rulesByID(subjects(list))
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		g, err := t.guard(b.kind, b.subject)
		if err != nil {
			return nil, err
		}
		due, err := t.countDue(dueOfBucket, t.now, foreseen, b.subject)
		if err != nil {
			return nil, err
		}
		stops, err := t.stop(&g, l.Of(b.kind), due[b].sum(rules[lethe.ID(b.subject)]))
		if err != nil {
			return nil, err
		}
		if !stops {
			continue
		}
		if err := t.saveGuard(g); err != nil {
			return nil, err
		}
		stopped = append(stopped, g)
	}
	return stopped, nil
}

// stop makes a guard one that stops, if the limit does not let so many go that are
// due, and returns whether it does.
func (t *tx) stop(g *ledger.Guard, l ledger.Limit, due int64) (stops bool, err error) {
	has, err := t.has(*g, l)
	if err != nil || !g.Foresees(t.now, l, has, due) {
		return false, err
	}
	g.Stop(t.now, l, has, due)
	return true, nil
}

// subjects are the buckets of guards, each once.
func subjects(list []bound) (ids []lethe.ID) {
	for _, b := range list {
		ids = append(ids, lethe.ID(b.subject))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// countDue counts what is due by what ends it.
func (t *tx) countDue(query string, args ...any) (foreseeing, error) {
	due := foreseeing{}
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var bucket lethe.ID
		var rule, n int64
		if err = r.Scan(&bucket, &rule, &n); err == nil {
			b := boundOf(dueRow{Bucket: bucket, rule: rule})
			if due[b] == nil {
				due[b] = dueByRule{}
			}
			due[b][rule] += n
		}
		return none, err
	}, query, args...)
	return due, err
}
