package main

import (
	"io"

	"github.com/lethe-storage/lethe/admin/api"
)

// printPressure shows why reclaiming is slower than it could be, and the
// limits, if any.
func printPressure(w io.Writer, s api.Status) {
	line := func(what, of, text string) {
		if text != "" {
			printf(w, "%s%s: %s\n", what, of, text)
		}
	}
	if pressed(s) {
		printf(w, "\n")
	}
	line("reclaiming is slowed by", "", s.SlowedBy)
	line("limits of all backends together", "", s.Limits)
	for _, b := range s.Backends {
		line("deleting is slowed on ", b.ID, b.SlowedBy)
		line("limits of ", b.ID, b.Limits)
	}
}

func pressed(s api.Status) bool {
	for _, b := range s.Backends {
		if b.SlowedBy != "" || b.Limits != "" {
			return true
		}
	}
	return s.SlowedBy != "" || s.Limits != ""
}
