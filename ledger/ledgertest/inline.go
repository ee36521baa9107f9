package ledgertest

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func inlineTests() []test {
	return []test{
		{name: "one transaction in", run: inlineIn},
		{name: "one transaction out", run: inlineOut},
		{name: "shared", run: inlineShared},
		{name: "uploads of the same bytes are duplicates", run: inlineUploaded},
		{name: "bytes known on a backend", run: inlineKnown},
		{name: "bytes not sound on a backend", run: inlineSuspect},
		{name: "kept in the trash", run: inlineTrash},
		{name: "closed", run: inlineClosed, options: func(o *ledger.Options) { o.MaxRefs = 2 }},
		{name: "wrong bytes", run: inlineWrong},
		{name: "of each length", run: inlineLengths},
		{name: "due", run: inlineDue},
		{name: "quota", run: inlineQuota},
		{name: "moved in", run: inlineMovedIn},
		{name: "moved out", run: inlineMovedOut},
		{name: "gone on its way out", run: inlineGoneOnItsWay},
		{name: "misplaced", run: inlineMisplaced},
	}
}

// inline returns a commit whose bytes go into the ledger.
func (w *world) inline(key, body string) ledger.Commit {
	c := w.reference(key, body)
	c.Inline = ledger.NewBody(sum(body), []byte(body))
	return c
}

// inLedger checks how many contents lie in the ledger, and their bytes.
func (w *world) inLedger(contents, bytes int64) {
	w.Helper()
	var have ledger.Total
	for _, t := range must(w.Totals(w.ctx))(w) {
		if t.Backend == ledger.InLedger {
			have = t
		}
	}
	if have.Blobs != contents || have.Bytes != bytes {
		w.Fatalf("the ledger has %d contents of %d bytes, want %d of %d", have.Blobs, have.Bytes, contents, bytes)
	}
}

// reads checks the inline bytes under a key.
func (w *world) reads(key, body string) {
	w.Helper()
	r := w.get(key)
	if string(r.Inline.Bytes) != body || r.Inline.Check(r.Object.Size) != nil || len(r.Segments) != 0 || !r.Covered() {
		w.Fatalf("%s has %q inline and segments %v, want %q", key, r.Inline.Bytes, r.Segments, body)
	}
}

func inlineIn(w *world) {
	done := w.commit(w.inline("k", "body"))
	if done.Duplicate || done.Object.ContentID == "" {
		w.Fatalf("made %+v", done)
	}
	w.reads("k", "body")
	w.inLedger(1, 4)
	w.totals(0, 1, 0, 0) // live in the ledger
	equal(w, "blobs", len(must(w.Blobs(w.ctx, ledger.BlobQuery{}))(w)), 0)
}

func inlineOut(w *world) {
	c := w.inline("k", "body")
	c.TTL = time.Minute
	o := w.commit(c).Object
	w.commit(w.inline("stays", "other"))
	due := w.now().Add(time.Minute)
	w.later(time.Hour)
	r := must(w.Expire(w.ctx, ledger.Batch{Limit: 10}))(w)
	equal(w, "expired", plain(r), plain(ledger.Reclaimed{Objects: 1, Bytes: 4, Inline: 1, InlineBytes: 4, Dropped: []lethe.ID{o.ContentID}, LastDue: due}))
	w.absent("k")
	w.inLedger(1, 5)
	w.remove("stays")
	w.inLedger(0, 0)
	equal(w, "claimed", len(w.claim().Blobs), 0)
}

func inlineShared(w *world) {
	first := w.commit(w.inline("a", "body")).Object
	again := w.commit(w.inline("b", "body"))
	if !again.Duplicate || again.Object.ContentID != first.ContentID {
		w.Fatalf("the same bytes made %+v", again)
	}
	known := w.reference("c", "body") // without its bytes
	known.Reach = []string{disk}
	w.commit(known)
	by := w.reference("d", "body")
	by.Source = &ledger.Source{Bucket: bucketName, Key: "a", ID: first.ID}
	w.commit(by)
	w.inLedger(1, 4)
	w.remove("a", "b", "c")
	w.reads("d", "body")
	w.commit(w.inline("d", "new"))
	w.inLedger(1, 3)
	w.reads("d", "new")
	w.commit(w.inline("d", "new")) // over itself
	w.reads("d", "new")
	w.inLedger(1, 3)
}

func inlineUploaded(w *world) {
	w.commit(w.inline("a", "body"))
	up := w.written("b", "body")
	if !w.commit(up).Duplicate {
		w.Fatal("no duplicate")
	}
	w.reads("b", "body")
	w.condemned(up.Blobs[0].Blob, lethe.ReasonDuplicate, w.now())
	begin := ledger.Intent{ID: w.id(), Backend: disk, Size: 4, Unknown: true, Promotion: &ledger.Promotion{Commit: w.reference("c", "body")}}
	w.fails(refused(w.Begin(w.ctx, begin)), lethe.ErrContentKnown)
}

