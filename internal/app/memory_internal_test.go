package app

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/lethe-storage/lethe/internal/config"
)

// TestCollectsLess checks that a process that keeps little is not collected all the time.
func TestCollectsLess(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "off") // the limit of the test's process stays
	limitMemory(&config.Config{})
	runtime.GC()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(goal)
	if percent := goal[1].Value.Uint64(); percent != 100 {
		t.Skipf("GOGC is %d", percent)
	}
	if got := goal[0].Value.Uint64(); got < 2*unusedSize {
		t.Errorf("the next collection is at %d bytes, want at least %d", got, 2*unusedSize)
	}
}
