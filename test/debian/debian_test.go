//go:build linux

package debian_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	r.write("/lethe.deb", build(t))
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

// build makes the package of this machine as a release does.
func build(t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "../../scripts/release.sh")
	cmd.Env = append(os.Environ(), "DIST="+dist, "TARGETS=linux/"+runtime.GOARCH, "PACKAGES=deb", "VERSION=v0.0.1-test")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(dist, "*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("release.sh made %v (%v)", found, err)
	}
	deb, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(deb)
}
