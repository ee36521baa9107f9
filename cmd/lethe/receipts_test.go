package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/receipt"
)

// Explain shows by whom a deleted object was deleted, and when its bytes were
// confirmed gone. Receipts can be exported, and their chain is valid.
func TestReceipts(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes of a", "")
	w.put("first", "b", "bytes of b", "")
	w.remove("first", "a")
	e := asked[api.Explanation](w, "explain", "s3://first/a")
	if len(e.Gone) != 1 || e.Gone[0].Receipt.By.Key == "" || e.Gone[0].Receipt.By.Request == "" || len(e.Gone[0].Left) != 1 {
		t.Fatalf("explained as %+v", e)
	}
	w.clock.Advance(time.Minute)
	w.reclaimed("gone", 1, "clean")
	w.clock.Advance(time.Hour)
	w.reclaimed("seals", 1, "receipts")
	e = asked[api.Explanation](w, "explain", "s3://first/a")
	if len(e.Gone) != 1 || len(e.Gone[0].Confirmed) != 1 || !strings.Contains(e.Verdict, "confirmed gone") {
		t.Fatalf("explained as %+v", e)
	}
	_, out, _ := w.lethe("receipts", "export", "--bucket", "first")
	if !strings.Contains(out, `"reason":"delete"`) || strings.Count(out, "\n") != 1 {
		t.Errorf("exported as\n%s", out)
	}
	_, out, _ = w.lethe("receipts", "verify")
	if !strings.Contains(out, "the chain is intact: 2 receipts in 1 segment") {
		t.Errorf("verified as\n%s", out)
	}
	zeros := strings.Repeat("0", 64)
	w.fails("was rewritten since", "receipts", "verify", "--head", "1:"+zeros)
	w.remove("first", "b")
	w.clock.Advance(time.Hour)
	w.reclaimed("seals", 1, "receipts")
	w.clock.Advance(60 * 24 * time.Hour)
	w.reclaimed("dropped", 2, "receipts")
	w.fails("seal 1 was dropped", "receipts", "verify", "--head", "1:"+zeros) // there is nothing to compare it with
	w.fails("was rewritten since", "receipts", "verify", "--head", "2:"+zeros)
}

// Unsealed receipts are exported page by page, all of them and once; those of
// an operator's deletions show that.
func TestReceiptsInPages(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "7d")
	w.put("first", "restored", "bytes", "")
	w.remove("first", "restored")
	w.ok("trash", "restore", asked[[]api.TrashEntry](w, "trash", "list")[0].ID)
	e := asked[api.Explanation](w, "explain", "s3://first/restored")
	if len(e.Gone) != 1 || e.Gone[0].Receipt.By.Key == "" || !strings.HasSuffix(e.Gone[0].Why, ", by "+e.Gone[0].Receipt.By.Key) {
		t.Fatalf("explained as %+v", e)
	}
	w.bucket("second")
	const many = 110 // more than two pages of unsealed receipts
	for i := range many {
		w.put("second", fmt.Sprint(i), "", "")
		w.remove("second", fmt.Sprint(i))
	}
	out := w.ok("receipts", "export")
	lines := map[string]bool{}
	for line := range strings.Lines(out) {
		lines[line] = true
	}
	if len(lines) != many+1 || strings.Count(out, "\n") != many+1 {
		t.Errorf("%d lines, %d of them different, want %d", strings.Count(out, "\n"), len(lines), many+1)
	}
}

// explainedGone explains a key without an object, and returns the last version
// that went.
func (w *world) explainedGone(bucket, key string) api.Gone {
	w.t.Helper()
	e := asked[api.Explanation](w, "explain", "s3://"+bucket+"/"+key)
	if e.Object != nil || len(e.Gone) == 0 {
		w.t.Fatalf("explained as %+v", e)
	}
	return e.Gone[len(e.Gone)-1]
}

// Receipts show deletions by an operator, by a rule and by expiry as such.
func TestReceiptsSayWhy(t *testing.T) {
	w := newWorld(t, "reclaim.grace.attempts=1").start()
	list := w.letters()
	g := w.explainedGone("first", "a")
	if !strings.Contains(g.Fate, "1 dead letter") || len(g.Left) != 1 {
		t.Errorf("a dead letter is told as %+v", g)
	}
	w.ok("dead", "write-off", list[0].ID, list[1].ID)
	g = w.explainedGone("first", "a")
	if !strings.Contains(g.Fate, "written off") || g.Confirmed[0].How != receipt.WrittenOff || g.Confirmed[0].By.Key == "" {
		t.Errorf("what was written off is told as %+v", g)
	}
	w.unstick()
	w.bucket("second")
	w.put("second", "short", "x", "1m")
	w.put("second", "ruled", "y", "")
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"Rules":[{"ID":"old drafts","Status":"Enabled","Filter":{"Prefix":"ruled"},"Expiration":{"Days":1}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.ok("lifecycle", "set", "second", rules)
	w.ok("reclaim", "--once", "--only", "lifecycle")
	w.clock.Advance(72 * time.Hour)
	w.reclaimed("objects", 2, "expire")
	if g = w.explainedGone("second", "short"); !strings.Contains(g.Why, "time to live ended, by run") || g.Receipt.By.Run == "" {
		t.Errorf("what expired is told as %+v", g)
	}
	if g = w.explainedGone("second", "ruled"); !strings.Contains(g.Why, `rule "old drafts" (number 1)`) {
		t.Errorf("what a rule ended is told as %+v", g)
	}
	w.ok("buckets", "set", "second", "--undo", "7d")
	w.put("second", "binned", "z", "")
	w.remove("second", "binned")
	w.ok("trash", "purge", asked[[]api.TrashEntry](w, "trash", "list")[0].ID)
	w.ok("reclaim", "--once", "--only", "purge")
	if g = w.explainedGone("second", "binned"); !strings.Contains(g.Why, "had asked") || g.Receipt.Trash.EndedBy.Key == "" {
		t.Errorf("what was purged on request is told as %+v", g)
	}
}

// For a key that was overwritten often the last versions are shown, and how
// many went before.
func TestExplainOfManyDeletedVersions(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	for i := range 25 {
		w.put("first", "a", fmt.Sprint("version ", i), "")
	}
	e := asked[api.Explanation](w, "explain", "s3://first/a")
	if len(e.Gone) != 20 || e.GoneEarlier != 4 || e.Object == nil || e.Gone[0].Receipt.At > e.Gone[19].Receipt.At {
		t.Errorf("%d versions are told, %d went before", len(e.Gone), e.GoneEarlier)
	}
	if text := w.ok("explain", "s3://first/a"); !strings.Contains(text, "4 versions before those below") {
		t.Errorf("explained as\n%s", text)
	}
}

// A receipt that was rewritten in the ledger's file is detected.
func TestRewrittenReceipt(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.remove("first", "a")
	w.clock.Advance(time.Hour)
	w.reclaimed("seals", 1, "receipts")
	w.ok("check")
	w.stop()
	execute(t, filepath.Join(w.dir, "ledger.db"), `UPDATE receipt_seals SET until_at = until_at - 1`)
	w.finds("receipts", "check")
	w.fails("broken at seal 1", "receipts", "verify")
}
