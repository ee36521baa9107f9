package ledgertest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/receipt"
)

func receiptTests() []test {
	return []test{
		{name: "a deleted object", run: receiptDelete},
		{name: "a replaced object, of a reaper's write", run: receiptOverwrite},
		{name: "expired, by its own time and by a rule", run: receiptExpire},
		{name: "replaced after its time", run: receiptLate},
		{name: "the trash: purged and restored", run: receiptTrash},
		{name: "of a deleted bucket", run: receiptBucket},
		{name: "bytes: deleted, absent, written off", run: receiptBytes},
		{name: "bytes of no object's", run: receiptNobodys},
		{name: "the trash: purged on request", run: receiptPurged},
		{name: "a refused call leaves none", run: receiptRefused},
		{name: "sealed", run: receiptSealed},
		{name: "sealed twice", run: receiptSealedTwice},
		{name: "dropped by age", run: receiptDropped},
		{name: "look-ups over many segments", run: receiptLookUps},
		{name: "look-ups in many pages", run: receiptPages},
		{name: "switched off", run: receiptOff, options: func(o *ledger.Options) { o.NoReceipts = true }},
	}
}

// story returns the receipts of a key of the usual bucket.
func (w *world) story(key string) []receipt.Receipt {
	w.Helper()
	return must(w.Receipts(w.ctx, receipt.OfObject(bucketName, key)))(w)
}

// as sets the caller of what follows.
func (w *world) as(c lethe.Caller) { w.ctx = lethe.WithCaller(w.ctx, c) }

// told checks one receipt of a key, in part.
func (w *world) told(key string, want receipt.Receipt) {
	w.Helper()
	list := w.story(key)
	if len(list) != 1 {
		w.Fatalf("%d receipts of %s, want one: %s", len(list), key, plain(list))
	}
	want.Kind, want.Bucket, want.Key = receipt.Object, bucketName, key
	have := list[0]
	have.BucketID, have.ETag, have.Content, have.At = "", "", "", 0
	equal(w, "receipt of "+key, plain(have), plain(want))
}

var client = lethe.Caller{Key: "AKIA", Request: "4711"}

func receiptDelete(w *world) {
	w.as(client)
	o := w.put("k", "body")
	w.put("stays", "another")
	w.later(time.Second)
	d := ledger.Deletion{Op: w.id(), Bucket: bucketName, Items: []ledger.DeleteItem{{Key: "k"}, {Key: "absent"}}}
	must(w.Delete(w.ctx, d))(w)
	list := w.story("k")
	equal(w, "receipts", len(list), 1)
	equal(w, "receipt", plain(list[0]), plain(receipt.Receipt{
		Kind: receipt.Object, At: receipt.Instant(w.now()), Reason: lethe.ReasonDelete, Size: 4, Content: o.ContentID,
		Bucket: bucketName, BucketID: o.BucketID, Key: "k", Version: o.ID, ETag: o.ETag, Op: d.Op, By: client,
	}))
	equal(w, "receipts of what stays", len(w.story("stays"))+len(w.story("absent")), 0)
}

// receiptOverwrite: a process that finishes a write acts for the writer's caller.
func receiptOverwrite(w *world) {
	o := w.put("k", "one")
	c := w.reference("k", "two")
	c.By = client
	id := w.id()
	must(w.Begin(w.ctx, ledger.Intent{ID: id, Backend: disk, Size: 3, Promotion: &ledger.Promotion{Commit: withBlob(c, id)}}))(w)
	w.later(time.Hour)
	claimed := must(w.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "r", Limit: 1, MinAge: time.Minute}))(w)
	w.as(lethe.Caller{Run: w.id()})
	must(w.Promote(w.ctx, claimed.Fence, id, lethe.BlockSums{}))(w)
	w.told("k", receipt.Receipt{Reason: lethe.ReasonOverwrite, Size: 3, Version: o.ID, Op: c.Op, By: client})
}

func withBlob(c ledger.Commit, id lethe.ID) ledger.Commit {
	c.Blobs = []ledger.Uploaded{{Blob: id, Size: c.Object.Size, Digest: c.Content.Digest}}
	return c
}

