//go:build linux

package compose_test

import (
	"bytes"
	"context"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// whole is what the compose file describes, running.
type whole struct {
	t   *testing.T
	p   project
	net *network
	all map[string]*container
	dir string
	env []string // of clients
}

// up starts what the file describes, and waits until the instances are ready.
func up(t *testing.T, file string, instances ...string) *whole {
	t.Helper()
	if os.Getenv("LETHE_COMPOSE") == "" {
		t.Skip("make compose runs it, as root")
	}
	dir := t.TempDir()
	// Others than root have to pass through it.
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := &whole{t: t, p: load(t, dir, file), all: map[string]*container{}, dir: dir}
	order := w.p.order()
	w.net = newNetwork(t, dir, order)
	for _, name := range order {
		c := newContainer(t, w.net, w.p, name, dir)
		w.all[name] = c
		for on, d := range c.s.DependsOn {
			w.all[on].await(t, d.Condition)
		}
		c.start(t)
	}
	for _, name := range instances {
		w.ready(name)
	}
	return w
}

// ready waits for an instance.
func (w *whole) ready(name string) {
	w.t.Helper()
	w.all[name].until(w.t, func(ctx context.Context) *exec.Cmd {
		return w.net.beside(ctx, "curl", "-fsS", "--noproxy", "*", "http://"+w.net.at[name]+":9002/readyz")
	})
}

// aws is the command of that name through the balancer.
func (w *whole) aws(stdin string, args ...string) string {
	w.t.Helper()
	cmd := w.net.beside(w.t.Context(), slices.Concat([]string{"aws", "--endpoint-url", w.url("9000")}, args)...)
	cmd.Env = slices.Concat(os.Environ(), w.env, []string{"AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=*"})
	cmd.Stdin = strings.NewReader(stdin)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%v: %v\n%s", args, err, diag.String())
	}
	return out.String()
}

func (w *whole) url(port string) string {
	return "http://" + net.JoinHostPort(w.net.at[w.front()], port)
}

// front names the container that clients ask.
func (w *whole) front() string {
	if _, many := w.all["balancer"]; many {
		return "balancer"
	}
	return "lethe"
}

// curl asks the pastes.
func (w *whole) curl(args ...string) string {
	w.t.Helper()
	return succeeds(w.t, w.net.beside(w.t.Context(), slices.Concat([]string{"curl", "-fsS", "--noproxy", "*"}, args)...))
}

// lethe is a command in the container of an instance, as "docker compose exec" starts
// it.
func (w *whole) lethe(name string, args ...string) string {
	w.t.Helper()
	return succeeds(w.t, w.all[name].exec(w.t.Context(), slices.Concat([]string{"lethe"}, args, []string{"--config", "/etc/lethe.yaml"})...))
}

