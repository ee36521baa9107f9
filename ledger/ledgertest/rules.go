package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

func ruleTests() []test {
	return []test{
		{name: "an object is stamped when it is written", run: rulesStamp},
		{name: "a client's time to live is apart", run: rulesBesideTTL},
		{name: "a retagged object is stamped anew", run: rulesRetag},
		{name: "a completed and a restored object are stamped", run: rulesComplete},
		{name: "a rule ends what it stamped, and says so", run: rulesExpire},
		{name: "a removed rule stops at once", run: rulesRemoved},
		{name: "a disabled rule stops at once", run: rulesDisabled},
		{name: "what another rule ends goes by that rule", run: rulesOther},
		{name: "stale stamps do not hold up a batch", run: rulesBatch},
		{name: "unchanged rules go on", run: rulesUnchanged},
		{name: "an added rule acts as objects are reapplied", run: rulesReapply},
		{name: "reapplying goes on where it was", run: rulesResume},
		{name: "the trash keeps what a rule would have ended", run: rulesTrash},
		{name: "the configuration's rules are its own", run: rulesConfigured},
		{name: "rules that were seen are replaced, others are not", run: rulesSeen},
		{name: "incomplete uploads", run: rulesUploads},
		{name: "a deleted bucket takes its rules along", run: rulesBucketDeleted},
	}
}

// temporary returns a rule that ends objects under tmp/ after some days.
func temporary(days int) lifecycle.Rule {
	return lifecycle.Rule{ID: "temporary", Prefix: "tmp/", Days: days}
}

func (w *world) rules(rs ...lifecycle.Rule) ledger.BucketRules {
	w.Helper()
	return must(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucketName, Rules: rs, By: "operator"}))(w)
}

// midnight returns the end of an object modified now, after some days.
func (w *world) midnight(days int) lethe.Time {
	at := w.now().Time().Add(time.Duration(days) * 24 * time.Hour)
	return lethe.FromTime(at.Truncate(24 * time.Hour).Add(24 * time.Hour))
}

// reapply reapplies all rules and returns how many ends changed.
func (w *world) reapply(limit int) (changed int) {
	w.Helper()
	for {
		r := must(w.ReapplyRules(w.ctx, limit))(w)
		if changed += r.Changed; !r.More {
			return changed
		}
	}
}

// endedBy checks when the object under a key ends, and by which rule.
func (w *world) endedBy(key string, rule string, at lethe.Time) {
	w.Helper()
	if o := w.get(key).Object; o.Rule != rule || o.RuleAt != at || (o.RuleNumber == 0) != (rule == "") {
		w.Fatalf("%s is ended by %q (number %d) at %s, want %q at %s", key, o.Rule, o.RuleNumber, o.RuleAt, rule, at)
	}
}

func (w *world) expire() ledger.Reclaimed {
	w.Helper()
	return must(w.Expire(w.ctx, ledger.Batch{}))(w)
}

func rulesStamp(w *world) {
	w.rules(temporary(3), lifecycle.Rule{ID: "tagged", Prefix: "t", Tags: map[string]string{"k": "v"}, Days: 1})
	end := w.midnight(3)
	if o := w.put("tmp/a", "a"); o.Rule != "temporary" || o.RuleAt != end {
		w.Fatalf("a put answers %q at %s", o.Rule, o.RuleAt)
	}
	w.endedBy("tmp/a", "temporary", end)
	w.put("other", "b")
	w.endedBy("other", "", 0)
	c := w.written("tmp/tagged", "c")
	c.Object.Tags = map[string]string{"k": "v"}
	if again := w.commit(c).Object; again.Rule != "tagged" || again.RuleAt != w.midnight(1) {
		w.Fatalf("a tagged object is ended by %q", again.Rule)
	}
	if again := w.commit(c).Object; again.Rule != "tagged" {
		w.Fatalf("the same commit again answers rule %q", again.Rule)
	}
	backlog := must(w.ExpireBacklog(w.ctx))(w)
	equal(w, "next due", backlog.NextDue, w.midnight(1))
}

