package reclaim_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// blocksOf are the sums of a body's blocks.
func blocksOf(body string) lethe.BlockSums {
	h := lethe.NewBlockHash(lethe.BlockSize)
	h.Write([]byte(body))
	return h.Sums()
}

// long has several blocks.
var long = strings.Repeat("many blocks of bytes ", 30_000)

// hasSums fails unless the ledger has the sums of a blob's blocks.
func (w *world) hasSums(b lethe.ID, body string) {
	w.Helper()
	row, _ := w.ledger.Blob(b)
	sums := blocksOf(body)
	have, err := w.ledger.BlockSums(w.ctx, b, 0, int64(len(sums.Sums)-1))
	w.must(err)
	if row.Block != sums.Size || len(have) != len(sums.Sums) {
		w.Fatalf("%d sums of blocks of %d bytes are known", len(have), row.Block)
	}
	for i := range have {
		want(w, "sum", have[i], sums.Sums[i])
	}
}

// dying is a ledger whose process dies as soon as a write was finished.
type dying struct {
	*memledger.DB
	die func()
}

func (d dying) Promote(ctx context.Context, fence int64, b lethe.ID, sums lethe.BlockSums) (ledger.Committed, error) {
	defer d.die()
	return d.DB.Promote(ctx, fence, b, sums)
}

// What the reaper finishes was read to be proven: its blocks have their sums from the
// moment on at which it is live, even if the reaper gets no further.
func TestReapNotesBlocks(t *testing.T) {
	w := newWorld(t)
	b := w.intent("a", long, true)
	w.upload(b, long)
	w.silent()
	ctx, die := context.WithCancel(w.ctx)
	r := w.reap()
	r.Ledger = dying{w.ledger, die}
	if _, err := r.Pass("worker")(ctx, &reclaim.Counts{}); err != nil || ctx.Err() == nil {
		t.Errorf("%v, dead: %v", err, ctx.Err())
	}
	want(w, "state", w.state(b), lethe.Live)
	w.hasSums(b, long)
	w.sound()
}

// What is checked from before there were sums has them afterwards; what is damaged
// gets none.
func TestVerifyNotesBlocks(t *testing.T) {
	w := newWorld(t)
	b, bad := w.put("a", long), w.put("b", long+"!")
	w.bytes.Set(w.name(bad), []byte(long+"?"))
	if found := w.check(false); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	row, _ := w.ledger.Blob(b)
	want(w, "blocks of what was not read", row.Block, 0)
	w.one(w.check(true), "damaged")
	w.hasSums(b, long)
	row, _ = w.ledger.Blob(bad)
	want(w, "blocks of what is damaged", row.Block, 0)
	if found := w.check(true); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}

// Sums that are not those of the bytes, which have their digest, are reported and
// computed anew; the blob is not to blame.
func TestVerifyMendsSums(t *testing.T) {
	w := newWorld(t)
	b := w.put("a", long)
	wrong := blocksOf(long)
	wrong.Sums[1] ^= 1
	_, err := w.ledger.NoteBlocks(w.ctx, b, int64(len(long)), wrong)
	w.must(err)
	w.one(w.check(true), "sums")
	w.hasSums(b, long)
	row, _ := w.ledger.Blob(b)
	want(w, "suspect", row.Suspect, false)
	if found := w.check(true); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}
