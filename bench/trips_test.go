package bench_test

import (
	"io"
	"net"
	"testing"

	"github.com/lethe-storage/lethe/bench"
)

// TestTripsAreCounted: a question, its answer and the next question are two trips.
func TestTripsAreCounted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(c, c) // until the client ends
	}()
	trips, err := bench.CountTrips(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer trips.Close()
	c, err := net.Dial("tcp", trips.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		if _, err := io.WriteString(c, "question"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
	}
	if n := trips.Count(); n != 3 {
		t.Errorf("%d round trips, want 3", n)
	}
}
