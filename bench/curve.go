package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// Point is how many blobs were gone after a time.
type Point struct {
	At   time.Duration
	Gone int64
}

// settled notes that n more blobs are gone.
func (s *stopwatch) settled(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone += n
	s.points = append(s.points, Point{time.Duration(lethe.Monotonic{}.Now()) * time.Microsecond, s.gone})
}

// curve counts times from the beginning, and keeps a hundred points at most.
func curve(points []Point, began lethe.Time) (out []Point) {
	every := len(points)/100 + 1
	for i, p := range points {
		if i%every == every-1 || i == len(points)-1 {
			out = append(out, Point{p.At - time.Duration(began)*time.Microsecond, p.Gone})
		}
	}
	return out
}

// Tenths are the rates, in blobs per second, of each tenth of what went.
func (w Work) Tenths() (rates []float64) {
	if len(w.Curve) == 0 {
		return nil
	}
	last := w.Curve[len(w.Curve)-1]
	from := Point{}
	for _, p := range w.Curve {
		if p.Gone*10 >= last.Gone*int64(len(rates)+1) && p.At > from.At {
			rates = append(rates, float64(p.Gone-from.Gone)/(p.At-from.At).Seconds())
			from = p
		}
	}
	return rates
}

// tenths in one line.
func tenths(rates []float64) string {
	out := make([]string, len(rates))
	for i, r := range rates {
		out[i] = short(r)
	}
	return fmt.Sprint(strings.Join(out, " "))
}
