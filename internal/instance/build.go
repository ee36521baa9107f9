package instance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build has the build options for tests.
type Build struct {
	Tags    string
	Overlay string // a file for go build -overlay; empty if none
	Skip    bool   // no test in the run needs it
}

// Main runs the tests of a package with lethe built into a temporary folder;
// path is set to the program. It returns the exit code.
func Main(m *testing.M, b Build, path *string) int {
	// Some machines export a bundle, which clients then trust exclusively.
	_ = os.Unsetenv("AWS_CA_BUNDLE")
	dir, err := os.MkdirTemp("", "lethe-built-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	*path = filepath.Join(dir, "lethe")
	if b.Skip {
		return m.Run()
	}
	cmd := exec.Command("go", "build", "-tags", b.Tags, "-overlay", b.Overlay, "-o", *path, "github.com/lethe-storage/lethe/cmd/lethe")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build lethe: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
