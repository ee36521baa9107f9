package sqlledger

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

func (h *hand) delete() {
	bucket, _ := h.key()
	d := ledger.Deletion{Op: h.id(), Bucket: bucket}
	for range 1 + h.dice.IntN(8) {
		_, key := h.key()
		d.Items = append(d.Items, ledger.DeleteItem{Key: key})
	}
	out, err := h.db.Delete(h.ctx, d)
	if h.fine(h.settled(d.Op, err)) {
		for _, i := range out.Items {
			h.fine(i.Err)
		}
	}
}

func (h *hand) copy() {
	fromBucket, from := h.key()
	src, err := h.db.Resolve(h.ctx, fromBucket, from)
	if !h.fine(err) {
		return
	}
	bucket, key := h.key()
	op := h.id()
	_, err = h.db.Commit(h.ctx, ledger.Commit{
		Op: op, What: "copy", Object: ledger.Object{Bucket: bucket, Key: key, Size: src.Object.Size, ETag: src.Object.ETag},
		Source: &ledger.Source{Bucket: fromBucket, Key: from, ID: src.Object.ID},
	})
	h.fine(h.settled(op, err))
}

func (h *hand) reference() {
	bucket, key := h.key()
	digest, size := h.body()
	op := h.id()
	_, err := h.db.Commit(h.ctx, ledger.Commit{
		Op: op, What: "put", Object: ledger.Object{Bucket: bucket, Key: key, Size: size, ETag: digest[:8]},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: size},
	})
	h.fine(h.settled(op, err))
}

// update changes a key that always exists once created: no other worker writes it, and a put
// in progress must not make it look absent.
func (h *hand) update() {
	bucket, key := h.key()
	op := h.id()
	tags := map[string]string{"a": fmt.Sprint(h.dice.IntN(9))}
	u := ledger.Update{Op: op, Bucket: bucket, Key: key, Tags: &tags}
	if h.dice.IntN(2) == 0 {
		u.TTL = &ledger.TTLChange{TTL: time.Duration(h.dice.IntN(40)) * time.Millisecond}
	}
	_, err := h.db.Update(h.ctx, u)
	h.fine(h.settled(op, err))
}

func (h *hand) multipart() {
	bucket, key := h.key()
	u, err := h.db.CreateUpload(h.ctx, ledger.Upload{Bucket: bucket, Key: key})
	if !h.fine(err) {
		return
	}
	var parts []ledger.PartName
	for n := range 1 + h.dice.IntN(3) {
		if p, ok := h.part(u, n+1); ok {
			parts = append(parts, p)
		}
	}
	if h.dice.IntN(4) == 0 {
		h.abort(u)
		return
	}
	h.complete(u, parts)
}

// part uploads a part.
func (h *hand) part(u ledger.Upload, number int) (ledger.PartName, bool) {
	digest, size := h.body()
	blob := h.id()
	if _, err := h.db.Begin(h.ctx, ledger.Intent{ID: blob, Backend: "tape", Size: size, UploadID: u.ID, Part: number}); !h.fine(err) {
		return ledger.PartName{}, false
	}
	op := h.id()
	_, err := h.db.CommitPart(h.ctx, ledger.PartCommit{Op: op, Part: ledger.Part{UploadID: u.ID, Number: number, BlobID: blob, Size: size, ETag: digest[:8], Digest: digest}})
	return ledger.PartName{Number: number, ETag: digest[:8]}, h.fine(h.settled(op, err))
}

func (h *hand) complete(u ledger.Upload, parts []ledger.PartName) bool {
	c := ledger.Completion{Op: h.id(), UploadID: u.ID, Bucket: u.Bucket, Key: u.Key, Parts: parts, Commit: ledger.Commit{Object: ledger.Object{ETag: "m"}}}
	_, err := h.db.Complete(h.ctx, c)
	return h.fine(h.settled(c.Op, err))
}

func (h *hand) abort(u ledger.Upload) bool {
	op := h.id()
	return h.fine(h.settled(op, h.db.AbortUpload(h.ctx, op, u.Bucket, u.Key, u.ID)))
}

func (h *hand) restore() {
	list, err := h.db.Trash(h.ctx, ledger.TrashQuery{Limit: 5})
	if !h.fine(err) || len(list) == 0 {
		return
	}
	op := h.id()
	_, err = h.db.Restore(h.ctx, op, list[h.dice.IntN(len(list))].ID, true)
	h.fine(h.settled(op, err))
}

