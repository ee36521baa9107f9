package ledgertest

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func bucketTests() []test {
	return []test{
		{name: "defaults", run: bucketDefaults},
		{name: "a name is taken once", run: bucketExists},
		{name: "no such bucket", run: noBucket},
		{name: "listing", run: listBuckets},
		{name: "settings", run: bucketSettings},
		{name: "owner", run: bucketOwner},
		{name: "documents", run: documents},
		{name: "documents of another bucket of the name", run: documentsOfAnother},
		{name: "made with documents", run: madeWithDocuments},
		{name: "delete an empty one", run: deleteEmptyBucket},
		{name: "delete one in use", run: deleteBucketInUse},
		{name: "delete one with objects past their time", run: deleteBucketWithDue},
		{name: "delete one with trash", run: deleteBucketWithTrash},
		{name: "delete takes promotions", run: deleteBucketPromotions},
		{name: "commit into one made anew", run: intoRemadeBucket},
		{name: "totals", run: bucketTotals},
		{name: "as many as the owner may have", run: bucketsOfOwner},
	}
}

func bucketDefaults(w *world) {
	b := must(w.CreateBucket(w.ctx, ledger.Bucket{Name: "new", Owner: "me", Region: "r", Objects: 5, Bytes: 5}))(w)
	if _, err := lethe.ParseID(string(b.ID)); err != nil || b.Domain != "me" || b.CreatedAt != w.now() || b.Objects+b.Bytes != 0 {
		w.Fatalf("bucket is %+v, %v", b, err)
	}
	equal(w, "bucket", must(w.Bucket(w.ctx, "new"))(w), b)
	own := ledger.Bucket{ID: w.id(), Name: "own", Owner: "me", Domain: "all"}
	have := must(w.CreateBucket(w.ctx, own))(w)
	equal(w, "id", have.ID, own.ID)
	equal(w, "domain", have.Domain, "all")
}

func bucketExists(w *world) {
	first := must(w.Bucket(w.ctx, bucketName))(w)
	have, err := w.CreateBucket(w.ctx, ledger.Bucket{Name: bucketName, Owner: "other"})
	w.fails(err, lethe.ErrBucketExists)
	equal(w, "answer", have, first)
}

// noBucket runs every operation on a bucket that does not exist.
func noBucket(w *world) {
	key := ledger.Object{Bucket: "nobody's", Key: "k"}
	entry := func() error { _, err := w.Commit(w.ctx, ledger.Commit{Op: w.id(), Object: key}); return err }
	for name, err := range map[string]error{
		"bucket":    refused(w.Bucket(w.ctx, "nobody's")),
		"configure": refused(w.ConfigureBucket(w.ctx, "nobody's", ledger.BucketSettings{}, nil)),
		"delete":    w.DeleteBucket(w.ctx, "nobody's", ""),
		"owner":     w.SetBucketOwner(w.ctx, "nobody's", "x"),
		"put":       w.PutDocument(w.ctx, ledger.Document{Bucket: "nobody's", Kind: "acl"}),
		"document":  refused(w.Document(w.ctx, "nobody's", "acl")),
		"drop":      w.DeleteDocument(w.ctx, ledger.Document{Bucket: "nobody's", Kind: "acl"}),
		"commit":    entry(),
		"remove":    refused(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "nobody's"})),
		"update":    refused(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: "nobody's", Key: "k"})),
		"resolve":   refused(w.Resolve(w.ctx, "nobody's", "k")),
		"list":      refused(w.List(w.ctx, ledger.ListQuery{Bucket: "nobody's", Limit: 1})),
		"upload":    refused(w.CreateUpload(w.ctx, ledger.Upload{Bucket: "nobody's", Key: "k"})),
		"uploads":   refused(w.Uploads(w.ctx, ledger.UploadQuery{Bucket: "nobody's"})),
	} {
		w.Log(name)
		w.fails(err, lethe.ErrNoSuchBucket)
	}
}

func listBuckets(w *world) {
	for i, name := range []string{"b2", "a1", "b1", "b3"} {
		must(w.CreateBucket(w.ctx, ledger.Bucket{Name: name, Owner: fmt.Sprint("o", i%2)}))(w)
	}
	for _, c := range []struct {
		q    ledger.BucketQuery
		want string
	}{
		{ledger.BucketQuery{}, "a1;b1;b2;b3;bucket;"},
		{ledger.BucketQuery{Prefix: "b"}, "b1;b2;b3;bucket;"},
		{ledger.BucketQuery{Prefix: "b", After: "b1", Limit: 2}, "b2;b3;"},
		{ledger.BucketQuery{Owner: "o0"}, "b1;b2;"},
		{ledger.BucketQuery{After: "c"}, ""},
	} {
		list := must(w.Buckets(w.ctx, c.q))(w)
		equal(w, fmt.Sprintf("%+v", c.q), names(list, func(b ledger.Bucket) string { return b.Name }), c.want)
	}
}

