package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
)

// TestExplainTellsOfHolds checks that explain names the hold that keeps an
// object.
func TestExplainTellsOfHolds(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.ok("hold", "add", "first", "--key", "a", "--reason", "an audit")
	e := asked[api.Explanation](w, "explain", "s3://first/a")
	if !strings.Contains(e.Verdict, `held (object "a") for "an audit"`) || len(e.Holds) != 1 {
		t.Errorf("explained as %q, holds %+v", e.Verdict, e.Holds)
	}
	w.fails("--legal", "hold", "rm", "first", "--key", "none")
	w.ok("hold", "rm", "first", "--key", "a")
	if e = asked[api.Explanation](w, "explain", "s3://first/a"); len(e.Holds) != 0 || strings.Contains(e.Verdict, "held") {
		t.Errorf("explained as %q, holds %+v", e.Verdict, e.Holds)
	}
}

// Explain shows since when the bytes of each copy are verified.
func TestExplainTellsWhenCopiesWereVerified(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes of a", "")
	if text := w.ok("explain", "s3://first/a"); !regexp.MustCompile(`(?m)^  blob .*, written 20\S+.*, not verified since$`).MatchString(text) {
		t.Errorf("after the write:\n%s", text)
	}
	w.ok("reclaim", "--once", "--only", "checksums")
	if text := w.ok("explain", "s3://first/a"); !regexp.MustCompile(`(?m)^  blob .*, verified 20\S+.*$`).MatchString(text) || strings.Contains(text, "not verified") {
		t.Errorf("after it was read:\n%s", text)
	}
}
