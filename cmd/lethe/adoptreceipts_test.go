package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// Receipts are listed and exported, sealed or not. The chain is verified, also
// against a recorded head, and a removed receipt is detected.
func TestAdoptReceipts(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("unreferenced: 10m", "unreferenced: 0s"))
	a.ok(nil, "guard", "install", a.file, "--yes")
	p, err := a.store.Create(t.Context(), []byte("gone"), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	a.ok([]string{"rows 1"}, "run", a.file, "--once")
	a.ok([]string{"WENT", "pastes", "row", p.Code}, "receipts", "list", a.file)
	a.ok([]string{"the chain is intact: 0 receipts in 0 segments", "2 receipts not sealed yet"}, "receipts", "verify", a.file)
	// They are sealed once the oldest has waited.
	a.sql(`UPDATE lethe.receipts SET at = at - 3600 * 1000000::bigint`)
	a.ok([]string{"receipts_sealed"}, "run", a.file, "--once")
	if n := a.count(`SELECT count(*) FROM lethe.receipts`); n != 0 {
		t.Fatalf("%d rows of receipts are not sealed", n)
	}
	out := a.ok([]string{"the chain is intact: 2 receipts in 1 segment", "head 1:"}, "receipts", "verify", a.file)
	_, head, _ := strings.Cut(strings.TrimSpace(out), "head ")
	a.ok(nil, "receipts", "verify", a.file, "--head", head, "--json")
	if code, out := a.run("receipts", "list", a.file, "--collection", "pasts"); code == 0 || !strings.Contains(out, `no collection "pasts", and no receipt`) {
		t.Errorf("a collection that is misspelled: exit code %d\n%s", code, out)
	}
	a.ok([]string{`"kind":"row"`, `"collection":"pastes"`, `"key":"` + p.Code + `"`}, "receipts", "export", a.file, "--collection", "pastes")
	if out := a.ok(nil, "receipts", "export", a.file, "--since", lethe.SystemClock{}.Now().Add(-time.Minute).String()); strings.Contains(out, p.Code) {
		t.Errorf("what went before --since is exported:\n%s", out)
	}
	a.ok([]string{"row " + p.Code + " was removed"}, "explain", a.file, p.Code)
	if code, out := a.run("receipts", "verify", a.file, "--head", "1:"+strings.Repeat("0", 64)); code == 0 || !strings.Contains(out, "rewritten") {
		t.Errorf("another head: exit code %d\n%s", code, out)
	}
	a.sql(`DELETE FROM lethe.receipt_pages`)
	if code, out := a.run("receipts", "verify", a.file); code == 0 || !strings.Contains(out, "broken at seal 1") {
		t.Errorf("receipts that were taken away: exit code %d\n%s", code, out)
	}
}
