package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// heldFor returns why deletes on the only backend are stopped.
func (w *world) heldFor() string { return status(w).Backends[0].Held }

// accept accepts the world's ledger, and lets a quiet heartbeat pass.
func (w *world) accept(backend string) {
	w.t.Helper()
	w.ok("backend", "accept", backend)
	w.clock.Advance(quietTime)
}

// readyz returns the server's readiness report.
func (w *world) readyz() string {
	w.t.Helper()
	res, err := http.Get(strings.TrimSuffix(w.metrics, "/metrics") + "/readyz")
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("%d, %v: %s", res.StatusCode, err, text)
	}
	return string(text)
}

// A backup that is written back into its source file is an older copy, however
// little happened since.
func TestBackupRestoredInPlaceIsAnOlderCopy(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "ends", "bytes", "1h")
	file := filepath.Join(t.TempDir(), "backup.db")
	w.ok("backup", file)
	w.stop()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(app.LedgerPath(w.dir), text, 0o600) // the same file, other content
	}
	if err != nil {
		t.Fatal(err)
	}
	w.start()
	if why := w.heldFor(); !strings.Contains(why, "this ledger is an older copy") {
		t.Errorf("held for %q", why)
	}
	w.clock.Advance(2 * time.Hour)
	w.reclaimed("objects", 0, "expire")
}

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

// A raw copy of the ledger's file since the last epoch, served over the same
// bytes, is detected. Neither it nor the original deletes anything until a
// person decides. Once one has decided for the copy, that continues, and the
// original is stopped.
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
	if why := v.heldFor(); !strings.HasPrefix(why, ledger.RelocatedReason) || !strings.Contains(v.log.String(), "DELETES ARE STOPPED") {
		t.Fatalf("the copy is held for %q: %s", why, v.log)
	}
	if !strings.Contains(v.log.String(), `"event":"ledger_relocated"`) {
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
	if why := w.heldFor(); !strings.Contains(why, "one of two") {
		t.Errorf("the original is held beside its copy for %q", why)
	}
	if text := w.readyz(); !strings.HasPrefix(text, "ok\n") || !strings.Contains(text, "lethe backend accept main") {
		t.Errorf("/readyz says %q", text)
	}
	w.put("first", "later", "bytes of the original", "")
	w.reclaimed("gone", 0, "clean")
	w.accept("main")
	w.reclaimed("gone", 1, "clean")
	w.reclaimed("objects", 1, "expire")
	w.there("first", "later")
	w.stop()
	v.start()
	v.accept("main")
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

// A ledger that was put into PostgreSQL by other means has to be accepted
// before it is served; so does one in a folder.
func TestLedgerAccept(t *testing.T) {
	for name, settings := range map[string][]string{"postgres": shared(t, servers.Postgres(t), "cloud"), "sqlite": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings...).start()
			w.bucket("first")
			w.put("first", "ends", "bytes", "1h")
			backend := status(w).Backends[0].ID
			if name == "sqlite" {
				w.fails("running server", "ledger", "accept")
			}
			w.stop()
			if out := w.ok("ledger", "accept"); !strings.Contains(out, "lethe backend accept "+backend) {
				t.Error(out)
			}
			w.start()
			if why := w.heldFor(); why != sqlledger.Restored {
				t.Errorf("held for %q", why)
			}
			w.clock.Advance(2 * time.Hour)
			w.reclaimed("objects", 0, "expire")
			w.ok("backend", "accept", backend)
			w.reclaimed("objects", 1, "expire")
		})
	}
	w := newWorld(t)
	w.fails("lethe serve", "ledger", "accept")
	if r := asked[api.Status](w.start(), "status"); r.Objects != 0 {
		t.Error(r)
	}
}
