//go:build !linux

package lethe

import "time"

// sinceBoot returns false: only Linux has a clock that includes time asleep.
func sinceBoot() (time.Duration, bool) { return 0, false }

func bootID() string { return "" }
