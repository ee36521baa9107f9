package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

func usageTests() []test {
	return []test{
		{name: "objects to count", run: usedObjects},
		{name: "pages of objects", run: usedPages},
		{name: "trash to count", run: usedTrash},
		{name: "deferred trash", run: usedDeferred, options: func(o *ledger.Options) { o.Replicas = 2 }},
		{name: "records", run: usageRecords},
		{name: "records that are thinned", run: usageThinned},
		{name: "records of a deleted bucket", run: usageOfDeleted},
		{name: "records of a clock ahead", run: usageAhead},
	}
}

func (w *world) uses(q ledger.UsageQuery) string {
	w.Helper()
	now, list, err := w.UsageObjects(w.ctx, q)
	w.ok(err)
	equal(w, "time", now, w.now())
	return names(list, func(u ledger.ObjectUse) string {
		return fmt.Sprintf("%s %d %d %d %t", u.Key, u.Size, u.Refs, u.BlobBytes, u.Held)
	})
}

func usedObjects(w *world) {
	c := w.written("a/1", "shared")
	c.Object.Tags, c.TTL = map[string]string{"t": "v"}, time.Hour
	c.Object.Attrs.User = map[string]string{"long": "text"}
	first := w.commit(c).Object
	w.commit(w.reference("b", "shared"))
	w.put("empty", "")
	must(w.AddHold(w.ctx, ledger.Hold{Bucket: bucketName, Scope: ledger.HoldPrefix, Key: "a/"}))(w)
	w.later(2 * time.Hour) // a/1 is due, and not removed
	equal(w, "uses", w.uses(ledger.UsageQuery{Bucket: bucketName}), "a/1 6 2 6 true;b 6 2 6 false;empty 0 1 0 false;")
	_, list, err := w.UsageObjects(w.ctx, ledger.UsageQuery{Bucket: bucketName, Limit: 1})
	w.ok(err)
	first.ETag, first.Attrs = "", ledger.Attrs{}
	equal(w, "object", plain(list[0].Object), plain(first))
	rules := lifecycle.Rules{{ID: "r", Prefix: "b", Days: 1}}
	w.ok(rules.Complete())
	must(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucketName, Rules: rules}))(w)
	must(w.ReapplyRules(w.ctx, 10))(w)
	_, list, err = w.UsageObjects(w.ctx, ledger.UsageQuery{Bucket: bucketName, Prefix: "b"})
	w.ok(err)
	if list[0].RuleNumber == 0 || list[0].RuleAt == 0 {
		w.Fatalf("no stamp: %+v", list[0])
	}
	_, _, err = w.UsageObjects(w.ctx, ledger.UsageQuery{Bucket: "nowhere"})
	w.fails(err, lethe.ErrNoSuchBucket)
}

func usedPages(w *world) {
	for _, k := range []string{"a", "b/1", "b/2", "b0", "c"} {
		w.put(k, "x")
	}
	all := ""
	for after := ""; ; {
		_, list, err := w.UsageObjects(w.ctx, ledger.UsageQuery{Bucket: bucketName, AfterKey: after, Limit: 2})
		w.ok(err)
		for _, u := range list {
			all, after = all+u.Key+";", u.Key
		}
		if len(list) < 2 {
			break
		}
	}
	equal(w, "pages", all, "a;b/1;b/2;b0;c;")
	for _, q := range []struct{ prefix, after, want string }{
		{"b/", "", "b/1 1 5 1 false;b/2 1 5 1 false;"}, {"b/", "b/1", "b/2 1 5 1 false;"}, {"b/", "b/2", ""}, {"zz", "", ""}, {"c", "a", "c 1 5 1 false;"},
	} {
		equal(w, q.prefix+" after "+q.after, w.uses(ledger.UsageQuery{Bucket: bucketName, Prefix: q.prefix, AfterKey: q.after}), q.want)
	}
}

