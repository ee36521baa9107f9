//go:build linux

package debian_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestDebianPackage: the package installs what it should, where and for whom it should;
// its service starts with the configuration that it brings, as its user, and ends when
// asked; an edited configuration survives another installation, and what is stored the
// removal.
func TestDebianPackage(t *testing.T) {
	if os.Getenv("LETHE_PACKAGE") == "" {
		t.Skip("make package runs it, as root")
	}
	r := newRoot(t)
	r.write("/lethe.deb", built(t, "deb"))
	install := []string{"dpkg", "--no-triggers", "--force-confdef", "--install", "/lethe.deb"}
	r.run(install...)
	for path, want := range map[string]string{
		"/usr/bin/lethe":                                    "root:root 755",
		"/etc/lethe":                                        "root:root 755",
		"/etc/lethe/lethe.yaml":                             "root:lethe 640",
		"/etc/lethe/environment":                            "root:root 600",
		"/usr/lib/systemd/system/lethe.service":             "root:root 644",
		"/usr/lib/systemd/system/lethe-adopt.service":       "root:root 644",
		"/usr/lib/sysusers.d/lethe.conf":                    "root:root 644",
		"/usr/share/bash-completion/completions/lethe":      "root:root 644",
		"/usr/share/zsh/vendor-completions/_lethe":          "root:root 644",
		"/usr/share/fish/vendor_completions.d/lethe.fish":   "root:root 644",
		"/usr/share/man/man1/lethe-serve.1.gz":              "root:root 644",
		"/usr/share/doc/lethe/copyright":                    "root:root 644",
		"/usr/share/doc/lethe/examples/one-machine.yaml":    "root:root 644",
		"/usr/share/doc/lethe/prometheus/alerts.yaml":       "root:root 644",
		"/usr/share/doc/lethe/prometheus/adopt_alerts.yaml": "root:root 644",
	} {
		if got := r.run("stat", "-c", "%U:%G %a", path); got != want {
			t.Errorf("%s is %s, not %s", path, got, want)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err == nil {
		if out := r.run("systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/lethe.service", "/usr/lib/systemd/system/lethe-adopt.service"); strings.Contains(out, "lethe") {
			t.Errorf("systemd says of the units:\n%s", out)
		}
	}
	s := newService(r, "lethe.service")
	s.serves()

	r.run(install...)
	if got := r.run("stat", "-c", "%U:%G %a", "/etc/lethe/lethe.yaml"); got != "root:lethe 640" {
		t.Errorf("after the second installation the configuration is %s", got)
	}
	if got := r.run("cat", "/etc/lethe/environment"); !strings.Contains(got, "LETHE_ROOT_SECRET="+secret) {
		t.Errorf("the second installation left these variables: %s", got)
	}
	r.run("dpkg", "--no-triggers", "--purge", "lethe")
	if got := r.run("stat", "-c", "%U:%G %a", "/var/lib/lethe/ledger.db"); got != "lethe:lethe 600" {
		t.Errorf("after the removal the ledger is %s", got)
	}
}

// TestRPM: the .rpm installs the same, and its service starts. It is installed by rpm on this
// machine's system, so what it depends on is not asked.
func TestRPM(t *testing.T) {
	if os.Getenv("LETHE_PACKAGE") == "" {
		t.Skip("make package runs it, as root")
	}
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip(err)
	}
	r := newRoot(t)
	r.write("/lethe.rpm", built(t, "rpm"))
	r.run("rpm", "--install", "--nodeps", "--force-debian", "/lethe.rpm")
	for path, want := range map[string]string{
		"/usr/bin/lethe":                        "root:root 755",
		"/etc/lethe/lethe.yaml":                 "root:lethe 640",
		"/etc/lethe/environment":                "root:root 600",
		"/usr/lib/systemd/system/lethe.service": "root:root 644",
		"/usr/share/zsh/site-functions/_lethe":  "root:root 644",
		"/usr/share/man/man1/lethe-serve.1.gz":  "root:root 644",
		"/usr/share/licenses/lethe/LICENSE":     "root:root 644",
	} {
		if got := r.run("stat", "-c", "%U:%G %a", path); got != want {
			t.Errorf("%s is %s, not %s", path, got, want)
		}
	}
	newService(r, "lethe.service").serves()
	r.run("rpm", "--erase", "lethe")
	if got := r.run("stat", "-c", "%U:%G %a", "/var/lib/lethe/ledger.db"); got != "lethe:lethe 600" {
		t.Errorf("after the removal the ledger is %s", got)
	}
	if err := r.command("stat", "/usr/bin/lethe").Run(); err == nil {
		t.Error("after the removal the program is there")
	}
}

// packages are what a release makes for this machine.
var packages struct {
	once sync.Once
	dist string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if packages.dist != "" {
		_ = os.RemoveAll(packages.dist)
	}
	os.Exit(code)
}

// built returns a package of this machine, made as a release does.
func built(t *testing.T, kind string) string {
	t.Helper()
	p := &packages
	p.once.Do(func() {
		if p.dist, p.err = os.MkdirTemp("", "lethe-release-"); p.err != nil {
			return
		}
		cmd := exec.CommandContext(t.Context(), "../../scripts/release.sh")
		cmd.Env = append(os.Environ(), "DIST="+p.dist, "TARGETS=linux/"+runtime.GOARCH, "VERSION=v0.0.1-test", "COMPRESSION=gzip")
		if out, err := cmd.CombinedOutput(); err != nil {
			p.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	found, err := filepath.Glob(filepath.Join(p.dist, "*."+kind))
	if err != nil || len(found) != 1 {
		t.Fatalf("release.sh made %v (%v)", found, err)
	}
	file, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}
