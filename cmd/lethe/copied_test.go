package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/cmd/lethe/app"
	"github.com/lethe-storage/lethe/internal/servers"
	"github.com/lethe-storage/lethe/meta"
)

// heldFor is why deletes on the only backend are stopped.
func (w *world) heldFor() string { return status(w).Backends[0].Held }

// copyFile makes a copy as cp does.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A raw copy of the ledger's file, made since the last epoch, is served over the same
// bytes: it is recognised, removes nothing, and the original goes on. Once a person
// has decided for the copy, that one goes on, and the original is stopped.
func TestACopyOfTheLedgerIsServed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a file is not told from its copies here")
	}
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "kept", "bytes that stay", "")
	w.put("first", "ends", "bytes that end", "1h")
	w.put("first", "deleted", "bytes that go", "")
	w.remove("first", "deleted")
	w.stop()
	v := w.beside("backends=[{name: main, kind: dir, path: " + filepath.Join(w.dir, "blobs") + "}]")
	copyFile(t, app.LedgerPath(w.dir), app.LedgerPath(v.dir))
	v.start() // one after the other: a process has only one S3 front
	if why := v.heldFor(); !strings.HasPrefix(why, meta.Moved) || !strings.Contains(v.log.String(), "DELETES ARE STOPPED") {
		t.Fatalf("the copy is held for %q: %s", why, v.log)
	}
	if !strings.Contains(v.log.String(), `"event":"ledger_strayed"`) {
		t.Errorf("the audit log does not say so: %s", v.log)
	}
	w.clock.Advance(2 * time.Hour)
	before := len(files(t, filepath.Join(w.dir, "blobs")))
	v.reclaimed("objects", 0, "expire")
	v.reclaimed("gone", 0, "clean")
	if n := len(files(t, filepath.Join(w.dir, "blobs"))); n != before {
		t.Errorf("the copy has made of %d files %d", before, n)
	}
	v.stop()
	w.start()
	if why := w.heldFor(); why != "" {
		t.Errorf("the original is held beside its copy: %s", why)
	}
	w.put("first", "later", "bytes of the original", "")
	w.reclaimed("gone", 1, "clean")
	w.reclaimed("objects", 1, "expire")
	w.there("first", "later")
	w.stop()
	v.start()
	v.ok("backend", "accept", "main")
	v.reclaimed("objects", 1, "expire")
	v.stop()
	v.start()
	if why := v.heldFor(); why != "" {
		t.Errorf("the copy is asked about twice: %s", why)
	}
	v.stop()
	w.start()
	if why := w.heldFor(); !strings.Contains(why, "this ledger is an older copy") {
		t.Errorf("the original is held for %q once the copy took its place", why)
	}
}

// A ledger that was put into PostgreSQL by other means is adopted before it is
// served; so is one in a folder.
func TestAdopt(t *testing.T) {
	for name, settings := range map[string][]string{"postgres": shared(t, servers.Postgres(t), "cloud"), "sqlite": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings...).start()
			w.bucket("first")
			w.put("first", "ends", "bytes", "1h")
			backend := status(w).Backends[0].ID
			if name == "sqlite" {
				w.fails("running server", "adopt")
			}
			w.stop()
			if out := w.ok("adopt"); !strings.Contains(out, "lethe backend accept "+backend) {
				t.Error(out)
			}
			w.start()
			if why := w.heldFor(); why != meta.Restored {
				t.Errorf("held for %q", why)
			}
			w.clock.Advance(2 * time.Hour)
			w.reclaimed("objects", 0, "expire")
			w.ok("backend", "accept", backend)
			w.reclaimed("objects", 1, "expire")
		})
	}
	w := newWorld(t)
	w.fails("lethe serve", "adopt")
	if r := asked[admin.Status](w.start(), "status"); r.Objects != 0 {
		t.Error(r)
	}
}
