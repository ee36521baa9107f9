package lethe

import (
	"fmt"
	"strconv"
)

// MaxReads is the highest number of reads that an object can be given.
const MaxReads = 10_000

// ParseReads parses how often an object can be read: a number from 1 to MaxReads. Errors wrap
// ErrInvalidReads and describe the accepted form.
func ParseReads(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > MaxReads {
		return 0, fmt.Errorf("%w: %q; use a number from 1 to %d", ErrInvalidReads, brief(s), MaxReads)
	}
	return n, nil
}
