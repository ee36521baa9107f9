//go:build linux

package compose_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// network is one of its own, which the machine is not in: a bridge in a name space,
// with each container in a name space beside it.
type network struct {
	space string
	hosts string            // the file of their names
	at    map[string]string // addresses by name
}

// newNetwork makes one with an address for each name.
func newNetwork(t *testing.T, dir string, names []string) *network {
	t.Helper()
	n := &network{space: fmt.Sprintf("composed%d", os.Getpid()), hosts: filepath.Join(dir, "hosts"), at: map[string]string{}}
	n.add(t, n.space)
	n.ip(t, n.space, "link add bridge type bridge")
	n.ip(t, n.space, "addr add 10.77.0.1/24 dev bridge")
	n.ip(t, n.space, "link set bridge up")
	lines := "127.0.0.1 localhost\n"
	for i, name := range names {
		n.at[name] = fmt.Sprintf("10.77.0.%d", i+2)
		lines += n.at[name] + " " + name + "\n"
		end := fmt.Sprintf("to%d", i)
		n.add(t, n.of(name))
		n.ip(t, n.space, "link add "+end+" type veth peer name eth0 netns "+n.of(name))
		n.ip(t, n.space, "link set "+end+" master bridge up")
		n.ip(t, n.of(name), "addr add "+n.at[name]+"/24 dev eth0")
		n.ip(t, n.of(name), "link set eth0 up")
	}
	if err := os.WriteFile(n.hosts, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *network) of(container string) string { return n.space + "-" + container }

func (n *network) add(t *testing.T, space string) {
	t.Helper()
	succeeds(t, exec.Command("ip", "netns", "add", space))
	t.Cleanup(func() { succeeds(t, exec.Command("ip", "netns", "del", space)) })
	n.ip(t, space, "link set lo up")
}

func (n *network) ip(t *testing.T, space, command string) {
	t.Helper()
	succeeds(t, exec.Command("ip", slices.Concat([]string{"-n", space}, strings.Fields(command))...))
}

// beside is a command of this machine in the network.
func (n *network) beside(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", slices.Concat([]string{"netns", "exec", n.space}, args)...)
}

// container is one service, running or not.
type container struct {
	name  string
	s     service
	image image
	net   *network
	dir   string // of its root
	cmd   *exec.Cmd
	out   bytes.Buffer
}

func newContainer(t *testing.T, n *network, p project, name, dir string) *container {
	t.Helper()
	c := &container{name: name, s: p.Services[name], net: n, dir: filepath.Join(dir, "roots", name)}
	c.image = imageOf(t, c.s, dir)
	for _, folder := range []string{"root", "upper", "work"} {
		if err := os.MkdirAll(filepath.Join(c.dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range c.s.Volumes {
		if v.Type != "volume" {
			continue
		}
		if err := os.MkdirAll(v.Source, 0o700); err != nil {
			t.Fatal(err)
		}
		if c.image.data != "" {
			succeeds(t, exec.Command("chown", c.image.data, v.Source))
		}
	}
	return c
}

// mounts are what lies where in the container.
func (c *container) mounts() (out []mount) {
	out = append(out, mount{Source: c.net.hosts, Target: "/etc/hosts"})
	for _, at := range slices.Sorted(maps.Keys(c.image.files)) {
		out = append(out, mount{Source: c.image.files[at], Target: at})
	}
	return slices.Concat(out, c.s.Configs, c.s.Secrets, c.s.Volumes)
}

// script makes the container's root and starts args in it.
func (c *container) script() string {
	root := filepath.Join(c.dir, "root")
	s := "set -eu\nmount --make-rprivate /\n"
	if c.image.own {
		s += fmt.Sprintf("mount --bind %[1]s %[1]s\n", root)
	} else {
		s += fmt.Sprintf("mount -t overlay overlay -o lowerdir=/,upperdir=%s/upper,workdir=%s/work %s\n", c.dir, c.dir, root)
	}
	s += fmt.Sprintf("mkdir -p %[1]s/proc %[1]s/dev %[1]s/tmp\nchmod 1777 %[1]s/tmp\n", root)
	for _, m := range c.mounts() {
		at := root + m.Target
		s += fmt.Sprintf("mkdir -p %s\n[ -d %s ] && mkdir -p %s || [ -e %s ] || : >%s\n", filepath.Dir(at), m.Source, at, at, at)
		s += fmt.Sprintf("mount --bind %s %s\n", m.Source, at)
	}
	s += fmt.Sprintf("mount --rbind /proc %[1]s/proc\nmount --rbind /dev %[1]s/dev\n", root)
	if c.s.ReadOnly {
		s += "mount -o remount,bind,ro " + root + "\n"
	}
	user := ""
	if c.image.user != "" {
		user = "--userspec=" + c.image.user + " --groups="
	}
	return s + "cd /\nexec setpriv --no-new-privs chroot " + user + " " + root + ` "$@"` + "\n"
}

// command makes the container with a process in it.
func (c *container) command(args ...string) *exec.Cmd {
	cmd := exec.Command("ip", slices.Concat([]string{"netns", "exec", c.net.of(c.name), "unshare", "--mount", "sh", "-c", c.script(), "sh"}, args)...)
	cmd.Env = c.environ()
	return cmd
}

// exec is one more process in a container that runs.
func (c *container) exec(ctx context.Context, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(c.cmd.Process.Pid), "--mount", "--net", "--root", "--wd"}
	if user, group, found := strings.Cut(c.image.user, ":"); found {
		enter = append(enter, "--setuid", user, "--setgid", group)
	}
	cmd := exec.CommandContext(ctx, "nsenter", slices.Concat(enter, []string{"--"}, args)...)
	cmd.Env, cmd.WaitDelay = c.environ(), time.Second
	return cmd
}

func (c *container) environ() []string {
	out := []string{"PATH=/usr/lib/postgresql/" + newest("/usr/lib/postgresql") + "/bin:" + os.Getenv("PATH")}
	out = append(out, c.image.env...)
	for _, name := range slices.Sorted(maps.Keys(c.s.Environment)) {
		out = append(out, name+"="+c.s.Environment[name])
	}
	return out
}

// newest is the last name in a folder.
func newest(dir string) string {
	entries, _ := os.ReadDir(dir)
	if len(entries) == 0 {
		return ""
	}
	return entries[len(entries)-1].Name()
}

// start starts the service as its image or its description says.
func (c *container) start(t *testing.T) {
	t.Helper()
	entrypoint, args := c.image.entrypoint, c.image.cmd
	if len(c.s.Entrypoint) > 0 {
		entrypoint, args = c.s.Entrypoint, nil
	}
	if len(c.s.Command) > 0 {
		args = c.s.Command
	}
	c.cmd = c.command(slices.Concat(entrypoint, args)...)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.end(syscall.SIGKILL) })
}

// end asks the service to end, and answers how it did.
func (c *container) end(how syscall.Signal) error {
	if c.cmd == nil {
		return errors.New("it does not run")
	}
	pid := c.cmd.Process.Pid
	if how == syscall.SIGKILL {
		pid = -pid // and what it started
	}
	err := errors.Join(ignoring(syscall.Kill(pid, how), syscall.ESRCH), c.cmd.Wait())
	c.cmd = nil
	return err
}

func ignoring(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// await waits until what others depend on holds.
func (c *container) await(t *testing.T, condition string) {
	t.Helper()
	switch condition {
	case "service_completed_successfully":
		if c.cmd != nil {
			if err := c.cmd.Wait(); err != nil {
				t.Fatalf("%s: %v\n%s", c.name, err, c.out.String())
			}
			c.cmd = nil
		}
	case "service_healthy":
		kind, rest := c.s.Healthcheck.Test[0], c.s.Healthcheck.Test[1:]
		if kind == "CMD-SHELL" {
			rest = []string{"sh", "-c", rest[0]}
		}
		c.until(t, func(ctx context.Context) *exec.Cmd { return c.exec(ctx, rest...) })
	}
}

// until waits for a command to succeed.
func (c *container) until(t *testing.T, command func(context.Context) *exec.Cmd) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := command(ctx).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v\n%s\nit said:\n%s", c.name, err, out, c.out.String())
		}
	}
}
