package sqlledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/receiptdb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// TestReceiptsAreCheap: the cost of receipts is one row per transaction and some dozens of
// bytes per deletion; fewer once sealed.
func TestReceiptsAreCheap(t *testing.T) {
	const n = 1000
	l := newLedger(t)
	for i := range n {
		key := fmt.Sprintf("logs/2030/01/31/%06d.json", i)
		c := commitOf(l.DB, key, ledger.Uploaded{Blob: l.begin(100), Size: 100, Digest: hexSum(key)})
		c.TTL, c.Object.ETag = time.Minute, hexSum(key)[:32]
		_, err := l.Commit(l.ctx, c)
		l.ok(err)
	}
	rows := func(table string) (count, bytes int64) {
		l.ok(l.read(l.ctx, "receipts", func(t *tx) error {
			return t.Row("SELECT count(*), coalesce(sum(length(body)), 0) FROM "+table).Scan(&count, &bytes)
		}))
		return count, bytes
	}
	l.clock.Advance(time.Hour)
	l.expire(ledger.Batch{Limit: n})
	count, bytes := rows("receipts")
	t.Logf("%d objects expired: %d row, %d bytes each", n, count, bytes/n)
	if count != 1 || bytes > 200*n {
		t.Errorf("%d rows with %d bytes", count, bytes)
	}
	l.clock.Advance(readGrace)
	claimed, err := l.ClaimCondemned(l.ctx, ledger.ClaimRequest{Backend: "disk", Worker: "w", Limit: n})
	l.ok(err)
	s := ledger.Settlement{Fence: claimed.Fence}
	for _, b := range claimed.Blobs {
		s.Items = append(s.Items, ledger.SettleItem{ID: b.ID, Result: ledger.Gone})
	}
	_, err = l.Settle(l.ctx, s)
	l.ok(err)
	count, bytes2 := rows("receipts")
	t.Logf("%d blobs settled: %d row, %d bytes each", n, count-1, (bytes2-bytes)/n)
	if count != 2 || bytes2 > 300*n {
		t.Errorf("%d rows with %d bytes", count, bytes2)
	}
	u, err := l.UnsealedReceipts(l.ctx, 50_000)
	l.ok(err)
	seg, err := receipt.Cut("store", u.Last, u.Batches, u.Now)
	l.ok(err)
	l.ok(l.SealReceipts(l.ctx, seg))
	count, bytes = rows("receipt_pages")
	t.Logf("%d receipts sealed: %d pages, %d bytes each", 2*n, count, bytes/(2*n))
	if count > 20 || bytes > 2*n*150 {
		t.Errorf("%d pages with %d bytes", count, bytes)
	}
}

// TestNothingIsToldFromUnderTheAnchor: look-ups ignore anything stored before the anchor,
// whose receipts were dropped.
func TestNothingIsToldFromUnderTheAnchor(t *testing.T) {
	l := newLedger(t)
	_, err := l.Commit(l.ctx, commitOf(l.DB, "k", ledger.Uploaded{Blob: l.begin(5), Size: 5, Digest: hexSum("k")}))
	l.ok(err)
	l.remove("k")
	u, err := l.UnsealedReceipts(l.ctx, 10)
	l.ok(err)
	seg, err := receipt.Cut("store", u.Last, u.Batches, u.Now)
	l.ok(err)
	l.ok(l.SealReceipts(l.ctx, seg))
	l.clock.Advance(time.Hour)
	n, err := l.DropReceipts(l.ctx, time.Minute, 10)
	l.ok(err)
	if n != 1 {
		t.Fatalf("%d segments were dropped", n)
	}
	forged := seg.Pages[0]
	l.ok(l.write(l.ctx, "forge", func(t *tx) error {
		_, err := t.Exec(receiptdb.InsertPage, seg.Seq, int64(forged.Lowest), forged.Number, forged.Count, forged.Body)
		return err
	}))
	list, err := l.Receipts(l.ctx, forged.Lowest)
	l.ok(err)
	if len(list) != 0 {
		t.Errorf("told %+v", list)
	}
}

// TestUnreadableReceipts: the error names the unreadable row. Once it is set aside the
// others are sealed.
func TestUnreadableReceipts(t *testing.T) {
	l := newLedger(t)
	for _, key := range []string{"a", "b"} {
		l.putTTL(key, "digest "+key, time.Minute)
		l.clock.Advance(time.Hour)
		l.expire(ledger.Batch{Limit: 1})
	}
	write := func(query string) {
		l.ok(l.batch(l.ctx, "damage", func(t *tx) error { _, err := t.Exec(query); return err }))
	}
	write(`UPDATE receipts SET body = CAST('damaged' AS BLOB) WHERE id = (SELECT min(id) FROM receipts)`)
	_, unsealed := l.UnsealedReceipts(l.ctx, 100)
	_, found := l.Receipts(l.ctx, receipt.OfObject("b", "b"))
	for _, err := range []error{unsealed, found} {
		if !errors.Is(err, lethe.ErrCorrupt) || !strings.Contains(err.Error(), "row 1 of the table receipts") || !strings.Contains(err.Error(), "docs/receipts.md") {
			t.Errorf("the error does not say what to do: %v", err)
		}
	}
	write(`DELETE FROM receipts WHERE id = 1`)
	u, err := l.UnsealedReceipts(l.ctx, 100)
	l.ok(err)
	list, err := l.Receipts(l.ctx, receipt.OfObject("b", "b"))
	l.ok(err)
	if len(u.Batches) != 1 || len(list) != 1 {
		t.Errorf("%d batches, %d receipts of b", len(u.Batches), len(list))
	}
}
