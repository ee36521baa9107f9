package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // to damage a ledger

	"github.com/lethe-storage/lethe/admin/api"
)

// process runs the command as a process; its outputs end with it.
func (w *world) process(args ...string) (cmd *exec.Cmd, out, errs *tail, ended <-chan error) {
	w.t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asCommand+"="+strings.Join(args, "\n"))
	out, errs = newTail(), newTail()
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	result, over := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		result <- cmd.Wait()
		out.end()
		errs.end()
	}()
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill() // has usually ended
		<-over
	})
	return cmd, out, errs, result
}

// The first start creates the folder and a key, shows where to go, keeps the
// secret private, and ends on SIGTERM; the next start has the same key.
func TestFirstStart(t *testing.T) {
	w := newWorld(t)
	var first string
	for i := range 2 {
		cmd, out, errs, ended := w.process(w.args("serve")...)
		text, ok := out.await("lethe status")
		if !ok {
			t.Fatalf("not started: %s%s", text, errs)
		}
		credentials, err := os.ReadFile(filepath.Join(w.dir, "credentials"))
		if err != nil {
			t.Fatal(err)
		}
		_, secret, _ := strings.Cut(strings.TrimSpace(string(credentials)), "aws_secret_access_key = ")
		if len(secret) < 30 || strings.Contains(out.String()+errs.String(), secret) {
			t.Errorf("the secret is short, or shown where it ends up in logs")
		}
		for _, want := range []string{"S3 ", "pastes ", "metrics ", "console ", "access key", "AWS_SHARED_CREDENTIALS_FILE=", "curl "} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if i == 0 {
			first = string(credentials)
			w.modes()
		} else if string(credentials) != first {
			t.Error("the second start made another key")
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if text, ok := errs.await("stopping"); !ok {
			t.Errorf("it did not stop in order: %s", text)
		}
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	}
}

// modes fails unless everything in the data folder is private to its owner.
func (w *world) modes() {
	mode(w.t, w.dir, 0o700)
	for _, name := range []string{"credentials", "ledger.db", "admin.sock", "lock"} {
		mode(w.t, filepath.Join(w.dir, name), 0o600)
	}
	mode(w.t, filepath.Join(w.dir, "blobs"), 0o700)
}

// A key in the configuration or environment replaces the generated one.
func TestTheRootKeyCanBeSet(t *testing.T) {
	w := newWorld(t, "root.access_key=myself", "root.secret=a-long-secret").start()
	if w.app.Root.Access != "myself" || w.app.Root.Path != "" {
		t.Errorf("the root key is %+v", w.app.Root)
	}
	w.bucket("first")
	if _, err := os.Stat(filepath.Join(w.dir, "credentials")); err == nil {
		t.Error("a key was generated all the same")
	}
}

func TestTwoServersOnOneFolder(t *testing.T) {
	w := newWorld(t).start()
	var out, errs bytes.Buffer
	code := run(context.Background(), w.args("serve"), streams{strings.NewReader(""), &out, &errs})
	if code != 1 || !strings.Contains(errs.String(), "another lethe (process ") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	w.bucket("still-served")
}

// Commands print the same with and without a running server, and never bypass
// one.
func TestCommandsWithAndWithoutServer(t *testing.T) {
	w := newWorld(t)
	w.fails("lethe serve", "status")
	w.start()
	w.bucket("first")
	w.put("first", "a", "bytes", "1d")
	ask := func() map[string]string {
		answers := map[string]string{}
		for _, c := range []string{"buckets list", "keys list", "trash list", "dead list", "explain s3://first/a", "backend list"} {
			answers[c] = w.ok(append(strings.Fields(c), "--json")...)
		}
		return answers
	}
	with := ask()
	if s := asked[api.Status](w, "status"); !s.Serving || s.Objects != 1 {
		t.Errorf("status says %+v", s)
	}
	w.stop()
	if s := asked[api.Status](w, "status"); s.Serving || s.Objects != 1 {
		t.Errorf("status says %+v", s)
	}
	for c, answer := range ask() {
		if scrub(t, answer) != scrub(t, with[c]) {
			t.Errorf("%s answers\n%s\nwith a server, and without one\n%s", c, with[c], answer)
		}
	}
	w.ok("check")
	w.ok("reclaim", "--once")
	w.ok("buckets", "set", "first", "--undo", "1d")
	if err := os.Remove(filepath.Join(w.dir, "ledger.db")); err != nil {
		t.Fatal(err)
	}
	w.fails("no store", "status")
}

// scrub removes what changes from one moment to the next.
func scrub(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			delete(m, "now")
			delete(m, "free")
			delete(m, "epoch")
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Damaged ledgers are refused with what to do, and not changed.
func TestDamagedLedgersAreRefused(t *testing.T) {
	newer := func(t *testing.T, path string) {
		execute(t, path, "INSERT INTO migrations (version, name, applied_at) VALUES (9999, 'from the future', 0)")
	}
	cases := map[string]struct {
		harm func(t *testing.T, path string)
		want string
	}{
		"garbage": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 4096), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a database"},
		"newer": {newer, "use a newer lethe"},
		"foreign": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			execute(t, path, "CREATE TABLE mine (x)")
		}, "not a ledger of lethe"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).start()
			w.stop()
			path := filepath.Join(w.dir, "ledger.db")
			c.harm(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			w.fails(c.want, "serve")
			w.fails(c.want, "status")
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func execute(t *testing.T, path, query string) {
	t.Helper()
	// A server may be using the same file.
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

// A folder that cannot be written is refused with what to do.
func TestReadOnlyFolder(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.dir = filepath.Join(file, "d")
	w.fails("--data-dir", "serve")

	w.dir = "/proc/lethe-data" // not writable, even for root
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("this system has no /proc")
	}
	w.fails("--data-dir", "serve")
}

// A missing folder of a backend is not created: its disk may be unmounted.
func TestMissingBackend(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.stop()
	if err := os.Rename(filepath.Join(w.dir, "blobs"), filepath.Join(w.dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	w.fails("mount the disk", "serve")
	w.fails("mount the disk", "check")
	if code, _, _ := w.lethe("check"); code != exitFailed {
		t.Errorf("a check that cannot be made has exit code %d", code)
	}
}

// A first start on an address that is taken says which, and leaves no data folder.
func TestFirstStartOnATakenAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{"s3", "paste", "metrics", "console"} {
		w := newWorld(t, "server."+name+".listen="+l.Addr().String())
		w.dir = filepath.Join(w.dir, "data")
		code, _, errs := w.lethe("serve")
		if code != exitFailure || !strings.Contains(errs, "server."+name+".listen: ") || !strings.Contains(errs, "choose another address") {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		if _, err := os.Stat(w.dir); !os.IsNotExist(err) {
			t.Errorf("%s: the data folder is there: %v", name, err)
		}
	}
}
