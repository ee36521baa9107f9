package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func blockTests() []test {
	return []test{
		{name: "sums stay with the bytes", run: sumsKept},
		{name: "sums by range", run: sumsByRange},
		{name: "sums of what is finished by proof", run: sumsPromoted},
		{name: "sums with what is resolved", run: sumsResolved},
		{name: "sums of a copy", run: sumsCopied, options: func(o *ledger.Options) { o.Replicas = 2 }},
		{name: "sums go with the row", run: sumsGone},
		{name: "sums noted later", run: sumsNoted},
		{name: "sums that cannot be", run: sumsRefused},
	}
}

// hasSums checks that a blob has exactly the sums of a body.
func (w *world) hasSums(blob lethe.ID, body string) {
	w.Helper()
	want := blockSums(body)
	equal(w, "size of the blocks", w.row(blob).Block, want.Size)
	if want.Size == 0 {
		return
	}
	last := int64(len(want.Sums) - 1)
	equal(w, "sums", must(w.BlockSums(w.ctx, blob, 0, last))(w), want.Sums)
	for i := range last + 1 {
		equal(w, "sum", must(w.BlockSums(w.ctx, blob, i, i))(w), want.Sums[i:i+1])
	}
	equal(w, "sums beyond the end", len(must(w.BlockSums(w.ctx, blob, last, last+1))(w)), 0)
}

// sumsKept: sums of an object, of a part and of the object completed from it. A single block
// has none: its CRC is enough.
func sumsKept(w *world) {
	w.put("a", "some body")
	w.hasSums(w.onlyBlob("a").ID, "some body")
	equal(w, "in a resolved object", w.get("a").Segments[0].Blobs[0].Block, 3)
	equal(w, "with a resolved object", w.get("a").Segments[0].Blocks, blockSums("some body"))
	w.put("one", "abc")
	w.hasSums(w.onlyBlob("one").ID, "abc")
	equal(w, "with one block", w.get("one").Segments[0].Blocks, lethe.BlockSums{})
	u := w.open("m")
	p := w.part(u, 1, "first part")
	w.hasSums(p.BlobID, "first part")
	w.finish(u, "whole", p)
	w.hasSums(p.BlobID, "first part")
	equal(w, "in a segment", w.get("m").Segments[0].Blobs[0].Block, 3)
	equal(w, "with a segment", w.get("m").Segments[0].Blocks, blockSums("first part"))
	dup := w.written("b", "some body")
	w.commit(dup)
	equal(w, "of a duplicate", w.row(dup.Blobs[0].Blob).Block, 0)
}

// sumsByRange: any range of blocks, in whichever rows.
func sumsByRange(w *world) {
	body := strings.Repeat("0123456789", 100) + "end"
	w.put("a", body)
	id, want := w.onlyBlob("a").ID, blockSums(body).Sums
	w.hasSums(id, body)
	edges := []int64{0, 1, 126, 127, 128, 129, 255, 256, 257, int64(len(want) - 1)}
	for _, from := range edges {
		for _, to := range edges {
			if from <= to {
				equal(w, fmt.Sprint(from, "-", to), must(w.BlockSums(w.ctx, id, from, to))(w), want[from:to+1])
			}
		}
	}
	w.broken(refused(w.BlockSums(w.ctx, id, 2, 1)))
	w.broken(refused(w.BlockSums(w.ctx, id, -1, 1)))
	equal(w, "of nothing", len(must(w.BlockSums(w.ctx, w.id(), 0, 0))(w)), 0)
}

// sumsPromoted: sums known before the upload survive the writer; otherwise the proof
// provides them.
func sumsPromoted(w *world) {
	known, _ := w.provable("k", "the body")
	c, streamed := w.reference("s", "a stream"), w.id()
	c.Blobs = []ledger.Uploaded{{Blob: streamed, Size: 8, Digest: sum("a stream")}}
	must(w.Begin(w.ctx, ledger.Intent{ID: streamed, Backend: disk, Size: 8, Promotion: &ledger.Promotion{Commit: c}}))(w)
	w.later(time.Minute)
	fence := w.silent().Fence
	w.unchanged(func() { w.broken(refused(w.Promote(w.ctx, fence, streamed, blockSums("a longer stream")))) })
	must(w.Promote(w.ctx, fence, known, lethe.BlockSums{}))(w)
	must(w.Promote(w.ctx, fence, streamed, blockSums("a stream")))(w)
	w.hasSums(known, "the body")
	w.hasSums(streamed, "a stream")
	w.sound()
}

func sumsCopied(w *world) {
	first, second, _ := w.twice("k", "the body")
	w.hasSums(first.ID, "the body")
	w.hasSums(second.ID, "the body")
	equal(w, "with either", w.get("k").Segments[0].Blocks, blockSums("the body"))
}

// sumsResolved: Resolve returns the sums if one row holds them all.
func sumsResolved(w *world) {
	full := strings.Repeat("abc", ledger.SumsPerRow)
	w.put("full", full)
	equal(w, "of a full row", w.get("full").Segments[0].Blocks, blockSums(full))
	w.put("more", full+"d")
	w.hasSums(w.onlyBlob("more").ID, full+"d")
	equal(w, "of two rows", w.get("more").Segments[0].Blocks, lethe.BlockSums{})
	u := w.open("m")
	w.finish(u, "whole", w.part(u, 1, "a part"), w.part(u, 2, full+"e"), w.part(u, 3, "ef"), w.part(u, 4, "last"))
	segments := w.get("m").Segments
	for i, want := range []lethe.BlockSums{blockSums("a part"), {}, {}, blockSums("last")} {
		equal(w, fmt.Sprint("of part ", i+1), segments[i].Blocks, want)
	}
}

