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

// keptBacklogs: what a hold keeps counts as held until it is deferred, and then not at all; what
// only a rule ends that is not in force any more is not due.
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
	minute, hour := w.now().Add(time.Minute), w.now().Add(time.Hour)
	w.hold(ledger.HoldPrefix, "held")
	w.hold(ledger.HoldObject, "gone")
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

// reappliedBetweenPages: a reapplication that begins, ends or does both while pages are read
// doubles no row, and drops none.
func reappliedBetweenPages(w *world) {
	w.bucket("second", ledger.BucketSettings{})
	set := func(bucket string, more ...lifecycle.Rule) {
		rules := append(lifecycle.Rules{{ID: "r", Days: 1}}, more...)
		must(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucket, Rules: rules, By: "operator"}))(w)
	}
	for _, k := range []string{"a", "b", "c", "d"} {
		w.put(k, "body "+k)
	}
	w.putIn("second", "e", "body", 0)
	set(bucketName)
	set("second")
	w.settleRules()
	w.later(96 * time.Hour)
	for at := range 8 {
		set("second", lifecycle.Rule{ID: fmt.Sprint("more", at), Prefix: "none", Days: 1})
		var keys []string
		for q, n := (ledger.DueQuery{All: true, Limit: 1}), 0; ; n++ {
			p := must(w.dueObjects(q))(w)
			for _, d := range p.Rows {
				keys = append(keys, d.Key)
			}
			switch n {
			case at:
				set(bucketName, lifecycle.Rule{ID: fmt.Sprint("more", at), Prefix: "none", Days: 1})
			case at + 2:
				w.settleRules()
			}
			if q = p.Continue(q); !p.More {
				break
			}
		}
		w.settleRules()
		slices.Sort(keys)
		equal(w, fmt.Sprint("rules that change after page ", at), fmt.Sprint(keys), "[a b c d e]")
	}
}
