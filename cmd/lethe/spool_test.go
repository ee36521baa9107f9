package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/internal/spool"
)

// What a process noted before it died is looked up by the next one: by the row of
// the blob, or the record of the operation.
func TestSpoolIsLookedUp(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "k", "body", "")
	e := asked[admin.Explanation](w, "explain", "s3://first/k")
	w.stop()
	s := spool.Open(spool.Options{Dir: filepath.Join(w.dir, "spool")})
	s.Add(spool.Entry{Stage: "commit", Reason: "unknown", Backend: "main", Blob: lethe.ID(e.Contents[0].Blobs[0].ID), Size: 4})
	s.Add(spool.Entry{Stage: "settle", Reason: "unavailable", Backend: "main", Blob: lethe.RandomID(1), Fence: 7})
	s.Add(spool.Entry{Stage: "delete", Reason: "unknown", Op: lethe.RandomID(1)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if list := asked[[]admin.SpoolEntry](w, "spool", "list"); len(list) != 3 {
		t.Fatalf("noted are %+v", list)
	}
	r := asked[admin.SpoolReport](w, "spool", "replay")
	if r.Resolved["live"] != 1 || r.Resolved["gone"] != 1 || r.Resolved["not done"] != 1 || r.Open != 0 {
		t.Fatalf("replayed: %+v", r)
	}
	if out := w.ok("spool", "replay"); !strings.Contains(out, "nothing to do; 0 open") {
		t.Errorf("told as %q", out)
	}
}