func receiptExpire(w *world) {
	w.rules(lifecycle.Rule{ID: "temporary", Prefix: "tmp/", Days: 1})
	own, ruled := w.putTTL("k", "body", time.Minute), w.put("tmp/k", "")
	ends := w.midnight(1)
	first := w.now().Add(time.Minute)
	w.later(72 * time.Hour)
	run := lethe.Caller{Run: w.id()}
	w.as(run)
	must(w.Expire(w.ctx, ledger.Batch{}))(w)
	w.told("k", receipt.Receipt{Reason: lethe.ReasonExpiry, Size: 4, Version: own.ID, Due: receipt.Instant(first), By: run})
	w.told("tmp/k", receipt.Receipt{
		Reason: lethe.ReasonLifecycle, Version: ruled.ID, Due: receipt.Instant(ends), Rule: "temporary", RuleNumber: 1, By: run,
	})
}

func receiptLate(w *world) {
	o := w.putTTL("k", "body", time.Minute)
	ends := w.now().Add(time.Minute)
	w.later(time.Hour)
	n := w.put("k", "another")
	w.told("k", receipt.Receipt{Reason: lethe.ReasonExpiry, Size: 4, Version: o.ID, Due: receipt.Instant(ends), Op: n.ID})
}

func receiptTrash(w *world) {
	w.undo()
	w.as(client)
	deleted, replaced := w.put("a", "body"), w.put("b", "other")
	at := receipt.Instant(w.now())
	del := ledger.Deletion{Op: w.id(), Bucket: bucketName, Items: []ledger.DeleteItem{{Key: "a"}}}
	must(w.Delete(w.ctx, del))(w)
	next := w.put("b", "newer")
	equal(w, "receipts of what lies in the trash", len(w.story("a"))+len(w.story("b")), 0)
	bin := w.bin()
	entry := bin[slices.IndexFunc(bin, func(e ledger.TrashEntry) bool { return e.Object.Key == "a" })]
	w.later(time.Second)
	back := must(w.Restore(w.ctx, w.id(), entry.ID, false))(w)
	w.told("a", receipt.Receipt{
		Reason: receipt.ReasonRestored, Size: 4, Version: deleted.ID, Op: back.ID, By: client,
		Trash: &receipt.Trash{At: at, Reason: lethe.ReasonDelete, Op: del.Op, By: client, As: back.ID},
	})
	w.later(2 * time.Hour)
	run := lethe.Caller{Run: w.id()}
	w.as(run)
	must(w.Purge(w.ctx, ledger.Batch{}))(w)
	w.told("b", receipt.Receipt{
		Reason: lethe.ReasonPurge, Size: 5, Version: replaced.ID, Due: at + receipt.Instant(time.Hour/time.Microsecond), By: run,
		Trash: &receipt.Trash{At: at, Reason: lethe.ReasonOverwrite, Op: next.ID, By: client},
	})
}

// receiptPurged: the receipt names the caller that asked for a purge, though a run carries
// it out.
func receiptPurged(w *world) {
	w.undo()
	o := w.put("k", "body")
	at := receipt.Instant(w.now())
	del := ledger.Deletion{Op: w.id(), Bucket: bucketName, Items: []ledger.DeleteItem{{Key: "k"}}}
	must(w.Delete(w.ctx, del))(w)
	w.later(time.Minute)
	asked := receipt.Instant(w.now())
	w.as(client)
	equal(w, "due", must(w.PurgeTrash(w.ctx, []lethe.ID{w.bin()[0].ID}))(w), 1)
	equal(w, "ended by", w.bin()[0].EndedBy, client)
	run := lethe.Caller{Run: w.id()}
	w.as(run)
	must(w.Purge(w.ctx, ledger.Batch{}))(w)
	w.told("k", receipt.Receipt{
		Reason: lethe.ReasonPurge, Size: 4, Version: o.ID, Due: asked, By: run,
		Trash: &receipt.Trash{At: at, Reason: lethe.ReasonDelete, Op: del.Op, EndedBy: client},
	})
}

