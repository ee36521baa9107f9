package wake

import (
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// FuzzMessage checks that no message on the channel wakes this instance for a
// routine that is not its own, before now, later than a notice may, or more
// often than an agenda keeps; and that its own messages are ignored.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		"", "{", "null", "[]", `{"from":"x","wakes":{"clean":[0,1500]}}`, `{"from":"self","wakes":{"clean":[0]}}`, `{"wakes":{"clean":[0]}}`,
		`{"from":"x","wakes":{"clean":[-1]}}`, `{"from":"x","wakes":{"clean":[3600000,3600001,9223372036854775807]}}`,
		`{"from":"x","wakes":{"nobody":[0]}}`, `{"from":"x","wakes":[1]}`, `{"FROM":"x","WAKES":{"expire":[1]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clock := clocktest.At(100 * second)
		routines := []string{"clean", "expire"}
		heard := 0
		b := New(Options{Self: "self", Routines: routines, Monotonic: clock, Events: Events{Heard: func(routine string) {
			heard++
			if !slices.Contains(routines, routine) {
				t.Fatalf("%q speaks of %q", text, routine)
			}
		}}})
		b.hear(text)
		if heard > len(routines) {
			t.Fatalf("%q is %d notices", text, heard)
		}
		for routine, due := range b.mine.due {
			if !slices.Contains(routines, routine) || len(due) > maxTimers || !slices.IsSorted(due) {
				t.Fatalf("%q has %q due at %v", text, routine, due)
			}
			if last := clock.Now().Add(maxDelay + b.Gap); due[0] < clock.Now() || due[len(due)-1] > last {
				t.Fatalf("%q has %q due at %v, now is %v", text, routine, due, clock.Now())
			}
		}
		clock.Advance(maxDelay + time.Second)
		b.mine.take(clock.Now())
		if next := b.mine.next(); next < clock.Now() || next != lethe.Forever && next > clock.Now().Add(b.Gap) {
			t.Fatalf("%q leaves something for %v", text, next)
		}
	})
}
