package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// setRules changes the rules of a bucket. It draws few rules, so that some stay the same,
// some recur, and some are due or soon will be.
func (h *history) setRules() {
	c := ledger.RulesChange{Bucket: h.bucketName(), By: h.one("s3", "s3", "s3", "operator", ledger.ByConfig)}
	for _, id := range []string{"one", "two"} {
		if h.chance(2) {
			c.Rules = append(c.Rules, h.rule(id))
		}
	}
	ask(h, fmt.Sprintf("set rules %+v", c), func(l Ledger) (ledger.BucketRules, error) { return l.SetRules(h.ctx, c) })
	ask(h, "rules of buckets", func(l Ledger) ([]ledger.BucketRules, error) { return l.RuledBuckets(h.ctx) })
}

// rule returns a rule that ends objects written now within a day, or never.
func (h *history) rule(id string) lifecycle.Rule {
	today := lethe.FromTime(newClock().Now().Time().Truncate(24 * time.Hour))
	r := lifecycle.Rule{ID: id, Prefix: h.one("", "a", "a/", "b"), Date: today, Disabled: h.chance(6)}
	switch h.number(5) {
	case 0:
		r.Tags = map[string]string{"t": h.one("x", "t", "o")}
	case 1:
		r.Date, r.Days = 0, 1
	case 2:
		r.Date = today.Add(24 * time.Hour)
	case 3:
		over := int64(h.number(8))
		r.Over = &over
	}
	if h.chance(3) {
		r.AbortDays = 1
	}
	return r
}

func (h *history) reapply() {
	limit := h.number(4)
	ask(h, "reapply backlog", func(l Ledger) (ledger.Backlog, error) { return l.ReapplyBacklog(h.ctx) })
	ask(h, fmt.Sprint("reapply ", limit), func(l Ledger) (ledger.Reapplied, error) { return l.ReapplyRules(h.ctx, limit) })
}

func (h *history) ruledUploads() {
	q := ledger.OverdueQuery{Limit: 2, Held: h.chance(2)}
	list, _ := ask(h, "uploads that rules give up", func(l Ledger) ([]ledger.OverdueUpload, error) { return l.RuledUploads(h.ctx, q) })
	for _, u := range list {
		ask(h, "give up "+string(u.Upload.ID), func(l Ledger) (string, error) { return l.AbortRuled(h.ctx, u.Upload.ID) })
	}
}