func receiptBucket(w *world) {
	w.putTTL("k", "body", time.Minute)
	w.later(time.Hour)
	w.ok(w.DeleteBucket(w.ctx, bucketName, ""))
	w.bucket(bucketName, ledger.BucketSettings{})
	must(w.Expire(w.ctx, ledger.Batch{}))(w)
	list := w.story("k")
	if len(list) != 1 || list[0].Bucket != bucketName || list[0].BucketID == must(w.Bucket(w.ctx, bucketName))(w).ID {
		w.Fatalf("receipts are %s", plain(list))
	}
}

func receiptBytes(w *world) {
	how := map[string]ledger.SettleItem{
		receipt.Deleted: {Result: ledger.Gone}, receipt.Absent: {Result: ledger.Absent}, receipt.WrittenOff: {Result: ledger.Failed, Dead: true, Error: "no"},
	}
	for _, want := range []string{receipt.Deleted, receipt.Absent, receipt.WrittenOff} {
		o := w.put("k", "body "+want)
		id := w.onlyBlob("k").ID
		w.remove("k")
		w.later(readGrace)
		w.settle(w.claim(), how[want])
		if want == receipt.WrittenOff {
			equal(w, "receipts of a dead letter", len(must(w.Receipts(w.ctx, receipt.OfContent(o.ContentID)))(w)), 0)
			w.later(time.Second)
			equal(w, "written off", must(w.WriteOff(w.ctx, []lethe.ID{id, id}))(w), 1)
		}
		list := must(w.Receipts(w.ctx, receipt.OfContent(o.ContentID)))(w)
		equal(w, "receipts", plain(list), plain([]receipt.Receipt{{
			Kind: receipt.Bytes, At: receipt.Instant(w.now()), Reason: lethe.ReasonDelete, Size: o.Size,
			Content: o.ContentID, Blob: id, Backend: disk, How: want,
		}}))
	}
	equal(w, "receipts in all", must(w.ReceiptBacklog(w.ctx, ledger.Sealing{}))(w).Count, 6)
}

// receiptNobodys: blobs that never belonged to a content, and bytes without a row.
func receiptNobodys(w *world) {
	given := w.corpses(1)[0]
	keys := []string{w.orphanKey()}
	w.endWalk(w.walked(keys...))
	w.later(orphanGrace)
	orphan := w.condemns(w.walked(keys...)).Blobs[0].ID
	run := lethe.Caller{Run: w.id()}
	w.as(run)
	w.clean()
	for id, reason := range map[lethe.ID]lethe.Reason{given: lethe.ReasonUploadOrphan, orphan: lethe.ReasonOrphan} {
		list := must(w.Receipts(w.ctx, receipt.OfBlob(id)))(w)
		if len(list) != 1 || list[0].Reason != reason || list[0].Backend != disk || list[0].How != receipt.Deleted || list[0].By != run {
			w.Fatalf("receipts of %s, which went for %s, are %s", id, reason, plain(list))
		}
	}
}

func receiptRefused(w *world) {
	w.put("k", "body")
	c := w.written("k", "another")
	c.If.IfNoneMatch = "*"
	w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrPreconditionFailed)
	equal(w, "receipts", must(w.ReceiptBacklog(w.ctx, ledger.Sealing{}))(w).Count, 0)
}

// seal seals up to limit receipts.
func (w *world) seal(limit int) receipt.Segment {
	w.Helper()
	u := must(w.UnsealedReceipts(w.ctx, limit))(w)
	s := must(receipt.Cut("store", u.Last, u.Batches, u.Now))(w)
	w.ok(w.SealReceipts(w.ctx, s))
	return s
}

// chained checks the chain from its anchor to its end.
func (w *world) chained() receipt.Head {
	w.Helper()
	c := receipt.Checker{Store: "store"}
	for _, s := range must(w.Seals(w.ctx, 0, 0))(w) {
		w.ok(c.Next(s, must(w.ReceiptPages(w.ctx, s.Seq))(w)))
	}
	return must(c.End())(w)
}