func rulesBesideTTL(w *world) {
	w.rules(temporary(3))
	end, ttl := w.midnight(3), w.now().Add(time.Minute)
	o := w.putTTL("tmp/a", "a", time.Minute)
	equal(w, "time to live", o.TTLAt, ttl)
	equal(w, "rule", o.RuleAt, end)
	w.rules()
	w.reapply(0)
	w.endedBy("tmp/a", "", 0)
	equal(w, "time to live", w.get("tmp/a").Object.TTLAt, ttl)
	w.rules(temporary(1))
	w.reapply(0)
	equal(w, "time to live", w.get("tmp/a").Object.TTLAt, ttl)
	w.endedBy("tmp/a", "temporary", w.midnight(1))
	w.later(time.Minute)
	r := w.expire()
	if r.Objects != 1 || len(r.Rules) != 0 {
		w.Fatalf("expired %+v, want one by its time to live", r)
	}
}

func rulesRetag(w *world) {
	w.rules(lifecycle.Rule{ID: "tagged", Tags: map[string]string{"k": "v"}, Days: 1})
	w.put("a", "a")
	end := w.midnight(1)
	w.later(48 * time.Hour)
	set := func(tags map[string]string) ledger.Object {
		return must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "a", Tags: &tags}))(w)
	}
	equal(w, "rule", set(map[string]string{"k": "v"}).Rule, "tagged")
	w.endedBy("a", "tagged", end) // counted from its modification
	set(nil)
	w.endedBy("a", "", 0)
	equal(w, "expired", w.expire().Objects, 0)
	set(map[string]string{"k": "v"})
	equal(w, "expired", w.expire().Objects, 1)
}

func rulesComplete(w *world) {
	w.rules(lifecycle.Rule{ID: "all", Tags: nil, Prefix: "b", Days: 2})
	w.configure(ledger.BucketSettings{Undo: 24 * time.Hour})
	w.completeOnto("big")
	w.endedBy("big", "all", w.midnight(2))
	w.remove("big")
	w.rules()
	e := must(w.Trash(w.ctx, ledger.TrashQuery{}))(w)[0]
	w.reapply(0)
	w.rules(lifecycle.Rule{ID: "other", Prefix: "b", Days: 5})
	o := must(w.Restore(w.ctx, w.id(), e.ID, false))(w)
	equal(w, "rule of the restored object", o.Rule, "other")
	w.endedBy("big", "other", w.midnight(5))
}

func rulesExpire(w *world) {
	w.rules(temporary(1), lifecycle.Rule{ID: "logs", Prefix: "logs/", Days: 1})
	w.put("tmp/a", "a")
	w.put("tmp/b", "bb")
	w.put("logs/c", "ccc")
	w.put("stays", "dddd")
	id, end := w.onlyBlob("tmp/a").ID, w.midnight(1)
	w.later(end.Sub(w.now()) - time.Microsecond)
	equal(w, "expired before its time", w.expire().Objects, 0)
	w.later(time.Microsecond)
	r := w.expire()
	if r.Objects != 3 || r.Bytes != 6 || fmt.Sprint(r.Rules) != "[{bucket logs 1 3} {bucket temporary 2 3}]" {
		w.Fatalf("expired %+v", r)
	}
	w.condemned(id, lethe.ReasonLifecycle, w.now().Add(readGrace))
	equal(w, "died", w.row(id).DiedAt, end)
	w.absent("tmp/a")
	w.get("stays")
}

// due writes an object that a rule ends, and advances to its end.
func (w *world) due(key string) {
	w.Helper()
	w.rules(temporary(1))
	w.put(key, "body")
	w.later(72 * time.Hour)
}

func rulesRemoved(w *world) {
	w.due("tmp/a")
	w.rules()
	w.endedBy("tmp/a", "", 0)
	r := w.expire()
	if r.Objects != 0 || r.Reapplied != 1 || r.More {
		w.Fatalf("expired %+v, though the rule is gone", r)
	}
	w.get("tmp/a")
	equal(w, "backlog", must(w.ExpireBacklog(w.ctx))(w), ledger.Backlog{})
	equal(w, "expired once more", w.expire().Reapplied, 0)
}

func rulesDisabled(w *world) {
	w.due("tmp/a")
	off := temporary(1)
	off.Disabled = true
	w.rules(off)
	equal(w, "expired", w.expire().Objects, 0)
	w.get("tmp/a")
	w.rules(temporary(1))
	w.reapply(0)
	equal(w, "expired", w.expire().Objects, 1)
}