// TestComposeFile: what the file describes comes up, with one command, serves S3 and
// pastes through the balancer, goes on while an instance is stopped, and keeps what
// it has over a restart of all of it.
func TestComposeFile(t *testing.T) {
	w := up(t, "compose.yaml", "lethe1", "lethe2", "lethe3")
	w.env = []string{"AWS_SHARED_CREDENTIALS_FILE=" + filepath.Join(w.dir, "volumes/lethe1/credentials")}
	w.aws("", "s3", "mb", "s3://photos")
	w.aws("a photo", "s3", "cp", "-", "s3://photos/one")
	if got := w.aws("", "s3", "cp", "s3://photos/one", "-"); got != "a photo" {
		t.Errorf("read %q", got)
	}
	paste := strings.TrimSpace(w.curl("--data-binary", "a paste", w.url("9001")))
	if got := w.curl(paste); got != "a paste" {
		t.Errorf("read %q from %s", got, paste)
	}
	w.console(w.dir + "/volumes/lethe1/credentials")
	if status := w.lethe("lethe1", "status"); !strings.Contains(status, "main") {
		t.Errorf("status does not know the backend:\n%s", status)
	}
	w.lethe("lethe3", "check")

	// Clients go to the other one while one is stopped in its own time.
	if err := w.all["lethe1"].end(syscall.SIGTERM); err != nil {
		t.Errorf("lethe1 ended with %v\n%s", err, w.all["lethe1"].out.String())
	}
	w.all["balancer"].until(t, func(ctx context.Context) *exec.Cmd {
		return w.net.beside(ctx, "curl", "-fsS", "--noproxy", "*", "-o", "/dev/null", w.url("9001"))
	})
	if got := w.aws("", "s3", "cp", "s3://photos/one", "-"); got != "a photo" {
		t.Errorf("read %q from the other instance", got)
	}
	w.aws("another", "s3", "cp", "-", "s3://photos/two")

	for _, name := range slices.Backward(w.p.order()) {
		if c := w.all[name]; c.cmd != nil {
			t.Logf("%s ended: %v", name, c.end(syscall.SIGTERM))
		}
	}
	for _, name := range w.p.order() {
		for on, d := range w.all[name].s.DependsOn {
			w.all[on].await(t, d.Condition)
		}
		w.all[name].start(t)
	}
	for _, name := range []string{"lethe1", "lethe2", "lethe3"} {
		w.ready(name)
	}
	if got := w.aws("", "s3", "cp", "s3://photos/two", "-"); got != "another" {
		t.Errorf("read %q after a restart", got)
	}
	w.lethe("lethe2", "check")
}

// TestSingleFile: the one container serves, and its volume keeps what it has.
func TestSingleFile(t *testing.T) {
	w := up(t, "single.yaml", "lethe")
	c := w.all["lethe"]
	w.env = []string{"AWS_SHARED_CREDENTIALS_FILE=" + filepath.Join(w.dir, "volumes/data/credentials")}
	w.aws("", "s3", "mb", "s3://photos")
	w.aws("a photo", "s3", "cp", "-", "s3://photos/one")
	w.console(w.dir + "/volumes/data/credentials")
	if err := c.end(syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v\n%s", err, c.out.String())
	}
	c.start(t)
	w.ready("lethe")
	if got := w.aws("", "s3", "cp", "s3://photos/one", "-"); got != "a photo" {
		t.Errorf("read %q after a restart", got)
	}
	if status := succeeds(t, c.exec(t.Context(), "lethe", "status")); !strings.Contains(status, "main") {
		t.Errorf("status does not know the backend:\n%s", status)
	}
}

// console logs in with the root key, as a browser on this machine does, and reads three pages:
// a session stays with its instance.
func (w *whole) console(credentials string) {
	w.t.Helper()
	text, err := os.ReadFile(credentials)
	if err != nil {
		w.t.Fatal(err)
	}
	key := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, "=")
		key[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	jar, site := filepath.Join(w.dir, "cookies"), w.url("9004")
	w.curl("-c", jar, "-o", filepath.Join(w.dir, "login"), "--data-urlencode", "key="+key["aws_access_key_id"],
		"--data-urlencode", "secret="+key["aws_secret_access_key"], site+"/login")
	for _, page := range []string{"/", "/buckets", "/backends"} {
		if got := w.curl("-b", jar, site+page); !strings.Contains(got, "Log out") {
			w.t.Errorf("%s of the console is %.300s", page, got)
		}
	}
}

// TestPortsAreTheMachinesOwn: nothing but S3, pastes, the console and metrics is published, and
// that for this machine only.
func TestPortsAreTheMachinesOwn(t *testing.T) {
	if os.Getenv("LETHE_COMPOSE") == "" {
		t.Skip("make compose runs it, as root")
	}
	for _, file := range []string{"compose.yaml", "single.yaml"} {
		p := load(t, t.TempDir(), file)
		for _, name := range slices.Sorted(maps.Keys(p.Services)) {
			for _, port := range p.Services[name].Ports {
				if !slices.Contains([]string{"balancer", "prometheus", "lethe"}, name) || port.HostIP != "127.0.0.1" {
					t.Errorf("%s: %s publishes %+v", file, name, port)
				}
			}
		}
	}
}