func (w *world) usesTrash(q ledger.UsageQuery) (list []ledger.TrashUse, text string) {
	w.Helper()
	q.Bucket = bucketName
	list = must(w.UsageTrash(w.ctx, q))(w)
	return list, names(list, func(u ledger.TrashUse) string {
		return fmt.Sprintf("%s %d %d %d %t %s", u.Key, u.Size, u.Refs, u.BlobBytes, u.Held, u.PurgeAt.Sub(w.now()))
	})
}

func usedTrash(w *world) {
	w.undo()
	for _, k := range []string{"b", "a", "b", "c"} {
		w.put(k, "body")
		w.remove(k)
		w.later(time.Minute)
	}
	must(w.AddHold(w.ctx, ledger.Hold{Bucket: bucketName, Scope: ledger.HoldObject, Key: "c"}))(w)
	list, text := w.usesTrash(ledger.UsageQuery{})
	equal(w, "trash", text, "a 4 4 4 false 57m0s;b 4 4 4 false 56m0s;b 4 4 4 false 58m0s;c 4 4 4 true 59m0s;")
	_, text = w.usesTrash(ledger.UsageQuery{AfterKey: "b", AfterEntry: list[1].ID, Limit: 1})
	equal(w, "page", text, "b 4 4 4 false 58m0s;")
	_, text = w.usesTrash(ledger.UsageQuery{Prefix: "c", AfterKey: "b", AfterEntry: list[2].ID})
	equal(w, "prefix", text, "c 4 4 4 true 59m0s;")
	w.fails(refused(w.UsageTrash(w.ctx, ledger.UsageQuery{Bucket: "nowhere"})), lethe.ErrNoSuchBucket)
	w.release(ledger.Hold{Bucket: bucketName, Scope: ledger.HoldObject, Key: "c"})
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	_, text = w.usesTrash(ledger.UsageQuery{Deleted: true})
	equal(w, "of a deleted bucket", text, "a 4 4 4 false 57m0s;b 4 4 4 false 56m0s;b 4 4 4 false 58m0s;c 4 4 4 false 59m0s;")
}

func usedDeferred(w *world) {
	w.undo()
	w.twice("k", "body")
	w.remove("k")
	must(w.AddHold(w.ctx, ledger.Hold{Bucket: bucketName, Scope: ledger.HoldObject, Key: "k"}))(w)
	w.later(2 * time.Hour)
	must(w.Purge(w.ctx, ledger.Batch{Limit: 10}))(w)
	_, text := w.usesTrash(ledger.UsageQuery{})
	equal(w, "trash", text, "k 4 1 8 true -1h0m0s;")
}

// counts saves a record, and returns those of the bucket, by what is asked.
func (w *world) counts(b ledger.Bucket, text string) {
	w.Helper()
	w.ok(w.SaveUsage(w.ctx, ledger.UsageRecord{Bucket: b.ID, TakenAt: w.now(), Brief: []byte("brief " + text), Document: []byte("whole " + text)}, 35*24*time.Hour))
}

func (w *world) record(at lethe.Time) string {
	w.Helper()
	return names(must(w.UsageRecords(w.ctx, ledger.UsageRecordQuery{UpTo: at, Document: true}))(w), func(r ledger.UsageRecord) string {
		return fmt.Sprintf("%s %s %s", r.Name, r.Brief, r.Document)
	})
}

func usageRecords(w *world) {
	equal(w, "none", w.record(lethe.Forever), "")
	b, other := must(w.Bucket(w.ctx, bucketName))(w), w.bucket("another", ledger.BucketSettings{})
	w.counts(b, "1")
	w.later(2 * time.Hour)
	w.counts(b, "2")
	w.counts(other, "3")
	equal(w, "newest", w.record(w.now()), "another brief 3 whole 3;bucket brief 2 whole 2;")
	equal(w, "before", w.record(w.now()-1), "another brief 3 whole 3;bucket brief 1 ;")
	list := must(w.UsageRecords(w.ctx, ledger.UsageRecordQuery{UpTo: 1, After: "another", Limit: 5}))(w)
	equal(w, "oldest", plain(list), plain([]ledger.UsageRecord{{Bucket: b.ID, Name: bucketName, TakenAt: w.now().Add(-2 * time.Hour), Brief: []byte("brief 1")}}))
	list = must(w.UsageRecords(w.ctx, ledger.UsageRecordQuery{UpTo: w.now(), Bucket: bucketName}))(w)
	equal(w, "of one bucket", plain(list), plain([]ledger.UsageRecord{{Bucket: b.ID, Name: bucketName, TakenAt: w.now(), Brief: []byte("brief 2")}}))
	equal(w, "limited", len(must(w.UsageRecords(w.ctx, ledger.UsageRecordQuery{UpTo: w.now(), Limit: 1}))(w)), 1)
	w.fails(w.SaveUsage(w.ctx, ledger.UsageRecord{Bucket: w.id(), TakenAt: w.now()}, time.Hour), lethe.ErrNoSuchBucket)
}

