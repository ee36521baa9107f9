package service

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// toTime converts an optional instant; 0 is the zero time.
func toTime(t lethe.Time) time.Time {
	if t == 0 || t == lethe.Forever {
		return time.Time{}
	}
	return t.Time()
}
