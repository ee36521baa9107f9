package instance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build says how tests want lethe.
type Build struct {
	Tags    string
	Overlay string // a file for go build -overlay; empty: none
	Skip    bool   // no test that runs needs it
}

// Main runs the tests of a package with lethe built into a folder that goes away
// with them; path is where it lies. It returns the exit code.
func Main(m *testing.M, b Build, path *string) int {
	// Some machines export a bundle that clients then trust alone.
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