func inlineKnown(w *world) {
	w.put("a", "body")
	if !w.commit(w.inline("b", "body")).Duplicate {
		w.Fatal("no duplicate")
	}
	w.inLedger(0, 0)
	equal(w, "the blob of both", w.onlyBlob("b").ID, w.onlyBlob("a").ID)
}

func inlineSuspect(w *world) {
	w.put("a", "body")
	equal(w, "suspect", must(w.MarkSuspect(w.ctx, []lethe.ID{w.onlyBlob("a").ID}, "lost"))(w), 1)
	w.unchanged(func() {
		w.fails(refused(w.Commit(w.ctx, w.inline("b", "body"))), lethe.ErrContentGone)
	})
	w.put("b", "body") // joins it, as ever
	w.inLedger(0, 0)
}

func inlineTrash(w *world) {
	w.bucket("undo", ledger.BucketSettings{Undo: time.Hour})
	c := w.inline("k", "body")
	c.Object.Bucket = "undo"
	w.commit(c)
	d := must(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "undo", Items: []ledger.DeleteItem{{Key: "k"}}}))(w)
	equal(w, "dropped", len(d.Dropped), 0)
	w.inLedger(1, 4)
	entry := must(w.Trash(w.ctx, ledger.TrashQuery{Bucket: "undo"}))(w)[0]
	must(w.Restore(w.ctx, w.id(), entry.ID, false))(w)
	equal(w, "restored", string(must(w.Resolve(w.ctx, "undo", "k"))(w).Inline.Bytes), "body")
	must(w.Delete(w.ctx, ledger.Deletion{Op: w.id(), Bucket: "undo", Items: []ledger.DeleteItem{{Key: "k"}}}))(w)
	w.later(2 * time.Hour)
	r := must(w.Purge(w.ctx, ledger.Batch{Limit: 10}))(w)
	if r.Inline != 1 || r.InlineBytes != 4 || r.Blobs != 0 {
		w.Fatalf("purged %+v", r)
	}
	w.inLedger(0, 0)
}

func inlineClosed(w *world) {
	for _, key := range []string{"a", "b", "c"} {
		w.commit(w.inline(key, "body"))
	}
	w.inLedger(2, 8)
	w.remove("a", "b")
	w.reads("c", "body")
	w.inLedger(1, 4)
}

func inlineWrong(w *world) {
	for name, change := range map[string]func(*ledger.Commit){
		"another size":       func(c *ledger.Commit) { c.Object.Size++; c.Content.Size++ },
		"another sum":        func(c *ledger.Commit) { c.Inline.CRC32C++ },
		"of another content": func(c *ledger.Commit) { c.Inline = ledger.NewBody(sum("other"), []byte("body")) },
		"too large": func(c *ledger.Commit) {
			c.Inline = ledger.NewBody(c.Content.Digest, make([]byte, ledger.MaxInline+1))
			c.Object.Size, c.Content.Size = ledger.MaxInline+1, ledger.MaxInline+1
		},
	} {
		c := w.inline("k", "body")
		change(&c)
		w.unchanged(func() {
			if err := refused(w.Commit(w.ctx, c)); err == nil {
				w.Fatalf("%s was accepted", name)
			}
		})
	}
	most := string(make([]byte, ledger.MaxInline))
	w.commit(w.inline("k", most))
	w.reads("k", most)
}

// inlineLengths: bytes of every length come back in their order, also where a database
// stores them in pieces.
func inlineLengths(w *world) {
	body := make([]byte, ledger.MaxInline)
	for i := range body {
		body[i] = byte(i ^ i>>8)
	}
	for _, n := range []int{1, 1969, 1970, 1971, 1995, 1996, 1997, 2 * 1996, 4096, 3*1996 + 1970, 3*1996 + 1971, ledger.MaxInline} {
		data := string(body[:n])
		o := w.commit(w.inline("k", data)).Object
		w.reads("k", data)
		equal(w, "bytes", string(must(w.InlineBody(w.ctx, o.ContentID))(w).Bytes), data)
		if page := must(w.CheckBodies(w.ctx, "", 10))(w); page.Bytes != int64(n) || len(page.Wrong) != 0 {
			w.Fatalf("of %d bytes are %+v", n, page)
		}
	}
}

func inlineDue(w *world) {
	c := w.inline("k", "body")
	c.TTL = time.Minute
	w.commit(c)
	w.later(time.Hour)
	page := must(w.DueObjects(w.ctx, ledger.DueQuery{Limit: 10}))(w)
	if len(page.Rows) != 1 || page.Rows[0].Blobs != 0 || page.Rows[0].BlobBytes != 4 || page.Rows[0].Refs != 1 {
		w.Fatalf("due are %+v", page.Rows)
	}
}