// rulesOther: an object under a changed rule ends by the rule's successor.
func rulesOther(w *world) {
	w.due("tmp/a")
	w.rules(temporary(2))
	r := w.expire()
	if r.Objects != 0 || r.Reapplied != 1 || !r.More {
		w.Fatalf("expired %+v, want one stamped anew and due again", r)
	}
	w.rules(temporary(2), lifecycle.Rule{ID: "another", Prefix: "x", Days: 1})
	equal(w, "expired", w.expire().Objects, 1)
	w.due("tmp/b")
	w.rules(temporary(30))
	equal(w, "expired", w.expire().Objects, 0)
	w.later(31 * 24 * time.Hour)
	equal(w, "expired", w.expire().Objects, 1)
}

func rulesBatch(w *world) {
	w.rules(temporary(1))
	for i := range 7 {
		w.put(fmt.Sprint("tmp/", i), fmt.Sprint("body", i))
	}
	w.putTTL("mortal", "x", time.Hour)
	w.later(72 * time.Hour)
	w.rules(lifecycle.Rule{ID: "new", Prefix: "tmp/6", Days: 1})
	b, objects, reapplied := ledger.Batch{Limit: 2}, 0, 0
	for range 20 {
		r := must(w.Expire(w.ctx, b))(w)
		objects, reapplied, b.After = objects+r.Objects, reapplied+r.Reapplied, r.LastDue
		if !r.More {
			break
		}
	}
	equal(w, "expired", objects, 2)
	equal(w, "stamped anew", reapplied, 7)
	equal(w, "left", len(must(w.List(w.ctx, ledger.ListQuery{Bucket: bucketName, Limit: 100}))(w).Objects), 6)
}

func rulesUnchanged(w *world) {
	w.due("tmp/a")
	before := must(w.Rules(w.ctx, bucketName))(w)
	after := w.rules(lifecycle.Rule{ID: "more", Prefix: "x", Days: 9}, temporary(1))
	equal(w, "number", after.Rules[1].Number, before.Rules[0].Number)
	r := w.expire()
	if r.Objects != 1 || r.Reapplied != 0 {
		w.Fatalf("expired %+v: a rule that stayed the same did not go on", r)
	}
}

func rulesReapply(w *world) {
	w.put("tmp/a", "a")
	w.put("b", "b")
	end := w.midnight(1)
	w.later(72 * time.Hour)
	set := w.rules(temporary(1))
	if set.Reapplication == nil || set.Objects != 2 || set.By != "operator" {
		w.Fatalf("rules are %+v, want objects to be stamped anew", set)
	}
	equal(w, "backlog", must(w.ReapplyBacklog(w.ctx))(w), ledger.Backlog{Count: 2, Oldest: w.now()})
	w.endedBy("tmp/a", "", 0)
	r := must(w.ReapplyRules(w.ctx, 10))(w)
	equal(w, "reapplied", r, ledger.Reapplied{Bucket: bucketName, Seen: 2, Changed: 1, Done: true})
	w.endedBy("tmp/a", "temporary", end)
	equal(w, "backlog", must(w.ReapplyBacklog(w.ctx))(w), ledger.Backlog{})
	w.unchanged(func() { equal(w, "reapplied", must(w.ReapplyRules(w.ctx, 10))(w), ledger.Reapplied{}) })
	if same := w.rules(temporary(1)); same.Reapplication != nil {
		w.Fatal("the same rules again have objects stamped anew")
	}
	equal(w, "expired", w.expire().Objects, 1)
}

func rulesResume(w *world) {
	for i := range 5 {
		w.put(fmt.Sprint("tmp/", i), "x")
	}
	w.rules(temporary(1))
	equal(w, "reapplied", must(w.ReapplyRules(w.ctx, 2))(w), ledger.Reapplied{Bucket: bucketName, Seen: 2, Changed: 2, More: true})
	progress := must(w.Rules(w.ctx, bucketName))(w).Reapplication
	if progress == nil || progress.After != "tmp/1" || progress.Seen != 2 || progress.Changed != 2 {
		w.Fatalf("progress is %+v", progress)
	}
	w.put("tmp/0", "written behind the walk")
	w.endedBy("tmp/0", "temporary", w.midnight(1))
	w.rules(temporary(2)) // starts again
	equal(w, "changed", w.reapply(2), 5)
	for i := range 5 {
		w.endedBy(fmt.Sprint("tmp/", i), "temporary", w.midnight(2))
	}
}

