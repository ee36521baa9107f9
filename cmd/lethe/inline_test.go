package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// A body up to store.inline lies in the ledger, whatever else is said of it; one byte more
// lies on a backend. What was stored under another setting stays as it is.
func TestContentsInTheLedger(t *testing.T) {
	w := newWorld(t, "store.inline=8").start()
	w.bucket("first")
	w.put("first", "limit", "12345678", "1h")
	w.put("first", "copy", "12345678", "2h")
	w.put("first", "beyond", "123456789", "1h")
	w.inLedger("before", 1, 8)
	w.state("live", 1)
	for key, want := range map[string]bool{"limit": true, "copy": true, "beyond": false} {
		e := asked[api.Explanation](w, "explain", "s3://first/"+key)
		if c := e.Contents[0]; c.Inline != want || len(c.Blobs) != map[bool]int{true: 0, false: 1}[want] {
			t.Errorf("%s lies in %+v", key, c)
		}
	}
	if out := w.ok("status"); !strings.Contains(out, "(ledger)  inline") {
		t.Errorf("status says\n%s", out)
	}
	if out := w.ok("backup", w.dir+".copy"); !strings.Contains(out, "with 8 B of objects that lie in the ledger") {
		t.Errorf("backup says %s", out)
	}

	w.stop()
	w.settings = append(w.settings, "store.inline=none")
	w.start()
	w.put("first", "new", "abc", "")
	w.put("first", "again", "12345678", "3h") // known, so without bytes of its own
	w.state("live", 2)
	if got, err := w.get("first", "limit"); got != "12345678" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}

	w.clock.Advance(150 * time.Minute)
	if got := w.expires(); got != "takes 3, stays 0" {
		t.Errorf("a dry run says %s", got)
	}
	if f := asked[api.DryRun](w, "reclaim", "--dry-run", "--only", "expire").Routines[0]; f.Takes.Frees != 9 {
		t.Errorf("a dry run frees %d bytes, want those of the one that is not shared", f.Takes.Frees)
	}
	w.reclaimed("objects", 3, "expire")
	w.says("once one of three is left", "limit", "its bytes are shared, and stay for 1 other reference")
	w.clock.Advance(time.Hour)
	w.reclaimed("inline", 1, "expire")
	w.inLedger("once all are gone", 0, 0)
	w.says("once all are gone", "limit", "its bytes lay in the ledger, and went at")
	if out := w.ok("check"); !strings.Contains(out, "nothing is wrong") {
		t.Errorf("check says %s", out)
	}
}

// By default what fits lies in the ledger, as its file would lie beside it.
func TestSmallContentsLieInTheLedgerByDefault(t *testing.T) {
	w := newWorld(t, "store.inline=auto").start()
	w.bucket("first")
	w.put("first", "fits", strings.Repeat("x", 4096), "")
	w.put("first", "does-not", strings.Repeat("y", 4097), "")
	w.inLedger("by default", 1, 4096)
	w.state("live", 1)
}

// inLedger fails unless status counts so many contents and bytes in the ledger.
func (w *world) inLedger(when string, contents, bytes int64) {
	w.t.Helper()
	if s := status(w); s.Inline != (api.InlineTotal{Contents: contents, Bytes: bytes}) {
		w.t.Errorf("%s, the ledger has %+v, want %d contents of %d bytes", when, s.Inline, contents, bytes)
	}
}

// A setting beyond what a ledger may hold is refused.
func TestTooLargeForTheLedger(t *testing.T) {
	newWorld(t, "store.inline=1MiB").fails("store.inline: is 1MiB; use at most 128KiB, or none", "config", "validate")
}

// After a change of store.inline, contents move on request, as a plan listed them.
func TestContentsMoveOnRequest(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "small", "12345678", "")
	w.put("first", "other", "1234567", "")
	w.put("first", "large", "123456789", "")
	inline := func(limit, when string, contents, bytes int64) {
		t.Helper()
		w.stop()
		w.settings = append(w.settings, "store.inline="+limit)
		w.start()
		w.inLedger(when, contents, bytes)
	}
	inline("8", "before", 0, 0)
	path, end := w.planned("reclaim", "--only", "inline")
	if g := end.Totals.Groups; end.Totals.Items != 2 || !strings.HasPrefix(g[0].Why, "moved into the ledger; condemned on ") || g[0].Blobs != 2 || end.Estimates[0].Calls != 2 {
		t.Fatalf("planned %+v %+v", end.Totals, end.Estimates)
	}
	w.remove("first", "other")
	if res := w.applied(path); res.Done.Items != 1 || res.Outcomes[plan.Gone] != 1 {
		t.Errorf("applied %+v", res)
	}
	w.inLedger("moved in", 1, 8)
	for key, body := range map[string]string{"small": "12345678", "large": "123456789"} {
		if got, err := w.get("first", key); got != body || err != nil {
			t.Errorf("read %q of %s, %v", got, key, err)
		}
	}
	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once", "--only", "clean")
	w.state("live", 1)
	w.reclaimed("items", 0, "inline")

	inline("none", "before it is moved out", 1, 8)
	w.reclaimed("moved_out", 1, "inline")
	w.inLedger("moved out", 0, 0)
	w.state("live", 2)
	if got, err := w.get("first", "small"); got != "12345678" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if out := w.ok("check", "--checksums"); !strings.Contains(out, "nothing is wrong") {
		t.Errorf("check says %s", out)
	}
}
