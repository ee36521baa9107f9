package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// serving starts a server as a process, and returns once it serves.
func (w *world) serving(args ...string) (cmd *exec.Cmd, errs *tail, ended <-chan error) {
	w.t.Helper()
	cmd, out, errs, ended := w.process(w.args(append([]string{"serve"}, args...)...)...)
	if text, ok := out.await("lethe status"); !ok {
		w.t.Fatalf("not started: %s%s", text, errs)
	}
	return cmd, errs, ended
}

// A killed server leaves a socket and a lock file behind; the next one starts
// all the same, and so do commands without a server.
func TestAfterAKill(t *testing.T) {
	w := newWorld(t)
	cmd, _, ended := w.serving()
	w.ok("keys", "add", "--id", "before", "--bucket", "bbb")
	w.fails("another lethe", "serve")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, err := os.Lstat(filepath.Join(w.dir, "admin.sock")); err != nil {
		t.Fatalf("no socket was left, so this tests nothing: %v", err)
	}
	if s := asked[api.Status](w, "status"); s.Serving {
		t.Error("the dead server answers")
	}
	cmd, _, ended = w.serving()
	if out := w.ok("keys", "list"); !strings.Contains(out, "before") {
		t.Errorf("a key is lost: %s", out)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Lstat(filepath.Join(w.dir, "admin.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server that stopped in order left its socket (%v)", err)
	}
}

// SIGHUP applies the log's level, and reports what waits for the next start.
func TestReload(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "lethe.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log:\n  level: info\n")
	cmd, errs, ended := w.serving("--config", file)
	for _, c := range []struct{ text, want string }{
		{"log:\n  level: debug\n", `"configuration reloaded","log.level":"debug"`},
		{"log:\n  level: info\ncache:\n  size: 1MiB\n", `take effect at the next start","log.level":"info","waiting":["cache.size"]`},
		{"nonsense: true\n", "the previous one stays in use"},
	} {
		write(c.text)
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if text, ok := errs.await(c.want); !ok {
			t.Fatalf("no %q in %s", c.want, text)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// The admin API on TCP needs the token, which commands read in the data folder.
func TestAdminOverTCP(t *testing.T) {
	w := newWorld(t, "server.admin.listen=127.0.0.1:0").start()
	url := w.app.Addresses().Admin
	mode(t, filepath.Join(w.dir, "admin.token"), 0o600)
	c := &api.Client{Base: url, HTTP: api.TCP()}
	var told *api.Error
	if _, err := c.Status(context.Background()); !errors.As(err, &told) || told.Code != "unauthorized" {
		t.Errorf("without a token: %v", err)
	}
	w.settings = append(w.settings, "server.admin.listen="+strings.TrimPrefix(url, "http://"))
	if s := asked[api.Status](w, "status"); !s.Serving {
		t.Error("the command did not ask the server")
	}
	if err := os.Remove(filepath.Join(w.dir, "admin.token")); err != nil {
		t.Fatal(err)
	}
	w.fails("token", "status")
}

// If a server works on the folder and its admin API is elsewhere, commands fail
// with that instead of bypassing it.
func TestCommandsDoNotBypassAServer(t *testing.T) {
	w := newWorld(t).start()
	w.settings = append(w.settings, "server.admin.listen=unix:elsewhere.sock")
	w.fails("does not answer on unix:elsewhere.sock", "status")
}

func TestHealthAndMetrics(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "ok",
		"/metrics": `lethe_blob_transitions_total{backend="main",from="pending",reason="",to="live"} 1`,
	} {
		if code, body := get(t, w.app.Addresses().Metrics+path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s answers %d %s", path, code, body)
		}
	}
	if code, body := get(t, w.app.Addresses().Metrics+"/metrics"); code != 200 || !strings.Contains(body, `lethe_requests_total{front="s3",operation="PutObject",status="200"} 1`) {
		t.Errorf("requests are not counted: %s", body)
	}
}

// A worker that was killed had contents to copy: the next process makes the second copies
// at once, not when its claims would have ended.
func TestKilledCopiesAreMadeAtTheStart(t *testing.T) {
	w := newWorld(t, "backends=[{name: one, kind: dir, path: one}, {name: two, kind: dir, path: two}]", "placement.replicas=2").start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	claimed, err := w.app.Ledger.ClaimPlacements(t.Context(), ledger.PlacementClaim{Worker: "dead", Limit: 16, Lease: time.Hour})
	if err != nil || len(claimed.Items) != 1 {
		t.Fatalf("%+v %v", claimed, err)
	}
	w.stop()
	w.start()
	if out := w.ok("reclaim", "--once", "--only", "replicate"); !strings.Contains(out, "copies 1") {
		t.Errorf("no copy was made: %s", out)
	}
}
