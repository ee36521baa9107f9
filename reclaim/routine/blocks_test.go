package routine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/test/reclaimtest"
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
	row, _ := w.Ledger.Blob(b)
	sums := blocksOf(body)
	have, err := w.Ledger.BlockSums(w.Ctx, b, 0, int64(len(sums.Sums)-1))
	w.Must(err)
	if row.Block != sums.Size || len(have) != len(sums.Sums) {
		w.Fatalf("%d sums of blocks of %d bytes are known", len(have), row.Block)
	}
	for i := range have {
		reclaimtest.Want(w, "sum", have[i], sums.Sums[i])
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
	b := w.Intent("a", long, true)
	w.Upload(b, long)
	w.silent()
	ctx, die := context.WithCancel(w.Ctx)
	r := w.reap()
	r.Ledger = dying{w.Ledger, die}
	if _, err := r.Pass("worker")(ctx, func(string, int64) {}); err != nil || ctx.Err() == nil {
		t.Errorf("%v, dead: %v", err, ctx.Err())
	}
	reclaimtest.Want(w, "state", w.State(b), lethe.Live)
	w.hasSums(b, long)
	w.Sound()
}

// What is checked from before there were sums has them afterwards; what is damaged
// gets none.
func TestVerifyNotesBlocks(t *testing.T) {
	w := newWorld(t)
	b, bad := w.Put("a", long), w.Put("b", long+"!")
	w.Bytes.Set(w.BlobName(bad), []byte(long+"?"))
	if found := w.check(false); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	row, _ := w.Ledger.Blob(b)
	reclaimtest.Want(w, "blocks of what was not read", row.Block, 0)
	w.one(w.check(true), "damaged")
	w.hasSums(b, long)
	row, _ = w.Ledger.Blob(bad)
	reclaimtest.Want(w, "blocks of what is damaged", row.Block, 0)
	if found := w.check(true); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}

// Sums that are not those of the bytes, which have their digest, are reported and
// computed anew; the blob is not to blame.
func TestVerifyMendsSums(t *testing.T) {
	w := newWorld(t)
	b := w.Put("a", long)
	wrong := blocksOf(long)
	wrong.Sums[1] ^= 1
	_, err := w.Ledger.NoteBlocks(w.Ctx, b, int64(len(long)), wrong)
	w.Must(err)
	w.one(w.check(true), "sums")
	w.hasSums(b, long)
	row, _ := w.Ledger.Blob(b)
	reclaimtest.Want(w, "suspect", row.Suspect, false)
	if found := w.check(true); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}