func receiptSealed(w *world) {
	for i := range 5 {
		w.put(fmt.Sprint("k", i), "body")
		w.remove(fmt.Sprint("k", i))
		w.later(time.Second)
	}
	before := w.story("k1")
	u := must(w.UnsealedReceipts(w.ctx, 3))(w)
	if u.Count != 3 || !u.More || u.Oldest != w.now().Add(-5*time.Second) {
		w.Fatalf("unsealed: %+v", u)
	}
	pages := [][]receipt.Batch{must(w.UnsealedPage(w.ctx, 0, 4))(w), must(w.UnsealedPage(w.ctx, 0, 0))(w)}
	equal(w, "batches of a page", len(pages[0]), 4)
	pages[0] = append(pages[0], must(w.UnsealedPage(w.ctx, pages[0][3].ID, 4))(w)...)
	equal(w, "batches page by page", plain(pages[0]), plain(pages[1]))
	one := w.seal(3)
	worth := ledger.Sealing{Worth: 3, After: time.Hour}
	waits := must(w.ReceiptBacklog(w.ctx, worth))(w)
	equal(w, "receipts that wait for more", waits.Scheduled, 2)
	equal(w, "and for no longer than this is due", waits.Count, 0)
	equal(w, "so few are enough", must(w.ReceiptBacklog(w.ctx, ledger.Sealing{Worth: 2, After: time.Hour}))(w).Count, 2)
	w.later(time.Hour)
	late := must(w.ReceiptBacklog(w.ctx, worth))(w)
	equal(w, "receipts that have waited", late, ledger.Backlog{Count: 2, Oldest: waits.NextDue})
	equal(w, "batches left after a seal", plain(must(w.UnsealedPage(w.ctx, 0, 4))(w)), plain(pages[1][3:]))
	two := w.seal(0)
	equal(w, "backlog", must(w.ReceiptBacklog(w.ctx, ledger.Sealing{}))(w), ledger.Backlog{})
	equal(w, "second segment", fmt.Sprint(two.Seq, two.First, two.Count, two.Prev), fmt.Sprint(2, 4, 2, one.Hash))
	equal(w, "head", w.chained(), two.Head())
	equal(w, "receipt after it was sealed", plain(w.story("k1")), plain(before))
	equal(w, "page of seals", len(must(w.Seals(w.ctx, 1, 5))(w)), 1)
	equal(w, "nothing to seal", plain(must(w.UnsealedReceipts(w.ctx, 3))(w)), plain(ledger.Unsealed{Now: w.now()}))
}

func receiptSealedTwice(w *world) {
	w.put("k", "body")
	w.remove("k")
	u := must(w.UnsealedReceipts(w.ctx, 0))(w)
	s := must(receipt.Cut("store", u.Last, u.Batches, u.Now))(w)
	w.ok(w.SealReceipts(w.ctx, s))
	w.unchanged(func() {
		w.fails(w.SealReceipts(w.ctx, s), lethe.ErrFenced)
		again := must(receipt.Cut("store", s.Seal, u.Batches, u.Now))(w)
		w.fails(w.SealReceipts(w.ctx, again), lethe.ErrFenced)
	})
	equal(w, "receipts", len(w.story("k")), 1)
}

func receiptDropped(w *world) {
	const keep = 24 * time.Hour
	var last receipt.Segment
	for i := range 4 {
		w.put(fmt.Sprint("k", i), "body")
		w.remove(fmt.Sprint("k", i))
		last = w.seal(0)
		w.later(time.Hour)
	}
	equal(w, "dropped too early", must(w.DropReceipts(w.ctx, keep, 10))(w), 0)
	w.later(keep - 2*time.Hour)
	equal(w, "dropped", must(w.DropReceipts(w.ctx, keep, 2))(w), 2)
	equal(w, "dropped", must(w.DropReceipts(w.ctx, keep, 2))(w), 1)
	equal(w, "head", w.chained(), last.Head())
	seals := must(w.Seals(w.ctx, 0, 0))(w)
	if len(seals) != 2 || seals[0].Seq != 3 || !seals[0].Dropped || seals[1].Dropped {
		w.Fatalf("seals are %+v", seals)
	}
	equal(w, "receipts", fmt.Sprint(len(w.story("k0")), len(w.story("k2")), len(w.story("k3"))), "0 0 1")
	w.later(keep)
	equal(w, "dropped", must(w.DropReceipts(w.ctx, keep, 2))(w), 1)
	w.put("new", "body")
	w.remove("new")
	equal(w, "number", w.seal(0).First, 5)
	w.chained()
}