func rulesTrash(w *world) {
	w.configure(ledger.BucketSettings{Undo: 30 * 24 * time.Hour})
	w.rules(temporary(1))
	w.put("tmp/a", "a")
	w.later(72 * time.Hour)
	w.remove("tmp/a")
	e := must(w.Trash(w.ctx, ledger.TrashQuery{}))(w)[0]
	equal(w, "purged at", e.PurgeAt, w.now().Add(30*24*time.Hour))
}

func rulesConfigured(w *world) {
	set := func(by string, rs ...lifecycle.Rule) error {
		return refused(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucketName, Rules: rs, By: by}))
	}
	w.ok(set(ledger.ByConfig, temporary(1)))
	for _, by := range []string{"s3", "operator"} {
		if err := set(by); !errors.Is(err, ledger.ErrRulesConfigured) {
			w.Fatalf("rules of the configuration were changed by %s: %v", by, err)
		}
	}
	w.ok(set(ledger.ByConfig))
	w.ok(set("s3", temporary(2)))
	equal(w, "set by", must(w.Rules(w.ctx, bucketName))(w).By, "s3")
	w.fails(refused(w.SetRules(w.ctx, ledger.RulesChange{Bucket: "nowhere"})), lethe.ErrNoSuchBucket)
	w.fails(refused(w.Rules(w.ctx, "nowhere")), lethe.ErrNoSuchBucket)
	equal(w, "buckets with rules", len(must(w.RuledBuckets(w.ctx))(w)), 1)
}

func rulesUploads(w *world) {
	w.rules(lifecycle.Rule{ID: "uploads", Prefix: "tmp/", AbortDays: 1})
	u := must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "tmp/a", Owner: owner}))(w)
	other := must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "b", Owner: owner}))(w)
	end := w.midnight(1)
	w.later(end.Sub(w.now()) - time.Microsecond)
	w.part(u, 1, "a part puts nothing off")
	equal(w, "given up", len(must(w.RuledUploads(w.ctx, ledger.OverdueQuery{}))(w)), 0)
	w.fails(refused(w.AbortRuled(w.ctx, u.ID)), lethe.ErrNoSuchUpload)
	w.later(time.Microsecond)
	list := must(w.RuledUploads(w.ctx, ledger.OverdueQuery{Limit: 10}))(w)
	if len(list) != 1 || list[0].Upload.ID != u.ID || list[0].Rule != "uploads" || list[0].At != end {
		w.Fatalf("given up: %+v", list)
	}
	w.rules(lifecycle.Rule{ID: "uploads", Prefix: "tmp/", AbortDays: 9})
	w.fails(refused(w.AbortRuled(w.ctx, u.ID)), lethe.ErrNoSuchUpload)
	w.rules(lifecycle.Rule{ID: "again", AbortDays: 1})
	equal(w, "given up", len(must(w.RuledUploads(w.ctx, ledger.OverdueQuery{}))(w)), 2)
	equal(w, "given up", len(must(w.RuledUploads(w.ctx, ledger.OverdueQuery{Limit: 1}))(w)), 1)
	equal(w, "rule", must(w.AbortRuled(w.ctx, other.ID))(w), "again")
	w.fails(refused(w.UploadByID(w.ctx, other.ID)), lethe.ErrNoSuchUpload)
}

func rulesBucketDeleted(w *world) {
	w.rules(temporary(1))
	w.putTTL("tmp/a", "a", time.Minute)
	w.rules(temporary(2))
	w.later(72 * time.Hour)
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	equal(w, "reapplied", must(w.ReapplyRules(w.ctx, 10))(w), ledger.Reapplied{})
	equal(w, "expired", w.expire().Objects, 1)
	b := w.bucket(bucketName, ledger.BucketSettings{})
	if r := must(w.Rules(w.ctx, b.Name))(w); len(r.Rules) != 0 {
		w.Fatalf("a new bucket has the rules %+v of the one that had its name", r)
	}
}
