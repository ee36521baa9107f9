package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// ruled is the lifecycle rules of a bucket and their progress.
type ruled struct {
	rules   lifecycle.Rules
	by      string
	last    int64                 // highest number given
	reapply *ledger.Reapplication // nil: these rules are applied to every object
	orders  bool                  // that also puts the objects in another order of eviction
}

// stamp sets the end that rules give an object, which must be in no index.
func (o *object) stamp(rs lifecycle.Rules) {
	o.ApplyRules(rs)
	o.Rule = ""
}

// SetRules replaces a bucket's lifecycle rules: ErrNoSuchBucket,
// ledger.ErrRulesConfigured.
func (db *DB) SetRules(ctx context.Context, c ledger.RulesChange) (ledger.BucketRules, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.BucketRules{}, err
	}
	defer db.mu.Unlock()
	b, err := db.find(c.Bucket)
	if err == nil {
		err = b.meant(c.Into)
	}
	if err != nil {
		return ledger.BucketRules{}, err
	}
	if b.by == ledger.ByConfig && c.By != ledger.ByConfig {
		return ledger.BucketRules{}, fmt.Errorf("memledger: set rules of %s: %w", c.Bucket, ledger.ErrRulesConfigured)
	}
	if c.Seen != "" && c.Seen != b.rules.Digest() {
		return ledger.BucketRules{}, fmt.Errorf("memledger: the rules of bucket %s have changed: %w", c.Bucket, lethe.ErrPreconditionFailed)
	}
	old := b.rules
	b.rules, b.last = c.Rules.Succeed(old, b.last)
	if b.by = c.By; len(b.rules) == 0 {
		b.by = ""
	}
	if !b.rules.SameEnds(old) {
		b.reapply, b.kept = &ledger.Reapplication{StartedAt: db.now}, ledger.UseMark{}
		db.rulesRevision++
	}
	return b.outRules(), nil
}

func (b *bucket) outRules() ledger.BucketRules {
	out := ledger.BucketRules{Bucket: b.Name, Rules: slices.Clone(b.rules), By: b.by, Objects: b.Objects}
	if b.reapply != nil {
		r := *b.reapply
		out.Reapplication = &r
	}
	return out
}

// Rules returns a bucket's lifecycle rules: ErrNoSuchBucket.
func (db *DB) Rules(ctx context.Context, bucket string) (ledger.BucketRules, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.BucketRules{}, err
	}
	defer db.mu.Unlock()
	b, err := db.find(bucket)
	if err != nil {
		return ledger.BucketRules{}, err
	}
	return b.outRules(), nil
}

// RuledBuckets lists by name the buckets that have rules, or whose objects still carry
// former ones.
func (db *DB) RuledBuckets(ctx context.Context) ([]ledger.BucketRules, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.BucketRules
	for _, b := range db.names.rows {
		if len(b.rules) > 0 || b.reapply != nil {
			out = append(out, b.outRules())
		}
	}
	return out, nil
}

// ReapplyRules reapplies the current rules to up to limit objects of one bucket.
func (db *DB) ReapplyRules(ctx context.Context, limit int) (ledger.Reapplied, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Reapplied{}, err
	}
	defer db.mu.Unlock()
	var left []*bucket
	for _, b := range db.buckets.rows {
		if b.reapply != nil {
			left = append(left, b)
		}
	}
	if len(left) == 0 {
		return ledger.Reapplied{}, nil
	}
	return db.reapplyBucket(left[0], cmp.Or(max(limit, 0), 1000), len(left) > 1), nil
}

func (db *DB) reapplyBucket(b *bucket, limit int, others bool) ledger.Reapplied {
	rows := first(b.objects.from(func(o *object) bool { return o.Key > b.reapply.After }), limit)
	out := ledger.Reapplied{Bucket: b.Name, Seen: len(rows), Done: len(rows) < limit}
	var changed []*object
	for _, o := range rows {
		if b.Evict.On() && (o.UsedAt == 0 || b.Evict.Order == ledger.EvictByWrite && o.IdleFor == 0) {
			o.UsedAt = o.ModifiedAt
		}
		if next := o.Object; next.Restamped(b.rules) {
			changed = append(changed, o)
		}
	}
	out.Changed, out.More = len(changed), !out.Done || others
	if out.Done {
		b.reapply, b.orders = nil, false
	} else {
		b.reapply.After = rows[len(rows)-1].Key
		b.reapply.Seen += int64(out.Seen)
		b.reapply.Changed += int64(out.Changed)
	}
	db.reapplyRows(changed)
	return out
}

// reapplyRows reapplies the rules to objects, and reports whether some are due.
func (db *DB) reapplyRows(list []*object) (due bool) {
	for _, o := range list {
		b := o.bucket
		db.take(o)
		o.stamp(b.rules)
		db.add(b, o)
		due = due || o.DueAt() != 0 && o.DueAt() <= db.now
	}
	return due
}

// ReapplyBacklog counts the objects that may carry older rules.
func (db *DB) ReapplyBacklog(ctx context.Context) (ledger.Backlog, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Backlog{}, err
	}
	defer db.mu.Unlock()
	var out ledger.Backlog
	for _, b := range db.buckets.rows {
		if r := b.reapply; r != nil {
			out.Count += max(b.Objects-r.Seen, 1)
			if out.Oldest == 0 || r.StartedAt < out.Oldest {
				out.Oldest = r.StartedAt
			}
		}
	}
	return out, nil
}

// byRule reports whether only a rule ends a due object.
func (o *object) byRule(now lethe.Time) bool {
	return o.RuleNumber != 0 && !o.EndsItself(now)
}

// reason returns why a due object goes.
func (o *object) reason(now lethe.Time) lethe.Reason {
	if o.endedBy(now) != nil {
		return lethe.ReasonLifecycle
	}
	return o.EndReason(now)
}

// endedBy returns the rule that ends a due object, nil if it has ended by itself.
func (o *object) endedBy(now lethe.Time) *lifecycle.Rule {
	if !o.byRule(now) {
		return nil
	}
	return o.bucket.rules.InForce(o.RuleNumber)
}

// sift separates due rows from those due only by a rule no longer in force.
func (db *DB) sift(rows []*object) (kept, stale []*object) {
	for _, o := range rows {
		if o.byRule(db.now) && o.bucket.rules.InForce(o.RuleNumber) == nil {
			stale = append(stale, o)
		} else {
			kept = append(kept, o)
		}
	}
	return kept, stale
}

// endedByRules counts what rules end, by bucket and rule.
func endedByRules(rows []*object, now lethe.Time) (out []ledger.RuleLoss) {
	for _, o := range rows {
		r := o.endedBy(now)
		if r == nil {
			continue
		}
		i := slices.IndexFunc(out, func(l ledger.RuleLoss) bool { return l.Bucket == o.bucket.Name && l.Rule == r.ID })
		if i < 0 {
			i, out = len(out), append(out, ledger.RuleLoss{Bucket: o.bucket.Name, Rule: r.ID})
		}
		out[i].Objects++
		out[i].Bytes += o.Size
	}
	slices.SortFunc(out, func(a, b ledger.RuleLoss) int {
		return cmp.Or(strings.Compare(a.Bucket, b.Bucket), strings.Compare(a.Rule, b.Rule))
	})
	return out
}