func bucketSettings(w *world) {
	s := ledger.BucketSettings{DefaultTTL: time.Hour, MaxTTL: 2 * time.Hour, QuotaBytes: 3, QuotaObjects: 4, Undo: 5 * time.Microsecond}
	b := must(w.ConfigureBucket(w.ctx, bucketName, s, nil))(w)
	equal(w, "settings", b.BucketSettings, s)
	equal(w, "bucket", must(w.Bucket(w.ctx, bucketName))(w), b)
	w.unchanged(func() {
		w.fails(refused(w.ConfigureBucket(w.ctx, bucketName, s, &ledger.BucketSettings{})), lethe.ErrPreconditionFailed)
	})
	must(w.ConfigureBucket(w.ctx, bucketName, ledger.BucketSettings{}, &s))(w)
	equal(w, "settings", must(w.Bucket(w.ctx, bucketName))(w).BucketSettings, ledger.BucketSettings{})
	for _, bad := range []ledger.BucketSettings{{DefaultTTL: -1}, {MaxTTL: -1}, {QuotaBytes: -1}, {QuotaObjects: -1}, {Undo: -1}} {
		w.unchanged(func() {
			w.broken(refused(w.ConfigureBucket(w.ctx, bucketName, bad, nil)))
			w.broken(refused(w.CreateBucket(w.ctx, ledger.Bucket{Name: "bad", BucketSettings: bad})))
		})
	}
}

func bucketOwner(w *world) {
	w.ok(w.SetBucketOwner(w.ctx, bucketName, "heir"))
	b := must(w.Bucket(w.ctx, bucketName))(w)
	equal(w, "owner", b.Owner, "heir")
	equal(w, "domain", b.Domain, owner)
}

func documents(w *world) {
	if d := must(w.Document(w.ctx, bucketName, "acl"))(w); d != nil {
		w.Fatalf("document is %q before it was put", d)
	}
	body := []byte("one")
	w.ok(w.PutDocument(w.ctx, ledger.Document{Bucket: bucketName, Kind: "acl", Body: body}))
	body[0] = 'X'
	w.ok(w.PutDocument(w.ctx, ledger.Document{Bucket: bucketName, Kind: "cors", Body: []byte("two")}))
	equal(w, "acl", string(must(w.Document(w.ctx, bucketName, "acl"))(w)), "one")
	w.ok(w.PutDocument(w.ctx, ledger.Document{Bucket: bucketName, Kind: "acl", Body: []byte{}}))
	if d := must(w.Document(w.ctx, bucketName, "acl"))(w); d == nil || len(d) > 0 {
		w.Fatalf("empty document is %#v", d)
	}
	w.ok(w.DeleteDocument(w.ctx, ledger.Document{Bucket: bucketName, Kind: "acl"}))
	w.ok(w.DeleteDocument(w.ctx, ledger.Document{Bucket: bucketName, Kind: "acl"}))
	if d := must(w.Document(w.ctx, bucketName, "acl"))(w); d != nil {
		w.Fatalf("document is %q after it was deleted", d)
	}
	equal(w, "cors", string(must(w.Document(w.ctx, bucketName, "cors"))(w)), "two")
}

