//go:build !linux

package lethe

import "time"

// sinceBoot returns nothing: the clock that goes on while the machine sleeps is
// Linux's.
func sinceBoot() (time.Duration, bool) { return 0, false }

func bootID() string { return "" }