// sumsGone: sums go with a settled or written-off blob; a blob to be deleted once more keeps
// them.
func sumsGone(w *world) {
	w.put("a", "some body")
	w.put("b", "other body")
	gone, dead := w.onlyBlob("a").ID, w.onlyBlob("b").ID
	w.remove("a", "b")
	w.hasSums(gone, "some body") // for a reader still at work
	w.later(readGrace)
	claimed := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk}))(w)
	equal(w, "claimed", len(claimed.Blobs), 2)
	must(w.Settle(w.ctx, ledger.Settlement{Fence: claimed.Fence, Items: []ledger.SettleItem{
		{ID: gone, Result: ledger.Gone}, {ID: dead, Result: ledger.Failed, Dead: true, Error: "no"},
	}}))(w)
	equal(w, "sums of what is gone", len(must(w.BlockSums(w.ctx, gone, 0, 0))(w)), 0)
	w.hasSums(dead, "other body")
	w.sound()
	equal(w, "requeued", must(w.Requeue(w.ctx, []lethe.ID{dead}))(w), 1)
	w.hasSums(dead, "other body")
	again := must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: disk}))(w)
	must(w.Settle(w.ctx, ledger.Settlement{Fence: again.Fence, Items: []ledger.SettleItem{{ID: dead, Result: ledger.Failed, Dead: true, Error: "no"}}}))(w)
	w.sound()
	equal(w, "written off", must(w.WriteOff(w.ctx, []lethe.ID{dead}))(w), 1)
	equal(w, "sums of what was written off", len(must(w.BlockSums(w.ctx, dead, 0, 0))(w)), 0)
	w.sound()
}

// sumsNoted: sums for bytes that had none, and replacements of earlier ones.
func sumsNoted(w *world) {
	body := strings.Repeat("0123456789", 100)
	c := w.written("a", body)
	c.Blobs[0].Blocks = lethe.BlockSums{}
	w.commit(c)
	id, size := c.Blobs[0].Blob, c.Blobs[0].Size
	equal(w, "not known", w.row(id).Block, 0)
	wrong := blockSums(body)
	wrong.Size, wrong.Sums = 2, make([]uint32, 500)
	equal(w, "noted", must(w.NoteBlocks(w.ctx, id, size, wrong))(w), true)
	equal(w, "noted", must(w.NoteBlocks(w.ctx, id, size, blockSums(body)))(w), true)
	w.hasSums(id, body)
	w.sound()
	pending := w.begin(body)
	w.remove("a")
	w.unchanged(func() {
		for _, blob := range []lethe.ID{pending, id, w.id()} {
			equal(w, "noted", must(w.NoteBlocks(w.ctx, blob, size, blockSums(body)))(w), false)
		}
	})
}

// sumsRefused: with these sums no byte could be read.
func sumsRefused(w *world) {
	w.put("k", "some body")
	id := w.onlyBlob("k").ID
	short := blockSums("some body")
	short.Sums = slices.Clone(short.Sums[1:])
	c, u := w.written("l", "new body"), w.open("m")
	c.Blobs[0].Blocks.Sums = c.Blobs[0].Blocks.Sums[1:]
	part := w.partOf(u, 1, "a part")
	part.Blocks.Size = 0
	w.unchanged(func() {
		w.broken(refused(w.NoteBlocks(w.ctx, id, 9, short)))
		w.broken(refused(w.NoteBlocks(w.ctx, id, 9, lethe.BlockSums{})))
		equal(w, "of another size", must(w.NoteBlocks(w.ctx, id, 8, blockSums("12345678")))(w), false)
		w.broken(refused(w.Commit(w.ctx, c)))
		w.broken(refused(w.CommitPart(w.ctx, part)))
	})
}

// blocks stores and reads the sums of some blob.
func (h *history) blocks() {
	blobs, err := ask(h, "blobs", func(l Ledger) ([]ledger.Blob, error) { return l.Blobs(h.ctx, ledger.BlobQuery{Limit: 50}) })
	if err != nil || len(blobs) == 0 {
		return
	}
	b := blobs[h.number(len(blobs))]
	from := int64(h.number(4))
	to := from + int64(h.number(4))
	ask(h, fmt.Sprintf("sums of blob %s", b.ID), func(l Ledger) ([]uint32, error) { return l.BlockSums(h.ctx, b.ID, from, to) })
	sums := h.sumsOf(b.Size)
	ask(h, fmt.Sprintf("note the blocks of blob %s", b.ID), func(l Ledger) (bool, error) { return l.NoteBlocks(h.ctx, b.ID, b.Size, sums) })
}

// sumsOf returns sums for a number of bytes; one in eight is for more.
func (h *history) sumsOf(size int64) lethe.BlockSums {
	block := int64(1 + h.number(5))
	sums := lethe.BlockSums{Size: block, Sums: make([]uint32, lethe.Blocks(size, block))}
	if h.chance(8) {
		sums.Sums = append(sums.Sums, 1)
	}
	return sums
}
