package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// Mode says what LETHE_SERVERS asks for.
type Mode string

// The modes.
const (
	Installed Mode = ""        // start what is installed, skip what is not
	Skip      Mode = "skip"    // skip every test that needs a server
	Require   Mode = "require" // fail when a server is not installed
)

// need is a program that a server is made of.
type need struct {
	names    []string // any of them will do
	folders  []string // patterns of folders to look in beside PATH and .bin
	optional bool     // scripts/needs.sh does not install it: never required
}

// decide answers the path of the program to start. It skips the test, or fails
// it, as LETHE_SERVERS says; nothing outside of this file looks at that variable.
func decide(t testing.TB, n need) string {
	t.Helper()
	mode := Mode(os.Getenv("LETHE_SERVERS"))
	if !slices.Contains([]Mode{Installed, Skip, Require}, mode) {
		t.Fatalf("LETHE_SERVERS is %q; use \"\", %q or %q", mode, Skip, Require)
	}
	if mode == Skip {
		t.Skip("tests with servers are left out: LETHE_SERVERS is \"skip\"")
	}
	path := n.find()
	switch {
	case path != "":
		return path
	case mode == Require && !n.optional:
		t.Fatalf("%s is not installed; scripts/needs.sh installs it", n.names[0])
	default:
		t.Skipf("%s is not installed", n.names[0])
	}
	return ""
}

// unusable ends a test whose program is there and does not work here.
func unusable(t testing.TB, format string, args ...any) {
	t.Helper()
	if Mode(os.Getenv("LETHE_SERVERS")) == Require {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// builtin says whether a server that runs inside the test process may start.
func builtin(t testing.TB) {
	t.Helper()
	if Mode(os.Getenv("LETHE_SERVERS")) == Skip {
		t.Skip("tests with servers are left out: LETHE_SERVERS is \"skip\"")
	}
}

// find answers "" when the program is not there.
func (n need) find() string {
	for _, name := range n.names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		for _, folder := range append([]string{filepath.Join(root(), ".bin")}, n.folders...) {
			found, err := filepath.Glob(filepath.Join(folder, name))
			if err == nil && len(found) > 0 {
				slices.Sort(found)
				return found[len(found)-1]
			}
		}
	}
	return ""
}

// root is the folder of the repository; the tests run in the folders of their
// packages.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}