func usageThinned(w *world) {
	b, keep := must(w.Bucket(w.ctx, bucketName))(w), 3*24*time.Hour
	for range 5 * 24 * 3 { // every 20 minutes, for five days
		w.later(20 * time.Minute)
		w.ok(w.SaveUsage(w.ctx, ledger.UsageRecord{Bucket: b.ID, TakenAt: w.now()}, keep))
	}
	hours, days, last := 0, map[lethe.Time]bool{}, w.now()
	for at, seen := w.now(), lethe.Time(0); ; at = seen - 1 {
		r := must(w.UsageRecords(w.ctx, ledger.UsageRecordQuery{UpTo: at}))(w)[0]
		if r.TakenAt > at {
			break
		}
		if seen = r.TakenAt; last.Sub(seen) <= 24*time.Hour {
			hours++
		} else {
			days[seen/lethe.Time(24*time.Hour/time.Microsecond)] = true
		}
		if last.Sub(seen) > keep {
			w.Errorf("one of %s ago is kept", last.Sub(seen))
		}
	}
	// Of the last 24 hours two for each, the first and the last; of the two days before one each.
	equal(w, "hours", hours, 49)
	equal(w, "days", len(days), 2)
}

func usageOfDeleted(w *world) {
	b := w.bucket("short", ledger.BucketSettings{})
	w.counts(b, "1")
	w.ok(w.DeleteBucket(w.ctx, "short", ""))
	equal(w, "records", w.record(lethe.Forever), "")
	w.fails(w.SaveUsage(w.ctx, ledger.UsageRecord{Bucket: b.ID, TakenAt: w.now()}, time.Hour), lethe.ErrNoSuchBucket)
	w.bucket("short", ledger.BucketSettings{})
	equal(w, "records of the next one", w.record(lethe.Forever), "")
}

func usageAhead(w *world) {
	b := must(w.Bucket(w.ctx, bucketName))(w)
	r := ledger.UsageRecord{Bucket: b.ID, TakenAt: w.now().Add(300 * 24 * time.Hour), Brief: []byte("ahead")}
	w.ok(w.SaveUsage(w.ctx, r, time.Hour))
	w.counts(b, "now")
	equal(w, "records", w.record(lethe.Forever), "bucket brief now whole now;")
}

// usage saves a record of a bucket, maybe one that is gone.
func (h *history) usage() {
	b := pick(h, h.versions).BucketID
	r := ledger.UsageRecord{Bucket: b, TakenAt: h.clock.Now(), Brief: []byte(h.body()), Document: []byte(h.body())}
	ask(h, "save usage", func(l Ledger) (any, error) { return nil, l.SaveUsage(h.ctx, r, 3*time.Hour) })
	q := ledger.UsageRecordQuery{UpTo: h.clock.Now().Add(-time.Duration(h.number(3)) * time.Hour)}
	ask(h, "usage", func(l Ledger) ([]ledger.UsageRecord, error) { return l.UsageRecords(h.ctx, q) })
	u := ledger.UsageQuery{Bucket: h.bucketName(), AfterKey: h.key(), Limit: h.number(3)}
	ask(h, "use", func(l Ledger) ([]ledger.ObjectUse, error) {
		_, list, err := l.UsageObjects(h.ctx, u)
		return list, err
	})
}
