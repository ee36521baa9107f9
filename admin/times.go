package admin

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// at converts an optional instant; none is the zero time.
func at(t lethe.Time) time.Time {
	if t == 0 || t == lethe.Forever {
		return time.Time{}
	}
	return t.Time()
}
