package app

import "testing"

// TestSpareProcessors checks that small machines get more than they have; large
// and restricted ones do not.
func TestSpareProcessors(t *testing.T) {
	for _, c := range []struct{ allowed, all, want int }{
		{1, 1, 4}, {2, 2, 4}, {4, 4, 8}, {6, 6, 8}, {8, 8, 8}, {64, 64, 64}, {2, 64, 2}, {1, 2, 1},
	} {
		if got := withSpare(c.allowed, c.all); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.allowed, c.all, got, c.want)
		}
	}
}
