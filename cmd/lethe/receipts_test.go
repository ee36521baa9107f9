package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin"
)

// What is gone is told of: by whom it was deleted, and when its bytes were
// confirmed gone; receipts can be exported, and their chain holds.
func TestReceipts(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes of a", "")
	w.put("first", "b", "bytes of b", "")
	w.remove("first", "a")
	e := asked[admin.Explanation](w, "explain", "s3://first/a")
	if len(e.Gone) != 1 || e.Gone[0].Receipt.By.Key == "" || e.Gone[0].Receipt.By.Request == "" || len(e.Gone[0].Left) != 1 {
		t.Fatalf("explained as %+v", e)
	}
	w.clock.Advance(time.Minute)
	w.reclaimed("gone", 1, "clean")
	w.clock.Advance(time.Hour)
	w.reclaimed("seals", 1, "receipts")
	e = asked[admin.Explanation](w, "explain", "s3://first/a")
	if len(e.Gone) != 1 || len(e.Gone[0].Confirmed) != 1 || !strings.Contains(e.Verdict, "confirmed gone") {
		t.Fatalf("explained as %+v", e)
	}
	_, out, _ := w.lethe("receipts", "export", "--bucket", "first")
	if !strings.Contains(out, `"reason":"delete"`) || strings.Count(out, "\n") != 1 {
		t.Errorf("exported as\n%s", out)
	}
	_, out, _ = w.lethe("receipts", "verify")
	if !strings.Contains(out, "the chain holds: 2 receipts in 1 segment") {
		t.Errorf("verified as\n%s", out)
	}
	w.fails("was rewritten since", "receipts", "verify", "--head", "1:0000")
}

// What is not sealed is exported page by page, all of it and once; what an operator
// ended tells so.
func TestReceiptsInPages(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "7d")
	w.put("first", "restored", "bytes", "")
	w.remove("first", "restored")
	w.ok("trash", "restore", asked[[]admin.TrashEntry](w, "trash", "list")[0].ID)
	e := asked[admin.Explanation](w, "explain", "s3://first/restored")
	if len(e.Gone) != 1 || e.Gone[0].Receipt.By.Key == "" || !strings.HasSuffix(e.Gone[0].Why, ", by "+e.Gone[0].Receipt.By.Key) {
		t.Fatalf("explained as %+v", e)
	}
	w.bucket("second")
	const many = 110 // more than two pages of what is not sealed
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
