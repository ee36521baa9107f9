package lethe_test

import (
	"crypto/rand"
	"testing"

	"github.com/lethe-storage/lethe"
)

func TestIDsSortByMicrosecond(t *testing.T) {
	var last lethe.ID
	for now := lethe.Time(1_800_000_000_000_900); now < 1_800_000_000_002_100; now++ {
		id := lethe.NewID(now, rand.Reader)
		if id <= last {
			t.Fatalf("%s, made at %d, sorts before %s", id, now, last)
		}
		if made := id.Made(); made != now/1000*1000 {
			t.Fatalf("made at %d, not %d", made, now)
		}
		last = id
	}
}
