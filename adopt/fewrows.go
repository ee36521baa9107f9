package adopt

import (
	"errors"
	"fmt"
	"math"
)

// ErrFewRows: rows are missing that were there at the last run. It stops a run before it
// changes anything.
var ErrFewRows = errors.New("too few rows live")

// floorOf is the least number of rows that have to live while a run goes on, by how many
// did at the last run, or do now if that is more; it fails if fewer do than the last run
// asks for. setting names what lets a run go on.
func floorOf(rows, last int64, least float64, setting string) (int64, error) {
	part := func(of int64) int64 { return max(1, int64(math.Ceil(least*float64(of)))) }
	if rows < part(last) {
		return 0, fmt.Errorf("%w: %d, at the last run it were %d; nothing is touched. If that is right, set %s below %.3f for one run",
			ErrFewRows, rows, last, setting, float64(rows)/float64(last))
	}
	return part(max(last, rows)), nil
}

// leastOr is the part of the rows of the last run that has to be there still.
func leastOr(least *float64) float64 {
	if least == nil {
		return 0.5
	}
	return *least
}