// documentsOfAnother: a document for one bucket does not reach another with the same name.
func documentsOfAnother(w *world) {
	meant := must(w.Bucket(w.ctx, bucketName))(w).ID
	w.ok(w.PutDocument(w.ctx, ledger.Document{Bucket: bucketName, Into: meant, Kind: "acl", Body: []byte("first")}))
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	w.bucket(bucketName, ledger.BucketSettings{})
	w.ok(w.PutDocument(w.ctx, ledger.Document{Bucket: bucketName, Kind: "acl", Body: []byte("another's")}))
	w.fails(w.PutDocument(w.ctx, ledger.Document{Bucket: bucketName, Into: meant, Kind: "acl", Body: []byte("late")}), lethe.ErrNoSuchBucket)
	w.fails(w.DeleteDocument(w.ctx, ledger.Document{Bucket: bucketName, Into: meant, Kind: "acl"}), lethe.ErrNoSuchBucket)
	w.fails(refused(w.SetRules(w.ctx, ledger.RulesChange{Bucket: bucketName, Into: meant, By: "test"})), lethe.ErrNoSuchBucket)
	w.unchanged(func() { w.fails(w.DeleteBucket(w.ctx, bucketName, meant), lethe.ErrNoSuchBucket) })
	w.put("k", "another's")
	w.unchanged(func() {
		w.fails(refused(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: bucketName, Into: meant, Items: []ledger.DeleteItem{{Key: "k"}}})), lethe.ErrNoSuchBucket)
		w.fails(refused(w.Update(w.ctx, ledger.Update{Op: w.id(), Bucket: bucketName, Into: meant, Key: "k", Tags: &map[string]string{"a": "b"}})), lethe.ErrNoSuchBucket)
		hold := ledger.Hold{Bucket: bucketName, Into: meant, Scope: ledger.HoldLegal, Key: "k"}
		w.fails(refused(w.AddHold(w.ctx, hold)), lethe.ErrNoSuchBucket)
		w.fails(w.ReleaseHold(w.ctx, hold), lethe.ErrNoSuchBucket)
	})
	equal(w, "acl", string(must(w.Document(w.ctx, bucketName, "acl"))(w)), "another's")
}

func deleteEmptyBucket(w *world) {
	w.ok(w.PutDocument(w.ctx, ledger.Document{Bucket: bucketName, Kind: "acl", Body: []byte("old")}))
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	w.fails(w.DeleteBucket(w.ctx, bucketName, ""), lethe.ErrNoSuchBucket)
	w.bucket(bucketName, ledger.BucketSettings{})
	if d := must(w.Document(w.ctx, bucketName, "acl"))(w); d != nil {
		w.Fatalf("the new bucket has the old one's document %q", d)
	}
}

func deleteBucketInUse(w *world) {
	w.putTTL("k", "body", time.Minute)
	w.unchanged(func() { w.fails(w.DeleteBucket(w.ctx, bucketName, ""), lethe.ErrBucketNotEmpty) })
	w.remove("k")
	u := must(w.CreateUpload(w.ctx, ledger.Upload{Bucket: bucketName, Key: "k"}))(w)
	w.unchanged(func() { w.fails(w.DeleteBucket(w.ctx, bucketName, ""), lethe.ErrBucketNotEmpty) })
	w.ok(w.AbortUpload(w.ctx, w.id(), bucketName, "k", u.ID))
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
}

// madeWithDocuments: documents given at creation are there from the start, and do not reach
// a bucket that has the name already.
func madeWithDocuments(w *world) {
	made := ledger.Bucket{Name: "made", Owner: "me", Documents: map[string][]byte{"acl": []byte("mine"), "tags": {}}}
	b := must(w.CreateBucket(w.ctx, made))(w)
	if b.Documents != nil {
		w.Errorf("documents are read back: %v", b.Documents)
	}
	equal(w, "acl", string(must(w.Document(w.ctx, "made", "acl"))(w)), "mine")
	if d := must(w.Document(w.ctx, "made", "tags"))(w); d == nil || len(d) > 0 {
		w.Errorf("tags are %q", d)
	}
	made.Documents = map[string][]byte{"acl": []byte("another's")}
	w.fails(refused(w.CreateBucket(w.ctx, made)), lethe.ErrBucketExists)
	equal(w, "acl", string(must(w.Document(w.ctx, "made", "acl"))(w)), "mine")
	w.ok(w.DeleteBucket(w.ctx, "made", ""))
	made.Documents = nil
	must(w.CreateBucket(w.ctx, made))(w)
	if d := must(w.Document(w.ctx, "made", "acl"))(w); d != nil {
		w.Errorf("a bucket made anew has %q", d)
	}
}

// intoRemadeBucket: a commit or an upload that names its bucket does not reach another one
// with the same name.
func intoRemadeBucket(w *world) {
	c := w.written("k", "body")
	c.Into = must(w.Bucket(w.ctx, bucketName))(w).ID
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	made := w.bucket(bucketName, ledger.BucketSettings{})
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrNoSuchBucket) })
	w.absent("k")
	w.unchanged(func() {
		w.fails(refused(w.CreateUpload(w.ctx, ledger.Upload{BucketID: c.Into, Bucket: bucketName, Key: "k"})), lethe.ErrNoSuchBucket)
	})
	equal(w, "bucket of the upload", must(w.CreateUpload(w.ctx, ledger.Upload{BucketID: made.ID, Bucket: bucketName, Key: "k"}))(w).BucketID, made.ID)
	c.Into = made.ID
	w.commit(c)
	w.get("k")
}