func (h *hand) mark() {
	blobs, err := h.db.Blobs(h.ctx, ledger.BlobQuery{States: []lethe.State{lethe.Live}, Limit: 10})
	if !h.fine(err) {
		return
	}
	if h.dice.IntN(2) == 0 {
		_, err = h.db.MarkSuspect(h.ctx, idsOf(blobs), "for a test")
	} else {
		_, err = h.db.MarkSound(h.ctx, idsOf(blobs), 0)
	}
	h.fine(err)
}

func (h *hand) look() {
	bucket, key := h.key()
	_, err := h.db.Resolve(h.ctx, bucket, key)
	h.fine(err)
	_, err = h.db.List(h.ctx, ledger.ListQuery{Bucket: bucket, Limit: 100})
	h.fine(err)
}

// work is a step of the engine.
func (h *hand) work() {
	switch h.dice.IntN(15) {
	case 14:
		h.move()
	case 0, 1:
		_, err := h.db.Expire(h.ctx, ledger.Batch{Limit: 20, MaxBlobs: 30})
		h.fine(err)
	case 2:
		_, err := h.db.Purge(h.ctx, ledger.Batch{Limit: 20})
		h.fine(err)
	case 3, 4, 5:
		h.clean(h.backend())
	case 6:
		h.reap(5 * time.Millisecond)
	case 7, 8, 9:
		h.place()
	case 10:
		h.misplace()
	case 11:
		_, err := h.db.ReapplyRules(h.ctx, 5)
		h.fine(err)
	case 12:
		_, err := h.db.ReturnDeferred(h.ctx, 20)
		h.fine(err)
	default:
		_, err := h.db.RecoverClaims(h.ctx, 50*time.Millisecond, 10)
		h.fine(err)
	}
}

// inline lets a commit bring its bytes for the ledger, instead of what was uploaded.
func (h *hand) inline(c *ledger.Commit) {
	h.fine(h.db.Abandon(h.ctx, c.Blobs[0].Blob, false))
	c.Blobs, c.Inline = nil, ledger.NewBody(c.Content.Digest, bytesOf(c.Content))
}

func bytesOf(k ledger.ContentKey) []byte { return []byte(bodyOf(int(k.Size) - 100)) }

// move moves contents to where some limit has them, as instances with different ones do.
func (h *hand) move() {
	page, err := h.db.MisplacedContents(h.ctx, ledger.Misplaced{Inline: int64(99 + h.dice.IntN(bodies+1)), Limit: 20})
	if !h.fine(err) {
		return
	}
	for _, c := range page.Contents {
		if c.Inline {
			h.moveOut(c)
		} else if _, err := h.db.MoveToLedger(h.ctx, c.ID, ledger.NewBody(c.Digest, bytesOf(c.ContentKey))); h.fine(err) {
			h.counts.in.Add(1)
		}
	}
}

func (h *hand) moveOut(c ledger.Content) {
	id := h.id()
	if _, err := h.db.BeginCopy(h.ctx, ledger.CopyIntent{ID: id, Backend: h.backend(), Inline: c.ID, CRC32C: 7}); !h.fine(err) {
		return
	}
	if h.dice.IntN(8) == 0 {
		return // gone without a word: the reaper's
	}
	if !h.fine(h.db.CommitCopy(h.ctx, ledger.CopyCommit{Blob: id, Inline: c.ID, Digest: c.Digest, Late: h.dice.IntN(4) == 0})) {
		h.fine(h.db.Abandon(h.ctx, id, true))
		return
	}
	h.counts.out.Add(1)
}

func (h *hand) clean(backend string) int {
	c, err := h.db.ClaimCondemned(h.ctx, ledger.ClaimRequest{Worker: h.name, Backend: backend, Limit: 25})
	if !h.fine(err) {
		return 1
	}
	s := ledger.Settlement{Fence: c.Fence}
	for _, b := range c.Blobs {
		item := ledger.SettleItem{ID: b.ID, Result: ledger.Gone}
		if h.dice.IntN(10) == 0 {
			item.Result, item.RetryAt, item.Error = ledger.Failed, c.Now, "for a test\x00"
		}
		s.Items = append(s.Items, item)
	}
	if len(s.Items) > 0 && h.dice.IntN(6) > 0 { // else it dies
		_, err = h.db.Settle(h.ctx, s)
		h.fine(err)
	}
	return len(s.Items)
}

