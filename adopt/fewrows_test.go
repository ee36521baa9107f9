package adopt

import (
	"errors"
	"testing"
)

// During a run the number of rows has to stay above a part of what the run
// itself has seen. A first run that finds as many objects without a row is doubted.
func TestFloorGoesByTheMoreRows(t *testing.T) {
	for _, c := range []struct{ rows, last, want int64 }{{10, 0, 5}, {10, 6, 5}, {6, 10, 5}, {5, 10, 5}, {1, 0, 1}} {
		if got, err := floorOf(c.rows, c.last, 0.5, "folders.least"); got != c.want || err != nil {
			t.Errorf("with %d rows, and %d at the last run, the floor is %d, want %d: %v", c.rows, c.last, got, c.want, err)
		}
	}
	for _, c := range []struct {
		named, without int64
		doubted        bool
	}{{20, 20, true}, {21, 20, false}, {0, 9, false}, {0, 10, true}} {
		if err := firstRun(c.named, c.without, 0.5, "objects", "keys.least"); errors.Is(err, ErrFewRows) != c.doubted {
			t.Errorf("a first run with %d named and %d others: %v", c.named, c.without, err)
		}
	}
	if err := firstRun(0, 10, 0, "objects", "keys.least"); err != nil {
		t.Errorf("with a least part of 0: %v", err)
	}
	if _, err := floorOf(4, 10, 0.5, "folders.least"); !errors.Is(err, ErrFewRows) {
		t.Errorf("4 rows of 10: %v", err)
	}
}
