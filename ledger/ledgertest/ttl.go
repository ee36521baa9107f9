package ledgertest

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

func ttlTests() []test {
	return []test{
		{name: "the instant", run: ttlInstant},
		{name: "by bucket and wish", run: ttlTable},
		{name: "by access key", run: ttlByKey},
		{name: "by the key that completes an upload", run: ttlOfCompletion},
		{name: "a rule does not hide", run: ruleVisible},
		{name: "update", run: updateTTL},
		{name: "update in place", run: updateObject},
		{name: "update refused", run: updateRefused},
	}
}

// ttlInstant: an object is invisible from its instant on, not after it.
func ttlInstant(w *world) {
	w.putTTL("k", "body", time.Minute)
	w.later(time.Minute - time.Microsecond)
	w.get("k")
	w.later(time.Microsecond)
	w.absent("k")
	equal(w, "listed", len(must(w.List(w.ctx, ledger.ListQuery{Bucket: bucketName, Limit: 9}))(w).Objects), 0)
	equal(w, "existed", w.remove("k").Items[0].Existed, false)
	w.totals(0, 1, 0, 0)
}

func ttlTable(w *world) {
	const none = -1
	for _, c := range []struct {
		name           string
		byDefault, max time.Duration
		ttl, at        time.Duration // the requested time; at counts from now
		want           time.Duration // 0: never; none: refused
	}{
		{"no wish", 0, 0, 0, 0, 0},
		{"default", time.Hour, 0, 0, 0, time.Hour},
		{"default within the longest", time.Hour, 2 * time.Hour, 0, 0, time.Hour},
		{"default beyond the longest", 2 * time.Hour, time.Hour, 0, 0, time.Hour},
		{"longest without a default", 0, time.Hour, 0, 0, time.Hour},
		{"relative", time.Hour, 0, time.Minute, 0, time.Minute},
		{"absolute", time.Hour, 0, 0, time.Minute, time.Minute},
		{"relative before absolute", 0, 0, time.Minute, time.Hour, time.Minute},
		{"as long as allowed", 0, time.Hour, time.Hour, 0, time.Hour},
		{"absolute, as long as allowed", 0, time.Hour, 0, time.Hour, time.Hour},
		{"too long", 0, time.Hour, time.Hour + time.Microsecond, 0, none},
		{"absolute, too long", 0, time.Hour, 0, time.Hour + time.Microsecond, none},
		{"negative", 0, 0, -1, 0, none},
	} {
		w.Log(c.name)
		w.configure(ledger.BucketSettings{DefaultTTL: c.byDefault, MaxTTL: c.max})
		put := w.reference("k", "")
		put.TTL = c.ttl
		u := ledger.Upload{Bucket: bucketName, Key: "u", TTL: c.ttl}
		if c.at != 0 {
			put.Object.TTLAt = w.now().Add(c.at)
			u.TTLAt = put.Object.TTLAt
		}
		if c.want == none {
			w.unchanged(func() {
				w.fails(refused(w.Commit(w.ctx, put)), lethe.ErrInvalidTTL)
				w.fails(refused(w.CreateUpload(w.ctx, u)), lethe.ErrInvalidTTL)
			})
			continue
		}
		o := w.commit(put).Object
		w.ends(o, c.want)
		w.ends(w.get("k").Object, c.want)
	}
}

