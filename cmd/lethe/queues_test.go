package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// TestQueuesFromTheCommandLine lists what waits to be deleted and what is being
// written, by filters and pages.
func TestQueuesFromTheCommandLine(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	for _, key := range []string{"a", "b", "c"} {
		w.put("first", key, "bytes of "+key, "")
		w.remove("first", key)
	}
	if _, err := w.app.Ledger.Begin(t.Context(), ledger.Intent{ID: lethe.RandomID(w.clock.Now()), Backend: "main", Size: 10}); err != nil {
		t.Fatal(err)
	}
	w.lists("cleanup-queue", map[string]int{"": 3, "--state scheduled": 3, "--state due": 0, "--min-age 1h": 0, "--limit 2": 2, "--min-attempts 1": 0, "--reason delete": 3, "--reason expiry": 0})
	w.lists("pending-objects", map[string]int{"": 1, "--state alive": 1, "--state silent": 0, "--backend main": 1})
	w.clock.Advance(2 * time.Hour)
	if _, err := w.app.Ledger.ClaimCondemned(t.Context(), ledger.ClaimRequest{Worker: "worker/7", Backend: "main", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	w.lists("cleanup-queue", map[string]int{"": 3, "--state claimed": 1, "--claimed-by worker/": 1, "--claimed-by other": 0, "--state due": 2, "--min-age 1h": 3})
	w.lists("pending-objects", map[string]int{"--state alive": 0, "--state silent": 1, "--state silent --min-age 3h": 0})

	code, out, errs := w.lethe("cleanup-queue", "list", "--limit", "2")
	_, after, more := strings.Cut(errs, "--after ")
	if code != 0 || !more || !strings.Contains(out, "worker/7") || !strings.Contains(out, "delete") {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	rest := asked[[]api.QueuedInfo](w, "cleanup-queue", "list", "--after", strings.Fields(after)[0])
	if len(rest) != 1 || rest[0].Worker != "" || rest[0].Size != 10 || rest[0].DueAt.IsZero() || rest[0].Content == "" {
		t.Errorf("the next page is %+v", rest)
	}
	w.fails("claimed, due or scheduled", "cleanup-queue", "list", "--state", "silent")
	w.fails("claimed, silent or alive", "pending-objects", "list", "--state", "due")
	w.fails("min_age", "cleanup-queue", "list", "--min-age", "soon")
	w.fails("no such backend", "pending-objects", "list", "--backend", "nowhere")
	w.fails("after is not", "cleanup-queue", "list", "--after", "nonsense!")
}

// lists counts what a queue lists with some flags.
func (w *world) lists(queue string, want map[string]int) {
	w.t.Helper()
	for flags, n := range want {
		if got := asked[[]api.QueuedInfo](w, append([]string{queue, "list"}, strings.Fields(flags)...)...); len(got) != n {
			w.t.Errorf("%s %s lists %d, want %d", queue, flags, len(got), n)
		}
	}
}
