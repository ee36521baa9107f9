package ledgertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// foreseen returns all that is due by an instant, one a line, sorted.
func (w *world) foreseen(read func(ledger.DueQuery) (ledger.DuePage, error), by lethe.Time, limit int) string {
	w.Helper()
	var out []string
	for q := (ledger.DueQuery{By: by, All: true, Limit: limit}); ; {
		p := must(read(q))(w)
		for _, d := range p.Rows {
			line := fmt.Sprintf("%s by %s%s %s", cmp.Or(d.ObjectKey, d.Key), d.By, d.Rule, d.At)
			if d.Held {
				line += " held"
			}
			out = append(out, line)
		}
		if q = p.Continue(q); !p.More {
			break
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// dueLater: what will be due is found in the due index, among the deferred rows, and where
// rules are not applied yet; a rule that is gone ends nothing.
func dueLater(w *world) {
	w.rules(lifecycle.Rule{ID: "old", Prefix: "log", Days: 1})
	w.settleRules()
	w.put("log", "a")
	w.putTTL("soon", "b", time.Minute)
	w.putTTL("held", "c", time.Minute)
	w.putTTL("late", "d", 100*24*time.Hour)
	w.put("stays", "e")
	h := w.hold(ledger.HoldObject, "held")
	days := func(n int) lethe.Time { return w.now().Add(time.Duration(n) * 24 * time.Hour) }
	minute, day1, day2 := w.now().Add(time.Minute), w.midnight(1), w.midnight(2)
	check := func(what string, by lethe.Time, want string) {
		w.Helper()
		for limit := range 4 {
			equal(w, fmt.Sprintf("%s, pages of %d", what, limit), w.foreseen(w.dueObjects, by, limit), want)
		}
	}
	check("tomorrow's", days(3), fmt.Sprintf("held by ttl %s held; log by ruleold %s; soon by ttl %s", minute, day1, minute))
	w.later(time.Minute)
	must(w.Expire(w.ctx, ledger.Batch{}))(w)
	check("with a deferred row", days(0), fmt.Sprintf("held by ttl %s held", minute))
	w.rules(lifecycle.Rule{ID: "new", Prefix: "st", Days: 2})
	check("with rules that are not applied", days(4), fmt.Sprintf("held by ttl %s held; stays by rulenew %s", minute, day2))
	w.settleRules()
	check("with rules that are applied", days(4), fmt.Sprintf("held by ttl %s held; stays by rulenew %s", minute, day2))
	w.release(h)
	check("without the hold", days(0), fmt.Sprintf("held by ttl %s", minute))
	w.returnAll(10)
	check("once it was requeued", days(0), fmt.Sprintf("held by ttl %s", minute))
}

// settleRules applies the rules to every object.
func (w *world) settleRules() {
	w.Helper()
	for must(w.ReapplyRules(w.ctx, 10))(w).More {
	}
}

func trashLater(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Hour})
	for _, k := range []string{"a", "b", "c"} {
		w.put(k, "body "+k)
		w.remove(k)
	}
	w.hold(ledger.HoldObject, "b")
	read := func(q ledger.DueQuery) (ledger.DuePage, error) { return w.DueTrash(w.ctx, q) }
	at := w.now().Add(time.Hour)
	equal(w, "before it is due", w.foreseen(read, at, 1), fmt.Sprintf("a by undo %s; b by undo %s held; c by undo %s", at, at, at))
	equal(w, "earlier", w.foreseen(read, w.now().Add(time.Minute), 1), "")
	w.later(time.Hour)
	must(w.Purge(w.ctx, ledger.Batch{}))(w)
	for limit := range 3 {
		equal(w, fmt.Sprintf("with a deferred entry, pages of %d", limit), w.foreseen(read, w.now(), limit), fmt.Sprintf("b by undo %s held", at))
	}
}

// keptBacklogs: what a hold keeps is not scheduled; once it is due it counts as held until it is
// deferred, and then not at all. What only a rule ends that is not in force any more is not due.
func keptBacklogs(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Hour})
	w.rules(lifecycle.Rule{ID: "old", Prefix: "log", Days: 1})
	w.settleRules()
	w.put("log", "a")
	w.put("gone", "bb")
	w.remove("gone")
	w.put("undone", "c")
	w.remove("undone")
	w.putTTL("held", "ddd", time.Minute)
	w.putTTL("goes", "eeee", time.Minute)
	w.putTTL("later", "f", 100*24*time.Hour)
	w.putTTL("held later", "g", 99*24*time.Hour)
	minute, hour := w.now().Add(time.Minute), w.now().Add(time.Hour)
	w.hold(ledger.HoldPrefix, "held")
	w.hold(ledger.HoldObject, "gone")
	equal(w, "objects before they are due", must(w.ExpireBacklog(w.ctx))(w), ledger.Backlog{NextDue: minute, Scheduled: 3})
	equal(w, "trash before it is due", must(w.PurgeBacklog(w.ctx))(w), ledger.Backlog{NextDue: hour, Scheduled: 1})
	w.later(72 * time.Hour)
	w.rules(lifecycle.Rule{ID: "new", Prefix: "none", Days: 1})
	next := w.now().Add(97 * 24 * time.Hour)
	objects, trash := must(w.ExpireBacklog(w.ctx))(w), must(w.PurgeBacklog(w.ctx))(w)
	equal(w, "objects", objects, ledger.Backlog{Count: 1, Bytes: 4, Oldest: minute, NextDue: next, Scheduled: 1, Held: 1, HeldBytes: 3})
	equal(w, "trash", trash, ledger.Backlog{Count: 1, Bytes: 1, Oldest: hour, Held: 1, HeldBytes: 2})
	must(w.Expire(w.ctx, ledger.Batch{}))(w)
	must(w.Purge(w.ctx, ledger.Batch{}))(w)
	objects, trash = must(w.ExpireBacklog(w.ctx))(w), must(w.PurgeBacklog(w.ctx))(w)
	equal(w, "objects once they are deferred", objects, ledger.Backlog{NextDue: next, Scheduled: 1})
	equal(w, "trash once it is deferred", trash, ledger.Backlog{})
}