func (h *hand) reap(age time.Duration) int {
	c, err := h.db.ClaimIntents(h.ctx, ledger.ClaimRequest{Worker: h.name, MinAge: age, Limit: 5})
	if !h.fine(err) {
		return 1
	}
	for _, i := range c.Intents {
		own := i.Promotion != nil && i.Promotion.Commit.Object.Key[0] == 'h'
		switch {
		case h.dice.IntN(8) == 0: // it dies
		case i.Promotion != nil && !own:
			if _, err := h.db.Promote(h.ctx, c.Fence, i.Blob.ID, lethe.BlockSums{}); !h.fine(err) {
				h.fine(h.db.CondemnIntent(h.ctx, c.Fence, i.Blob.ID))
			}
		default:
			h.fine(h.db.CondemnIntent(h.ctx, c.Fence, i.Blob.ID))
		}
	}
	return len(c.Intents)
}

// drain completes all work, and checks that a recount finds no difference and nothing is
// held.
func (x *torture) drain() {
	x.Helper()
	h := x.hand(5000)
	for n, rounds := 1, 0; n > 0 && !x.Failed(); rounds++ {
		if rounds == 500 {
			blobs, err := h.db.Blobs(x.ctx, ledger.BlobQuery{Limit: 3, States: []lethe.State{lethe.Pending, lethe.Condemned, lethe.Dead}})
			x.Fatalf("there is no end to what is left: %+v %v", blobs, err)
		}
		_, err := h.db.RecoverClaims(x.ctx, 0, 0)
		x.fine(err)
		n = h.reap(0)
		for _, b := range tortureBackends {
			n += h.clean(b.ID)
		}
	}
	found, err := h.db.Recount(x.ctx)
	x.fine(err)
	page, err := h.db.CheckBodies(x.ctx, "", 1000)
	x.fine(err)
	for _, d := range append(found, page.Wrong...) {
		x.Error(d)
	}
	blobs, err := h.db.Blobs(x.ctx, ledger.BlobQuery{})
	x.fine(err)
	for _, b := range blobs {
		if b.Claim != (ledger.Claim{}) {
			x.Errorf("claimed: %+v", b)
		}
	}
	keys, ops, err := x.contest.Verdict(time.Minute)
	x.Logf("%d operations on %d shared keys: linearizable: %t", ops, keys, err == nil)
	if err != nil {
		x.Error(err)
	}
}

// TestTorture: under any concurrency a recount finds no difference after every commit,
// quotas hold in every snapshot, held objects stay, and clients see a linearizable history
// of shared keys. There is no deadlock.
func TestTorture(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{
		"direct": func(t testing.TB) string { return servers.Postgres(t) },
		"pooler": func(t testing.TB) string { return servers.PgBouncer(t, servers.Postgres(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			x := newTorture(t, url(t))
			x.run(16)
			x.drain()
			if n := x.report(); n > 0 {
				x.Errorf("%d deadlocks, where locks are taken in one order", n)
			}
		})
	}
}

// report logs what happened, and returns how many deadlocks there were.
func (x *torture) report() (deadlocks int64) {
	x.Helper()
	var races, torn int64
	for _, db := range x.dbs {
		races += db.engine.Server.Count.Raced.Load()
		deadlocks += db.engine.Server.Count.Deadlocks.Load()
		torn += db.engine.Server.Count.Torn.Load()
	}
	x.Logf("%d contents moved into the ledger, %d out of it", x.counts.in.Load(), x.counts.out.Load())
	x.Logf("%d copies, %d trims, %d parts and %d completions of shared uploads, %d holds that held, %d changes of rules",
		x.counts.copies.Load(), x.counts.trims.Load(), x.counts.parts.Load(), x.counts.completions.Load(), x.counts.held.Load(), x.counts.rules.Load())
	for what, n := range map[string]*atomic.Int64{
		"copies": &x.counts.copies, "trims": &x.counts.trims, "parts": &x.counts.parts, "completions": &x.counts.completions,
		"holds": &x.counts.held, "rules": &x.counts.rules, "moves in": &x.counts.in, "moves out": &x.counts.out,
	} {
		if n.Load() == 0 && !testing.Short() {
			x.Errorf("there were no %s", what)
		}
	}
	x.Logf("%d calls done, %d refused, %d outcomes looked up; run again: %d after races (%d deadlocks), %d after connections broke",
		x.done[0].Load(), x.done[1].Load(), x.lost.Load(), races, deadlocks, torn)
	return deadlocks
}

// TestTortureWithBrokenConnections: what was acknowledged is there, and what was
// not can be looked up, wherever a connection breaks.
func TestTortureWithBrokenConnections(t *testing.T) {
	url := servers.Postgres(t)
	x := newTorture(t, url)
	x.killed = url
	x.run(16)
	x.killed = ""
	x.drain()
	x.report()
}
