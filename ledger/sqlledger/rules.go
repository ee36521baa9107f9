package sqlledger

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

const ruledColumns = `b.name, b.rules, b.rules_by, r.after_key, r.seen, r.changed, r.started_at,
	(SELECT coalesce(sum(n), 0) FROM bucket_counters c WHERE c.bucket_id = b.id)`

var (
	bucketWithRules = register(`SELECT ` + bucketColumns + `, rules FROM buckets WHERE name = ?1 ` + sqldb.Shared)
	takeRules       = register(`SELECT id, rules, rules_by, rules_last FROM buckets WHERE name = ?1 ` + sqldb.Exclusive)
	setRules        = register(`UPDATE buckets SET rules = ?2, rules_by = ?3, rules_last = ?4 WHERE id = ?1`)
	selectRules     = register(`SELECT ` + ruledColumns + ` FROM buckets b LEFT JOIN reapplications r ON r.bucket_id = b.id WHERE b.name = ?1`)
	listRules       = register(`SELECT ` + ruledColumns + ` FROM buckets b LEFT JOIN reapplications r ON r.bucket_id = b.id
		WHERE b.name IS NOT NULL AND (b.rules <> '' OR r.bucket_id IS NOT NULL) ORDER BY b.name`)
	rulesOf = register(`SELECT id, coalesce(name, ''), coalesce(name, was), rules, holds, owner, notify, evict FROM buckets
		WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) ORDER BY id ` + sqldb.Shared)
)

// textCache keeps decoded rules, by their text: a transaction always gets the rules that it
// has read.
type textCache[T any] struct {
	read   func(text string) (T, error)
	mu     sync.Mutex
	byText map[string]T
}

// maxCachedRules bounds the cache; few texts are in use at a time.
const maxCachedRules = 1000

