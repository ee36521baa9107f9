package house

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// govulncheck runs the script on one package of the module with a database.
func govulncheck(t *testing.T, settings ...string) (code int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../../scripts/govulncheck.sh", "./internal/ratelimit")
	cmd.Env = append(os.Environ(), settings...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// Without a database the check reports that nothing was checked, and fails only
// if required.
func TestNoVulnerabilityDatabaseIsSaid(t *testing.T) {
	for _, database := range []string{"file://" + t.TempDir(), "http://127.0.0.1:1"} {
		for require, want := range map[string]int{"": 0, "require": 1} {
			code, said := govulncheck(t, "GOVULNDB="+database, "GOVULNCHECK="+require)
			if code != want || !strings.Contains(said, "NOT CHECKED for known vulnerabilities") {
				t.Errorf("%s, GOVULNCHECK=%s: exit code %d, want %d: %s", database, require, code, want, said)
			}
		}
	}
}

// report returns a report in the form of the Go vulnerability database: on a
// function of a module, in all versions below fixed.
func report(id, module, pkg, symbol, fixed string) string {
	return fmt.Sprintf(`{
  "schema_version": "1.3.1", "id": %q, "modified": "2026-01-02T03:04:05Z", "published": "2026-01-02T03:04:05Z", "aliases": ["CVE-2026-0001"],
  "summary": "A test", "details": "A test.",
  "affected": [{"package": {"name": %q, "ecosystem": "Go"}, "ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": %q}]}],
    "ecosystem_specific": {"imports": [{"path": %q, "symbols": [%q]}]}}],
  "references": [], "database_specific": {"url": "https://pkg.go.dev/vuln/%s", "review_status": "REVIEWED"}
}`, id, module, fixed, pkg, symbol, id)
}

// A folder that scripts/vulndb.sh made of reports is a database: vulnerable
// functions that are called are found and fail, others and fixed ones do not.
func TestAFolderIsAVulnerabilityDatabase(t *testing.T) {
	if _, err := os.Stat("../../.bin/govulncheck"); err != nil {
		t.Skip("govulncheck is not built: make govulncheck builds it where a database can be had")
	}
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed")
	}
	const module = "github.com/hashicorp/golang-lru/v2"
	const id = "GO-2026-9901"
	for name, c := range map[string]struct {
		module, pkg, fixed string
		found              bool
	}{
		"what is called":     {module, module + "/simplelru", "99.0.0", true},
		"what is not called": {module, module + "/expirable", "99.0.0", false},
		"what was mended":    {module, module + "/simplelru", "2.0.1", false},
		"another module":     {"example.org/another", "example.org/another", "99.0.0", false},
	} {
		checkout, folder := t.TempDir(), t.TempDir()
		if err := os.MkdirAll(filepath.Join(checkout, "data/osv"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(checkout, "data/osv", id+".json"), []byte(report(id, c.module, c.pkg, "NewLRU", c.fixed)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "../../scripts/vulndb.sh", checkout, folder).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		code, said := govulncheck(t, "GOVULNDB=file://"+folder)
		if (code != 0) != c.found || strings.Contains(said, "Vulnerability #1: "+id) != c.found {
			t.Errorf("%s: exit code %d: %s", name, code, said)
		}
	}
}
