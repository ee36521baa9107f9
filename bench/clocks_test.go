package bench_test

import (
	"testing"

	"github.com/lethe-storage/lethe"
)

// BenchmarkClocks reads the clock of durations, and the one that includes time asleep.
func BenchmarkClocks(b *testing.B) {
	for name, clock := range map[string]lethe.Clock{"awake": lethe.Awake{}, "monotonic": lethe.Monotonic{}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				clock.Now()
			}
		})
	}
}
