//go:build linux

package debian_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// root is a root of its own: what is installed there is seen nowhere else.
type root struct {
	t      *testing.T
	dir    string
	holder int // the process whose mounts it is
}

// newRoot mounts one over this machine's. It skips the test where that cannot be done.
func newRoot(t *testing.T) root {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root mounts an overlay")
	}
	for _, program := range []string{"dpkg", "setpriv", "unshare", "nsenter", "systemd-sysusers"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	r := root{t: t, dir: filepath.Join(t.TempDir(), "root")}
	over := filepath.Join(t.TempDir(), "over")
	script := fmt.Sprintf(`set -eu
		mkdir -p %[1]s %[2]s/upper %[2]s/work
		mount -t overlay overlay -o lowerdir=/,upperdir=%[2]s/upper,workdir=%[2]s/work %[1]s
		mount --rbind /proc %[1]s/proc
		mount --rbind /dev %[1]s/dev
		echo mounted
		exec sleep infinity`, r.dir, over)
	holder := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", script)
	holder.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var diag bytes.Buffer
	holder.Stderr = &diag
	out, err := holder.StdoutPipe()
	if err == nil {
		err = holder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	})
	if n, _ := out.Read(make([]byte, 16)); n == 0 {
		_ = holder.Wait()
		t.Skipf("no overlay can be mounted here: %s", diag.String())
	}
	r.holder = holder.Process.Pid
	return r
}

// command is one in the root, as root.
func (r root) command(args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(r.holder), "--mount", "--", "chroot", r.dir}
	cmd := exec.CommandContext(r.t.Context(), "nsenter", slices.Concat(enter, args)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// as is a command as a user, with nothing that root may.
func (r root) as(user string, args ...string) *exec.Cmd {
	return r.command(slices.Concat([]string{"setpriv", "--reuid", user, "--regid", user, "--init-groups", "--no-new-privs", "--bounding-set=-all"}, args)...)
}

// run runs a command that has to succeed, and returns what it prints.
func (r root) run(args ...string) string {
	r.t.Helper()
	out, err := r.command(args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes a file as an administrator edits it: owner and mode stay.
func (r root) write(path, text string) {
	r.t.Helper()
	cmd := r.command("sh", "-c", `cat >"$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("write %s: %v\n%s", path, err, out)
	}
}
