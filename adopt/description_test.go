package adopt

import "testing"

// With a rate no transaction takes more than 25 ms worth of it, or than some 10
// ms of the database.
func TestBatchesOfARate(t *testing.T) {
	for _, c := range []struct{ batch, rate, want int }{
		{0, 0, 1000},
		{300, 0, 300},
		{0, 40_000, 1000},
		{0, 4000, 100},
		{80, 4000, 80},
		{0, 1000, 50},
		{0, 200, 50},
		{0, 100, 25},
		{0, 3, 1},
	} {
		if got := (Collection{Batch: c.batch, RatePerSecond: c.rate}).BatchSize(); got != c.want {
			t.Errorf("batch %d, %d a second: %d rows in a transaction, want %d", c.batch, c.rate, got, c.want)
		}
	}
}
