package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// TestHeldTrash checks that no command says that a held entry of the trash is purged at a time,
// and that a hold says that it keeps what lies only in the trash.
func TestHeldTrash(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "1h", "--yes")
	w.put("first", "a/held", "bytes", "")
	w.put("first", "a/free", "others", "")
	w.remove("first", "a/held")
	w.remove("first", "a/free")
	contains(t, "hold add on a prefix", w.ok("hold", "add", "s3://first/a/"), "now:     no object, but 2 entries of the trash: lethe trash list --bucket first --prefix a/")
	w.ok("hold", "rm", "s3://first/a/", "--yes")
	contains(t, "hold add on a key", w.ok("hold", "add", "s3://first/a/held"), "now:     no object, but 1 entry of the trash: ")
	contains(t, "explain", w.ok("explain", "s3://first/a/held"), ", held: not purged, also after ")
	w.clock.Advance(2 * time.Hour)
	for _, line := range strings.Split(w.ok("trash", "list"), "\n") {
		switch {
		case strings.Contains(line, "a/held") && !strings.HasSuffix(line, "  held"),
			strings.Contains(line, "a/free") && !strings.HasSuffix(line, "  due"):
			t.Errorf("trash list says %s", line)
		}
	}
	shown := newScreen(t)
	run(context.Background(), w.args("hold", "rm", "s3://first/a/held"), streams{terminal(t, "n\n"), io.Discard, shown.file})
	contains(t, "the question of hold rm", shown.read(), "on s3://first/a/held, 1 entry of the trash?")
	if out := w.ok("receipts", "verify"); strings.Contains(out, "head") {
		t.Errorf("a chain without seals has a head:\n%s", out)
	}
}
