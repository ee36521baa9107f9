package blob

import (
	"errors"
	"fmt"
	"slices"
)

// Outcomes returns the error of each key of a Delete, in the order of the keys; whole is the
// error that Delete returned. A key that the results leave out is unknown (docs/protocol.md,
// rule 8). Of two results for one key the worse counts.
func Outcomes(keys []string, results []Result, whole error) []error {
	said := make([]error, len(keys))
	if inOrder(keys, results) {
		for i, r := range results {
			said[i] = r.Err
		}
		return said
	}
	if whole == nil {
		whole = fmt.Errorf("%w: the response of the backend has no result for this key", ErrUnknown)
	}
	spoken := make(map[string]error, len(results))
	for _, r := range results {
		if before, twice := spoken[r.Key]; !twice || Gone(before) {
			spoken[r.Key] = r.Err
		}
	}
	for i, key := range keys {
		err, ok := spoken[key]
		if !ok {
			err = whole
		}
		said[i] = err
	}
	return said
}

// inOrder reports whether the results name each key once, in the order asked.
func inOrder(keys []string, results []Result) bool {
	return slices.EqualFunc(keys, results, func(key string, r Result) bool { return r.Key == key })
}

// Absent reports whether an error of a look says that there is no object of the key, or can be none.
func Absent(err error) bool {
	return errors.Is(err, ErrNotExist) || errors.Is(err, ErrInvalidKey)
}

// Gone reports whether a delete that ended so has left no bytes.
func Gone(err error) bool {
	return err == nil || errors.Is(err, ErrNotExist) || errors.Is(err, ErrLate)
}
