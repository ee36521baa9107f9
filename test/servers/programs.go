package servers

import (
	"os"
	"os/exec"
	"testing"
)

// Promtool is the path of Prometheus's tool; without it the test is skipped, or
// fails, as LETHE_SERVERS says.
func Promtool(t testing.TB) string {
	t.Helper()
	return decide(t, need{names: []string{"promtool"}})
}

// Strace is the path of strace; where it is missing, or may not trace, the test is
// skipped, or fails, as LETHE_SERVERS says.
func Strace(t testing.TB) string {
	t.Helper()
	path := decide(t, need{names: []string{"strace"}})
	if out, err := exec.Command(path, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		unusable(t, "strace may not trace here: %v: %s", err, out)
	}
	return path
}

// Chromium is the path of the browser; without it the test is skipped, or fails, as
// LETHE_SERVERS says.
func Chromium(t testing.TB) string {
	t.Helper()
	return decide(t, need{names: []string{"chromium", "chromium-browser", "google-chrome"}})
}
