package main

import (
	"io"

	"github.com/lethe-storage/lethe/admin/api"
)

// printPressure shows why reclaiming is slower than it could be, and the
// delete rates that are set.
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
	line("delete rates of all backends together", "", s.Rates)
	for _, b := range s.Backends {
		line("deleting is slowed on ", b.ID, b.SlowedBy)
		line("delete rates of ", b.ID, b.Rates)
	}
}

func pressed(s api.Status) bool {
	for _, b := range s.Backends {
		if b.SlowedBy != "" || b.Rates != "" {
			return true
		}
	}
	return s.SlowedBy != "" || s.Rates != ""
}
