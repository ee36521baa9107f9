package main

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
)

// The server's last decisions can be listed, and found by a text. Without a server there are none.
func TestAudit(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "k", "bytes", "")
	w.ok("hold", "add", "s3://first/k", "--reason", "a lawyer")
	w.ok("hold", "rm", "s3://first/k", "--yes")
	all := asked[api.AuditLines](w, "audit")
	if all.Kept < 2 || len(all.Lines) != all.Kept || all.Lines[0].At.Before(all.Lines[len(all.Lines)-1].At) || all.Instance != "" {
		t.Fatalf("lines %+v", all)
	}
	found := asked[api.AuditLines](w, "audit", "--contains", "a lawyer")
	if len(found.Lines) == 0 || len(found.Lines) == found.Kept || found.Kept != all.Kept {
		t.Errorf("of the hold: %+v", found)
	}
	for _, l := range found.Lines {
		if !l.Has("a lawyer") || l.Who == "" {
			t.Errorf("found %+v", l)
		}
	}
	contains(t, "the list", w.ok("audit", "--contains", "holds/remove"), "WHEN", "admin", "kept since")
	w.stop()
	if code, out, errs := w.lethe("audit"); code == 0 || out != "" || !strings.Contains(errs, "no server answers here") {
		t.Errorf("without a server: exit code %d: %s%s", code, out, errs)
	}
}