// ttlByKey: of the bucket's and the key's default and longest life the shorter counts, and
// the object has the key that its end comes from, until another end is set.
func ttlByKey(w *world) {
	const none = -1
	day, hour, minute := 24*time.Hour, time.Hour, time.Minute
	for _, c := range []struct {
		name   string
		bucket ledger.BucketSettings
		key    ledger.KeyTTL
		ttl    time.Duration // the requested time
		want   time.Duration // 0: never; none: refused
		given  bool          // by the key
	}{
		{"default", ledger.BucketSettings{}, ledger.KeyTTL{Default: hour}, 0, hour, true},
		{"shorter default", ledger.BucketSettings{DefaultTTL: day}, ledger.KeyTTL{Default: hour}, 0, hour, true},
		{"longer default", ledger.BucketSettings{DefaultTTL: minute}, ledger.KeyTTL{Default: hour}, 0, minute, false},
		{"equal default", ledger.BucketSettings{DefaultTTL: hour}, ledger.KeyTTL{Default: hour}, 0, hour, false},
		{"a wish", ledger.BucketSettings{}, ledger.KeyTTL{Default: hour}, day, day, false},
		{"longest without a default", ledger.BucketSettings{}, ledger.KeyTTL{Max: hour}, 0, hour, true},
		{"longest below the bucket's default", ledger.BucketSettings{DefaultTTL: day}, ledger.KeyTTL{Max: hour}, 0, hour, true},
		{"a wish within", ledger.BucketSettings{MaxTTL: day}, ledger.KeyTTL{Max: hour}, hour, hour, false},
		{"a wish beyond", ledger.BucketSettings{MaxTTL: day}, ledger.KeyTTL{Max: hour}, hour + 1000, none, false},
		{"a wish beyond the bucket's", ledger.BucketSettings{MaxTTL: hour}, ledger.KeyTTL{Max: day}, hour + 1000, none, false},
	} {
		w.Log(c.name)
		w.configure(c.bucket)
		c.key.Key = "ci"
		put := w.reference("k", "")
		put.TTL, put.ByKey = c.ttl, c.key
		u := ledger.Upload{Bucket: bucketName, Key: "u", TTL: c.ttl, ByKey: c.key}
		if c.want == none {
			w.unchanged(func() {
				w.fails(refused(w.Commit(w.ctx, put)), lethe.ErrInvalidTTL)
				w.fails(refused(w.CreateUpload(w.ctx, u)), lethe.ErrInvalidTTL)
			})
			continue
		}
		w.ends(w.commit(put).Object, c.want)
		o := w.get("k").Object
		w.ends(o, c.want)
		equal(w, "given by the key", o.Attrs.EndKey == "ci", c.given)
		if c.ttl == 0 {
			again := must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", Attrs: &ledger.Attrs{}, TTL: &ledger.TTLChange{ByKey: c.key, AsNew: true}}))(w)
			w.ends(again, c.want)
			equal(w, "given by the key", again.Attrs.EndKey, o.Attrs.EndKey)
		}
		retagged := must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", Attrs: &ledger.Attrs{}}))(w)
		equal(w, "given by the key", retagged.Attrs.EndKey == "ci", c.given)
		set := must(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", TTL: &ledger.TTLChange{TTL: minute}}))(w)
		equal(w, "given by the key", set.Attrs.EndKey, "")
	}
}

// ttlOfCompletion: the key that completes an upload counts, not the one that opened it.
func ttlOfCompletion(w *world) {
	short := ledger.KeyTTL{Key: "ci", Max: time.Hour}
	u := must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "u", TTL: 2 * time.Hour, ByKey: ledger.KeyTTL{Key: "other", Max: 2 * time.Hour}}))(w)
	part := w.part(u, 1, "bytes")
	c := w.completion(u, "etag", part)
	c.Commit.ByKey = short
	w.unchanged(func() { w.fails(refused(w.Complete(w.ctx, c)), lethe.ErrInvalidTTL) })
	u = must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "u"}))(w)
	part = w.part(u, 1, "bytes")
	c = w.completion(u, "etag", part)
	c.Commit.ByKey = short
	o := must(w.Complete(w.ctx, c))(w).Object
	w.ends(o, time.Hour)
	equal(w, "given by", o.Attrs.EndKey, "ci")
}

// ends checks when an object ends, from now.
func (w *world) ends(o ledger.Object, want time.Duration) {
	w.Helper()
	at := lethe.Time(0)
	if want != 0 {
		at = w.now().Add(want)
	}
	equal(w, "end", o.TTLAt, at)
}

