package adopt

import (
	"errors"
	"fmt"
	"math"
)

// ErrFewRows reports that rows of the last run are missing. It ends a run
// before it changes anything.
var ErrFewRows = errors.New("too few rows live")

// floorOf returns the number of rows that have to be live throughout a run: a
// part of those of the last run, or of those now if they are more. It fails if
// fewer are live than the last run requires. setting names what allows a run
// anyway.
func floorOf(rows, last int64, least float64, setting string) (int64, error) {
	part := func(of int64) int64 { return max(1, int64(math.Ceil(least*float64(of)))) }
	if rows < part(last) {
		return 0, fmt.Errorf("%w: %d, at the last run it were %d; nothing is touched. If that is right, set %s below %.3f for one run",
			ErrFewRows, rows, last, setting, float64(rows)/float64(last))
	}
	return part(max(last, rows)), nil
}

// leastOr returns the part of the last run's rows that has to be present.
func leastOr(least *float64) float64 {
	if least == nil {
		return 0.5
	}
	return *least
}