// deleteBucketWithDue: expired objects do not keep a bucket, and are reclaimed after its
// name is gone or reused.
func deleteBucketWithDue(w *world) {
	w.putTTL("k", "body", time.Minute)
	id := w.onlyBlob("k").ID
	w.later(time.Minute)
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	w.bucket(bucketName, ledger.BucketSettings{})
	w.absent("k")
	w.in(id, lethe.Live)
	equal(w, "pruned", must(w.Prune(w.ctx, 0))(w), 0)
	w.put("k", "other")
	r := must(w.Expire(w.ctx, ledger.Batch{Limit: 10}))(w)
	equal(w, "expired", r.Objects, 1)
	w.in(id, lethe.Condemned)
	w.get("k")
	equal(w, "pruned", must(w.Prune(w.ctx, 0))(w), 1)
}

func deleteBucketWithTrash(w *world) {
	w.configure(ledger.BucketSettings{Undo: time.Hour})
	w.put("k", "body")
	w.remove("k")
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	must(w.Prune(w.ctx, 0))(w)
	trash := must(w.Trash(w.ctx, ledger.TrashQuery{Bucket: bucketName}))(w)
	equal(w, "entries", len(trash), 1)
	w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), trash[0].ID, false)), lethe.ErrNoSuchBucket) })
	must(w.CreateBucket(w.ctx, ledger.Bucket{Name: bucketName, Owner: "somebody else"}))(w)
	w.unchanged(func() { w.fails(refused(w.Restore(w.ctx, w.id(), trash[0].ID, false)), lethe.ErrNoSuchBucket) })
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	w.bucket(bucketName, ledger.BucketSettings{})
	must(w.Restore(w.ctx, w.id(), trash[0].ID, false))(w)
	w.get("k")
}

func deleteBucketPromotions(w *world) {
	id, c := w.provable("k", "body")
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	w.bucket(bucketName, ledger.BucketSettings{})
	w.later(time.Minute)
	in := w.silent()
	if len(in.Intents) != 1 || in.Intents[0].Promotion != nil {
		w.Fatalf("intents are %+v", in)
	}
	w.fails(refused(w.Promote(w.ctx, in.Fence, id, lethe.BlockSums{})), lethe.ErrPreconditionFailed)
	w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrReaped)
}

func bucketTotals(w *world) {
	check := func(n, bytes int64) {
		w.Helper()
		b := must(w.Bucket(w.ctx, bucketName))(w)
		if b.Objects != n || b.Bytes != bytes {
			w.Fatalf("%d objects of %d bytes, want %d of %d", b.Objects, b.Bytes, n, bytes)
		}
		equal(w, "listed", must(w.Buckets(w.ctx, ledger.BucketQuery{}))(w)[0], b)
	}
	check(0, 0)
	w.put("a", "1234")
	w.put("b", "1234")
	w.putTTL("c", "", time.Minute)
	check(3, 8)
	w.put("a", "123456")
	check(3, 10)
	w.later(time.Hour)
	check(3, 10)
	must(w.Expire(w.ctx, ledger.Batch{}))(w)
	check(2, 10)
	w.remove("a", "b", "none")
	check(0, 0)
}

// bucketsOfOwner: an owner cannot exceed the most buckets, in sequence or concurrently.
// Buckets of others and deleted buckets do not count.
func bucketsOfOwner(w *world) {
	ask := func(name, owner string, most int) error {
		return refused(w.CreateBucket(w.ctx, ledger.Bucket{Name: name, Owner: owner, Most: most}))
	}
	w.ok(ask("o1", "one", 2))
	w.ok(ask("t1", "two", 1))
	w.ok(ask("o2", "one", 2))
	w.unchanged(func() {
		w.fails(ask("o3", "one", 2), lethe.ErrTooManyBuckets)
		w.fails(ask("o1", "one", 2), lethe.ErrBucketExists)
	})
	w.ok(w.DeleteBucket(w.ctx, "o1", ""))
	w.ok(ask("o3", "one", 2))
	w.ok(ask("o4", "one", 0))
	w.fails(ask("o5", "one", 3), lethe.ErrTooManyBuckets)
	equal(w, "read back", must(w.Bucket(w.ctx, "o3"))(w).Most, 0)

	const most, asked = 4, 16
	outcomes := make(chan error, asked)
	for i := range asked {
		go func() { outcomes <- ask(fmt.Sprint("many", i), "many", most) }()
	}
	made := 0
	for range asked {
		if err := <-outcomes; err == nil {
			made++
		} else {
			w.fails(err, lethe.ErrTooManyBuckets)
		}
	}
	equal(w, "made at once", made, most)
}
