package sqlledger

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// precheckRows is the most due rows that PrecheckLimits reads.
const precheckRows = 1_000_000

const byRule = ` GROUP BY bucket_id, rule_no ORDER BY bucket_id, rule_no`

var (
	anyRules    = register(`SELECT 1 FROM buckets WHERE rules <> '' LIMIT 1`)
	dueByBucket = register(`SELECT bucket_id, rule_no, count(*) FROM (
			SELECT bucket_id, ` + ruleAlone(`?1`) + ` AS rule_no
			FROM objects WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2) AS due` + byRule)
	dueOfBucket = register(`SELECT bucket_id, rule_no, count(*) FROM (
			SELECT bucket_id, ` + ruleAlone(`?1`) + ` AS rule_no
			FROM objects WHERE due_at IS NOT NULL AND length(bucket_id) >= 0
				AND (bucket_id, due_at) >= (?3, 0) AND (bucket_id, due_at) <= (?3, ?1)
			ORDER BY bucket_id, due_at LIMIT ?2) AS due` + byRule)
)

// dueCounts counts due objects by the limit that may trip.
type dueCounts map[limitKey]dueByRule

// dueByRule counts due objects by the rule that alone ends them, 0 if their own time to live
// does.
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

// PrecheckLimits trips limits before the first object goes, so that a mistaken rule is noticed
// while nothing is lost. It reads the oldest million due objects and returns the limits that
// it tripped. Objects that it lets pass are still counted when they go. Each limit trips in a
// transaction that reads what is due then. An allowance of a person is used up first.
func (db *DB) PrecheckLimits(ctx context.Context, l ledger.Limits) (tripped []ledger.LimitState, err error) {
	var beyond []limitKey
	err = db.walk(ctx, "count what is due against the limits", func(t *tx) error {
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
	err = db.batch(ctx, "precheck limits", func(t *tx) error {
		tripped, err = t.precheck(beyond, l)
		return err
	})
	return tripped, err
}

// beyond returns the limits that seem to have more due than they let go.
func (t *tx) beyond(l ledger.Limits) (out []limitKey, err error) {
	due, err := t.countDue(dueByBucket, t.Now, precheckRows)
	if err != nil {
		return nil, err
	}
	list := slices.SortedFunc(maps.Keys(due), compareLimitKeys)
	rules, err := t.rulesOfBuckets(readRules, subjects(list))
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		limit, n := l.Of(b.kind), due[b].sum(rules[lethe.ID(b.subject)])
		if !limit.On() || n == 0 {
			continue
		}
		g, err := t.limitState(b.kind, b.subject)
		if err != nil {
			return nil, err
		}
		trips, err := t.trip(&g, limit, n)
		if err != nil {
			return nil, err
		}
		if trips {
			out = append(out, b)
		}
	}
	return out, nil
}

// precheck counts again and trips the limits exceeded. The rules and limits are locked: a
// transaction that counts on them has committed, or waits.
func (t *tx) precheck(list []limitKey, l ledger.Limits) (tripped []ledger.LimitState, err error) {
	rules, err := t.rulesByID(subjects(list))
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		g, err := t.limitState(b.kind, b.subject)
		if err != nil {
			return nil, err
		}
		due, err := t.countDue(dueOfBucket, t.Now, precheckRows, b.subject)
		if err != nil {
			return nil, err
		}
		trips, err := t.trip(&g, l.Of(b.kind), due[b].sum(rules[lethe.ID(b.subject)]))
		if err != nil {
			return nil, err
		}
		if !trips {
			continue
		}
		if err := t.saveLimit(g); err != nil {
			return nil, err
		}
		tripped = append(tripped, g)
	}
	return tripped, nil
}

// trip trips a limit if it does not let that many due objects go, and reports
// whether it does.
func (t *tx) trip(g *ledger.LimitState, l ledger.Limit, due int64) (trips bool, err error) {
	has, err := t.has(*g, l)
	if err != nil || !g.WouldTrip(t.Now, l, has, due) {
		return false, err
	}
	g.Trip(t.Now, l, has, due)
	return true, nil
}

// subjects returns the buckets of limits, each once.
func subjects(list []limitKey) (ids []lethe.ID) {
	for _, b := range list {
		ids = append(ids, lethe.ID(b.subject))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// countDue counts what is due by what ends it.
func (t *tx) countDue(query string, args ...any) (dueCounts, error) {
	due := dueCounts{}
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var bucket lethe.ID
		var rule, n int64
		if err = r.Scan(&bucket, &rule, &n); err == nil {
			b := limitKeyOf(dueRow{Bucket: bucket, rule: rule})
			if due[b] == nil {
				due[b] = dueByRule{}
			}
			due[b][rule] += n
		}
		return none, err
	}, query, args...)
	return due, err
}
