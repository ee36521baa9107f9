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
		return 0, fmt.Errorf("%w: %d, and %d at the last run; nothing is touched. If that is right, set %s below %.3f for one run",
			ErrFewRows, rows, last, setting, float64(rows)/float64(last))
	}
	return part(max(last, rows)), nil
}

// provesNothing is the number of things without a row up to which the first run
// does not doubt the description.
const provesNothing = 10

// firstRun returns ErrFewRows if rows name too small a part of what the first
// run of a collection finds in the bucket. A query that leaves out a table looks
// like that, and so does one that leaves out the thumbnail that each object has: half is too small
// a part for 0.5. things are objects or folders; setting is what allows it anyway.
func firstRun(named, without int64, least float64, things, setting string) error {
	all := named + without
	if without < provesNothing || least == 0 || float64(named) > least*float64(all) {
		return nil
	}
	return fmt.Errorf("%w: a row names %d of %d %s at the first run, and a query that leaves out a table looks the same; nothing is touched. If that is right, set %s to %.3g until a run has succeeded",
		ErrFewRows, named, all, things, setting, float64(named)/float64(all)*0.99)
}

// leastOr returns the part of the last run's rows that has to be present.
func leastOr(least *float64) float64 {
	if least == nil {
		return 0.5
	}
	return *least
}
