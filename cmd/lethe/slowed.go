package main

import (
	"io"

	"github.com/lethe-storage/lethe/admin/api"
)

// printSlowed shows, after a blank line, why reclaiming is slower than it could be, and the
// delete rates that are set.
func printSlowed(w io.Writer, s api.Status) {
	between := "\n"
	line := func(what, of, text string) {
		if text != "" {
			printf(w, "%s%s%s: %s\n", between, what, of, text)
			between = ""
		}
	}
	line("reclaiming is slowed by", "", s.SlowedBy)
	line("delete rates of all backends together", "", s.Rates)
	for _, b := range s.Backends {
		line("deleting is slowed on ", b.ID, b.SlowedBy)
		line("delete rates of ", b.ID, b.Rates)
	}
}