// reappliedBetweenPages: a reapplication that ends while pages are read doubles no row, and drops
// none. Pages of two revisions of the rules are not mixed, even if the new rules are applied
// already: what they end may lie before the place of the next page.
func reappliedBetweenPages(w *world) {
	w.bucket("second", ledger.BucketSettings{})
	set := func(bucket string, rules ...lifecycle.Rule) {
		must(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucket, Rules: rules, By: "operator"}))(w)
	}
	// read returns what pages of one row have, until one is refused; between is called after each.
	read := func(between func(page int)) (keys []string, err error) {
		for q, n := (ledger.DueQuery{All: true, Limit: 1}), 0; ; n++ {
			p, err := w.dueObjects(q)
			if err != nil {
				return nil, err
			}
			for _, d := range p.Rows {
				keys = append(keys, d.Key)
			}
			between(n)
			if q = p.Continue(q); !p.More {
				slices.Sort(keys)
				return keys, nil
			}
		}
	}
	for _, k := range []string{"a", "b", "c", "d"} {
		w.put(k, "body "+k)
	}
	w.putIn("second", "e", "body", 0)
	all := lifecycle.Rule{ID: "r", Days: 1}
	set(bucketName, all)
	set("second", all)
	w.settleRules()
	w.later(96 * time.Hour)
	for at := range 8 {
		more := lifecycle.Rule{ID: fmt.Sprint("more", at), Prefix: "none", Days: 1}
		set("second", all, more)
		keys, err := read(func(page int) {
			if page == at {
				w.settleRules()
			}
		})
		equal(w, fmt.Sprint("rules that are applied after page ", at), fmt.Sprint(keys, err), "[a b c d e] <nil>")
		w.settleRules()
	}
	for at := range 3 {
		set(bucketName, lifecycle.Rule{ID: "b", Prefix: "b", Days: 1}, lifecycle.Rule{ID: "d", Prefix: "d", Days: 2})
		w.settleRules()
		_, err := read(func(page int) {
			if page == at {
				set(bucketName, all)
				w.settleRules()
			}
		})
		w.fails(err, ledger.ErrRulesChanged)
		keys, err := read(func(int) {})
		equal(w, "begun again", fmt.Sprint(keys, err), "[a b c d e] <nil>")
	}
}