// receiptLookUps: names of one page, of several, and none at all.
func receiptLookUps(w *world) {
	for i := range 30 {
		w.put("often", fmt.Sprint("body ", i))
		w.put(fmt.Sprint("once ", i), "")
		w.remove(fmt.Sprint("once ", i))
		if i%10 == 9 {
			w.seal(0)
		}
	}
	equal(w, "receipts of a key", len(w.story("often")), 29)
	if !slices.IsSortedFunc(w.story("often"), func(a, b receipt.Receipt) int { return int(a.At - b.At) }) {
		w.Fatal("receipts are not in the order in which they went")
	}
	for i := range 30 {
		equal(w, "receipts of a key", len(w.story(fmt.Sprint("once ", i))), 1)
	}
	equal(w, "receipts of nothing", len(w.story("never")), 0)
	both := must(w.Receipts(w.ctx, receipt.OfObject(bucketName, "once 1"), receipt.OfObject(bucketName, "once 25")))(w)
	equal(w, "receipts of two keys", len(both), 2)
}

// receiptPages: the receipts of one key fill several pages of a segment.
func receiptPages(w *world) {
	w.put("k", "")
	w.remove("k")
	u := must(w.UnsealedReceipts(w.ctx, 0))(w)
	one := u.Batches[0].Receipts[0]
	var list []receipt.Receipt
	for i := range 900 {
		r := one
		r.Version, r.Key = lethe.ID(fmt.Sprint("v", i)), "often"
		if i%3 == 0 {
			r.Key = fmt.Sprint("once ", i)
		}
		list = append(list, r)
	}
	u.Batches[0].Receipts = list
	s := must(receipt.Cut("store", u.Last, u.Batches, u.Now))(w)
	w.ok(w.SealReceipts(w.ctx, s))
	equal(w, "receipts of a key", len(w.story("often")), 600)
	for i := 0; i < 900; i += 3 {
		equal(w, "receipts of a key", len(w.story(fmt.Sprint("once ", i))), 1)
	}
	w.chained()
}

func receiptOff(w *world) {
	w.put("k", "body")
	w.remove("k")
	w.later(readGrace)
	w.clean()
	equal(w, "receipts", len(w.story("k")), 0)
	equal(w, "backlog", must(w.ReceiptBacklog(w.ctx, ledger.Sealing{}))(w), ledger.Backlog{})
}

// receiptsOf returns all receipts of a ledger, in a fixed order, and its chain.
func receiptsOf(h interface{ Fatalf(string, ...any) }, l Ledger) any {
	ctx := context.Background()
	u, err := l.UnsealedReceipts(ctx, 0)
	if err != nil {
		h.Fatalf("unsealed receipts: %v", err)
	}
	var unsealed [][]receipt.Receipt
	for _, b := range u.Batches {
		receipt.Sort(b.Receipts)
		unsealed = append(unsealed, b.Receipts)
	}
	seals, err := l.Seals(ctx, 0, 0)
	if err != nil {
		h.Fatalf("seals: %v", err)
	}
	return []any{unsealed, seals}
}

// receipts seals, drops and looks up.
func (h *history) receipts() {
	limit := h.number(6)
	switch h.number(4) {
	case 0:
		keep := time.Duration(h.number(4)) * time.Hour
		ask(h, "drop receipts", func(l Ledger) (int, error) { return l.DropReceipts(h.ctx, keep, limit) })
	case 1:
		v := pick(h, h.versions)
		ask(h, "receipts of "+v.Key, func(l Ledger) ([]receipt.Receipt, error) {
			return l.Receipts(h.ctx, receipt.OfObject(v.Bucket, v.Key), receipt.OfContent(v.ContentID))
		})
	default:
		ask(h, fmt.Sprint("seal ", limit), func(l Ledger) (any, error) {
			u, err := l.UnsealedReceipts(h.ctx, limit)
			if err != nil || u.Count == 0 {
				return nil, err
			}
			s, err := receipt.Cut("store", u.Last, u.Batches, u.Now)
			if err != nil {
				return nil, err
			}
			return s.Seal, l.SealReceipts(h.ctx, s)
		})
	}
}