func inlineQuota(w *world) {
	w.bucket("small", ledger.BucketSettings{QuotaBytes: 6})
	c := w.inline("a", "body")
	c.Object.Bucket = "small"
	w.commit(c)
	c = w.inline("b", "other")
	c.Object.Bucket = "small"
	w.unchanged(func() { w.fails(refused(w.Commit(w.ctx, c)), lethe.ErrQuotaExceeded) })
}

// moved moves a content to the ledger, and returns how many blobs it condemned.
func (w *world) moved(content lethe.ID, body string) (int, error) {
	return w.MoveToLedger(w.ctx, content, ledger.NewBody(sum(body), []byte(body)))
}

func inlineMovedIn(w *world) {
	o := w.put("a", "body")
	b := w.onlyBlob("a")
	for name, wrong := range map[string]ledger.Body{
		"other bytes": ledger.NewBody(sum("body"), []byte("b0dy")), "another content": ledger.NewBody(sum("other"), []byte("other")), "none": {},
	} {
		w.unchanged(func() {
			if err := refused(w.MoveToLedger(w.ctx, o.ContentID, wrong)); err == nil {
				w.Fatalf("%s was taken", name)
			}
		})
	}
	equal(w, "condemned", must(w.moved(o.ContentID, "body"))(w), 1)
	w.reads("a", "body")
	w.inLedger(1, 4)
	w.condemned(b.ID, lethe.ReasonRebalance, w.now().Add(movedGrace))
	w.unchanged(func() { w.fails(refused(w.moved(o.ContentID, "body")), lethe.ErrContentGone) })
	if !w.commit(w.written("b", "body")).Duplicate {
		w.Fatal("uploaded anew")
	}
	w.remove("a", "b")
	w.inLedger(0, 0)
	w.unchanged(func() { w.fails(refused(w.moved(o.ContentID, "body")), lethe.ErrContentGone) })
}

// outward begins to move an inline content to the disk.
func (w *world) outward(content lethe.ID, body string) ledger.CopyCommit {
	w.Helper()
	id := w.id()
	must(w.BeginCopy(w.ctx, ledger.CopyIntent{ID: id, Backend: disk, Inline: content, CRC32C: crc(body)}))(w)
	return ledger.CopyCommit{Blob: id, Inline: content, Digest: sum(body), Blocks: blockSums(body)}
}

func inlineMovedOut(w *world) {
	o := w.commit(w.inline("a", "body")).Object
	equal(w, "bytes", string(must(w.InlineBody(w.ctx, o.ContentID))(w).Bytes), "body")
	one, two := w.outward(o.ContentID, "body"), w.outward(o.ContentID, "body")
	w.reads("a", "body")
	w.ok(w.CommitCopy(w.ctx, one))
	w.inLedger(0, 0)
	if b := w.onlyBlob("a"); b.ID != one.Blob || b.CRC32C != crc("body") || b.Digest != sum("body") {
		w.Fatalf("it lies in %+v", b)
	}
	w.unchanged(func() { w.fails(w.CommitCopy(w.ctx, two), lethe.ErrContentGone) })
	w.ok(w.Abandon(w.ctx, two.Blob, false))
	w.fails(refused(w.InlineBody(w.ctx, o.ContentID)), lethe.ErrContentGone)
	w.unchanged(func() {
		w.fails(refused(w.BeginCopy(w.ctx, ledger.CopyIntent{ID: w.id(), Backend: disk, Inline: o.ContentID})), lethe.ErrContentGone)
	})
}

// The last reference goes while a content is on its way out: so does what was begun.
func inlineGoneOnItsWay(w *world) {
	o := w.commit(w.inline("a", "body")).Object
	out := w.outward(o.ContentID, "body")
	w.remove("a")
	w.inLedger(0, 0)
	w.totals(0, 0, 1, 0)
	w.unchanged(func() { w.fails(w.CommitCopy(w.ctx, out), lethe.ErrContentGone) })
}

func inlineMisplaced(w *world) {
	big := w.commit(w.inline("a", "large body")).Object
	w.later(time.Second) // ids are in the order of time
	small := w.put("b", "body")
	w.later(time.Second)
	w.commit(w.inline("c", "in"))
	w.put("d", "another large body")
	page := must(w.MisplacedContents(w.ctx, ledger.Misplaced{Inline: 5, Limit: 10}))(w)
	if len(page.Contents) != 2 || page.Contents[0].ID != big.ContentID || !page.Contents[0].Inline || page.Contents[1].ID != small.ContentID {
		w.Fatalf("misplaced are %+v", page)
	}
	page = must(w.MisplacedContents(w.ctx, ledger.Misplaced{Inline: 5, Limit: 1}))(w)
	if len(page.Contents) != 1 || page.Last != big.ContentID {
		w.Fatalf("the first page is %+v", page)
	}
	equal(w, "after the last", must(w.MisplacedContents(w.ctx, ledger.Misplaced{After: lethe.ID("z"), Limit: 1}))(w).Last, "")
}