// ruleVisible: at a lifecycle rule's instant an object becomes due, and stays visible until
// it is reclaimed.
func ruleVisible(w *world) {
	w.rules(lifecycle.Rule{ID: "day", Prefix: "k", Days: 1})
	w.putTTL("k", "body", 90*24*time.Hour)
	w.later(w.midnight(1).Sub(w.now()))
	w.get("k")
	b := must(w.ExpireBacklog(w.ctx))(w)
	equal(w, "backlog", b, ledger.Backlog{Count: 1, Bytes: 4, Oldest: w.now()})
	equal(w, "expired", must(w.Expire(w.ctx, ledger.Batch{}))(w).Objects, 1)
	w.absent("k")
}

func updateTTL(w *world) {
	w.put("k", "body")
	change := func(c ledger.TTLChange) (ledger.Object, error) {
		return w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Key: "k", TTL: &c})
	}
	w.ends(must(change(ledger.TTLChange{TTL: time.Hour}))(w), time.Hour)
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w).Scheduled, 1)
	w.ends(must(change(ledger.TTLChange{At: w.now().Add(time.Minute)}))(w), time.Minute)
	w.ends(must(change(ledger.TTLChange{}))(w), 0)
	equal(w, "due", must(w.ExpireBacklog(w.ctx))(w), ledger.Backlog{})
	w.configure(ledger.BucketSettings{DefaultTTL: time.Minute, MaxTTL: time.Hour})
	w.ends(must(change(ledger.TTLChange{}))(w), time.Hour)
	w.unchanged(func() {
		w.fails(refused(change(ledger.TTLChange{TTL: time.Hour + 1000})), lethe.ErrInvalidTTL)
		w.fails(refused(change(ledger.TTLChange{TTL: -1})), lethe.ErrInvalidTTL)
	})
	equal(w, "end", must(change(ledger.TTLChange{At: w.now()}))(w).TTLAt, w.now())
	w.absent("k")
}

func updateObject(w *world) {
	old := w.put("k", "body")
	w.later(time.Hour)
	update := func(u ledger.Update) ledger.Object {
		u.Op, u.Bucket, u.Key = w.id(), bucketName, "k"
		o := must(w.Update(w.ctx, u))(w)
		equal(w, "answer", plain(o), plain(w.get("k").Object))
		return o
	}
	o := update(ledger.Update{Tags: &map[string]string{"a": "b"}})
	if o.Tags["a"] != "b" || o.ModifiedAt != old.ModifiedAt || o.ID != old.ID {
		w.Fatalf("object is %+v", o)
	}
	o = update(ledger.Update{Attrs: &ledger.Attrs{ContentType: "new"}})
	if o.Tags["a"] != "b" || o.ModifiedAt != w.now() || o.Attrs.ContentType != "new" || o.ContentID != old.ContentID {
		w.Fatalf("object is %+v", o)
	}
	changed := o.ModifiedAt
	w.later(time.Hour)
	for _, acl := range []*ledger.ACL{{Grants: []ledger.Grant{{Group: "AllUsers", Permission: "READ"}, {Account: "a", Permission: "WRITE_ACP"}}}, {}} {
		o = update(ledger.Update{ACL: acl})
		if o.ModifiedAt != changed || o.Attrs.ContentType != "new" || o.Attrs.ACL == nil || !slices.Equal(o.Attrs.ACL.Grants, acl.Grants) {
			w.Fatalf("object is %+v, its list %+v", o, o.Attrs.ACL)
		}
	}
	equal(w, "list", update(ledger.Update{Attrs: &ledger.Attrs{}}).Attrs.ACL == nil, true)
	equal(w, "tags", len(update(ledger.Update{Tags: &map[string]string{}}).Tags), 0)
	w.totals(0, 1, 0, 0)
}

func updateRefused(w *world) {
	w.putTTL("short", "x", time.Minute)
	w.later(time.Minute)
	for _, key := range []string{"none", "short"} {
		u := ledger.Update{Op: w.id(), Bucket: bucketName, Key: key, TTL: &ledger.TTLChange{}}
		w.unchanged(func() { w.fails(refused(w.Update(w.ctx, u)), lethe.ErrNoSuchKey) })
		if _, found, _ := w.Outcome(w.ctx, u.Op); found {
			w.Fatal("a refused update has an outcome")
		}
	}
}
