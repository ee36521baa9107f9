package admin

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// at converts an optional instant; 0 is the zero time.
func at(t lethe.Time) time.Time {
	if t == 0 || t == lethe.Forever {
		return time.Time{}
	}
	return t.Time()
}
