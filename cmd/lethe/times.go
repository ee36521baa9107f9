package main

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// instant parses the value of a flag: a time, or how far it is from now, back for dir -1 and
// ahead for 1. Empty is the zero time.
func instant(flag, text string, dir time.Duration) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	d, err := lethe.ParseTTL(text)
	if err != nil {
		return time.Time{}, usageError("--%s %q is neither a time such as 2030-01-31T12:00:00Z nor a duration such as 1h or 7d", flag, text)
	}
	return lethe.SystemClock{}.Now().Add(dir * d).Time(), nil
}

// sinceTime parses the flag --since.
func sinceTime(text string) (time.Time, error) { return instant("since", text, -1) }

// agoOf parses the flag --since for a call that takes how long ago it is.
func agoOf(text string) (string, error) {
	if _, err := lethe.ParseTTL(text); err == nil {
		return text, nil
	}
	at, err := sinceTime(text)
	ago := lethe.SystemClock{}.Now().Sub(lethe.FromTime(at)).Truncate(time.Second)
	return lethe.FormatTTL(max(ago, time.Second)), err
}
