package adopt

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// With a rate no transaction takes more than 50 ms worth of it, or than some 10
// ms of the database.
func TestBatchesOfARate(t *testing.T) {
	for _, c := range []struct{ batch, rate, want int }{
		{0, 0, 1000},
		{300, 0, 300},
		{0, 40_000, 1000},
		{0, 4000, 200},
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

// The batches of a run with a limit fit into it.
func TestBatchesOfALimit(t *testing.T) {
	for _, c := range []struct {
		batch int
		limit int64
		want  int
	}{{0, 10, 10}, {0, 1000, 1000}, {0, 10_000, 1000}, {30, 100, 25}, {3, 7, 2}, {0, 1, 1}, {0, 1001, 500}} {
		if got := (Collection{Batch: c.batch, Limit: c.limit}).BatchSize(); got != c.want {
			t.Errorf("batch %d, limit %d: %d rows in a transaction, want %d", c.batch, c.limit, got, c.want)
		}
	}
}

// A description that sets nothing works as the texts do: 1,000 rows at a time,
// from midnight, and rows in progress go back after two hours.
func TestDefaultsOfTheTexts(t *testing.T) {
	var c Collection
	times, err := c.Schedule.Times()
	if err != nil {
		t.Fatal(err)
	}
	noon := lethe.FromTime(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC))
	if next := times.Next(noon); next != noon.Add(12*time.Hour) {
		t.Errorf("after noon of the first a run begins at %s", next)
	}
	if c.BatchSize() != 1000 || c.Graces().Watchdog != 2*time.Hour {
		t.Errorf("%d rows at a time, back after %s", c.BatchSize(), c.Graces().Watchdog)
	}
}

// One bucket is recognised by two spellings of its address.
func TestSameBucket(t *testing.T) {
	at := func(endpoint string) BucketSpec { return BucketSpec{Bucket: "b", Endpoint: endpoint} }
	for _, same := range [][2]string{
		{"http://127.0.0.1:9000", "http://localhost:9000/"}, {"https://s3.example.org", "https://S3.example.org:443"},
		{"", "https://s3.eu-west-1.amazonaws.com"}, {"http://[::1]:9000", "http://localhost:9000"},
	} {
		if !at(same[0]).Same(at(same[1])) {
			t.Errorf("%q and %q are two", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{"http://localhost:9000", "http://localhost:9001"}, {"", "https://s3.example.org"}, {"https://a.example.org", "https://b.example.org"}} {
		if at(other[0]).Same(at(other[1])) {
			t.Errorf("%q and %q are one", other[0], other[1])
		}
	}
}
