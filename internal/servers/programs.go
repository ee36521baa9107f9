package servers

import "testing"

// Promtool is the path of Prometheus's tool; without it the test is skipped, or
// fails, as LETHE_SERVERS says.
func Promtool(t testing.TB) string {
	t.Helper()
	return decide(t, need{names: []string{"promtool"}})
}