func (c *textCache[T]) decode(text string) (rs T, err error) {
	if text == "" {
		return rs, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if rs, ok := c.byText[text]; ok {
		return rs, nil
	}
	if rs, err = c.read(text); err != nil {
		return rs, err
	}
	if c.byText == nil || len(c.byText) >= maxCachedRules {
		c.byText = map[string]T{}
	}
	c.byText[text] = rs
	return rs, nil
}

// ruled is a bucket with its rules.
type ruled struct {
	ledger.Bucket
	rules lifecycle.Rules
}

// ruledBucket returns a bucket with its rules, which cannot change before the transaction
// ends (docs/protocol.md, rule 21): ErrNoSuchBucket. The members of a group share what one has
// read.
func (t *tx) ruledBucket(name string) (b ledger.Bucket, rs lifecycle.Rules, err error) {
	if t.concurrentWriters() {
		return t.rulesIn(name, t.Row(gatedBucket, name, gateOf("bucket", name)))
	}
	group, grouped := t.Group.(*common)
	if grouped {
		if have, ok := group.ruled[name]; ok {
			return have.Bucket, have.rules, nil
		}
	}
	b, rs, err = t.rulesIn(name, t.Row(bucketWithRules, name))
	if grouped && err == nil {
		if group.ruled == nil {
			group.ruled = map[string]ruled{}
		}
		group.ruled[name] = ruled{b, rs}
	}
	return b, rs, err
}

// SetRules replaces a bucket's lifecycle rules: ErrNoSuchBucket, ErrRulesConfigured,
// ErrPreconditionFailed. Unchanged rules keep their number, so ends set by them remain
// valid. Ends set by other rules have no effect from now on. ReapplyRules reapplies the rules
// to the objects.
func (db *DB) SetRules(ctx context.Context, c ledger.RulesChange) (out ledger.BucketRules, err error) {
	err = db.write(ctx, "set lifecycle rules of "+c.Bucket, func(t *tx) error {
		if err := t.setRules(c); err != nil {
			return err
		}
		out, err = t.rulesOf(c.Bucket)
		return err
	})
	return out, err
}

func (t *tx) setRules(c ledger.RulesChange) error {
	var id lethe.ID
	var text, by string
	var last int64
	if err := t.closeBucket(c.Bucket); err != nil {
		return err
	}
	if err := t.Row(takeRules, c.Bucket).Scan(&id, &text, &by, &last); err != nil {
		return t.bucketError(c.Bucket, err)
	}
	if err := ledger.CheckBucketID(c.Bucket, id, c.Into); err != nil {
		return err
	}
	if by == ledger.ByConfig && c.By != ledger.ByConfig {
		return ledger.ErrRulesConfigured
	}
	old, err := lifecycle.Decode(text)
	if err != nil {
		return err
	}
	if c.Seen != "" && c.Seen != old.Digest() {
		return fmt.Errorf("the rules of bucket %s have changed: %w", c.Bucket, lethe.ErrPreconditionFailed)
	}
	rules, last := c.Rules.Succeed(old, last)
	if len(rules) == 0 {
		c.By = ""
	} else if err := t.NeedsRoom(); err != nil {
		return err
	}
	if _, err := t.Send(setRules, id, rules.Encode(), c.By, last); err != nil || rules.SameEnds(old) {
		return err
	}
	return t.beginReapply(id, 0)
}

// Rules returns a bucket's lifecycle rules: ErrNoSuchBucket.
func (db *DB) Rules(ctx context.Context, bucket string) (out ledger.BucketRules, err error) {
	err = db.read(ctx, "lifecycle rules of "+bucket, func(t *tx) error {
		out, err = t.rulesOf(bucket)
		return err
	})
	return out, err
}

func (t *tx) rulesOf(bucket string) (ledger.BucketRules, error) {
	found, err := all(t, t.scanRules, selectRules, bucket)
	if err == nil && len(found) == 0 {
		err = noBucket(bucket)
	}
	if err != nil {
		return ledger.BucketRules{}, err
	}
	return found[0], nil
}

// RuledBuckets lists by name the buckets that have lifecycle rules, or whose objects still
// carry former ones.
func (db *DB) RuledBuckets(ctx context.Context) (list []ledger.BucketRules, err error) {
	err = db.read(ctx, "buckets with lifecycle rules", func(t *tx) error {
		list, err = all(t, t.scanRules, listRules)
		return err
	})
	return list, err
}

func (t *tx) scanRules(r *sql.Rows) (out ledger.BucketRules, err error) {
	var text string
	var after sql.NullString
	var seen, changed, started sql.NullInt64
	if err = r.Scan(&out.Bucket, &text, &out.By, &after, &seen, &changed, &started, &out.Objects); err != nil {
		return out, err
	}
	if after.Valid {
		out.Reapplication = &ledger.Reapplication{After: after.String, Seen: seen.Int64, Changed: changed.Int64, StartedAt: lethe.Time(started.Int64)}
	}
	if out.Rules, err = t.db.rules.decode(text); err != nil {
		return out, fmt.Errorf("bucket %s: %w", out.Bucket, err)
	}
	return out, nil
}

// namedRules are the rules of a bucket known by its id; the name is empty if it was deleted.
type namedRules struct {
	name  string
	was   string // the name, present or former
	rules lifecycle.Rules
	holds int64

	owner, notify string
	evict         ledger.EvictOrder
}

// rulesByID returns the rules of buckets, which cannot change before the transaction ends.
func (t *tx) rulesByID(buckets []lethe.ID) (map[lethe.ID]namedRules, error) {
	return t.rulesOfBuckets(rulesOf, buckets)
}

func (t *tx) rulesOfBuckets(query string, buckets []lethe.ID) (map[lethe.ID]namedRules, error) {
	out := make(map[lethe.ID]namedRules, len(buckets))
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var id lethe.ID
		var b namedRules
		var text string
		if err = r.Scan(&id, &b.name, &b.was, &text, &b.holds, &b.owner, &b.notify, &b.evict); err == nil {
			b.rules, err = t.db.rules.decode(text)
		}
		out[id] = b
		return none, err
	}, query, sqldb.JSON(buckets))
	return out, err
}
