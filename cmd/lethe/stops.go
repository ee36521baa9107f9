package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/meta"
)

// printStops writes what is held by persons, and what limits have stopped.
func printStops(w io.Writer, s admin.Status) {
	if s.Holds > 0 {
		fmt.Fprintf(w, "\n%s: what they cover is not deleted (lethe hold list)\n", plural(s.Holds, "hold is set", "holds are set"))
	}
	for _, g := range s.Stops {
		of := cmp.Or(g.Name, g.Subject)
		switch {
		case g.Kind == string(meta.GuardClock):
			fmt.Fprintf(w, "\nTHE CLOCKS DIFFER: %s\nSet the wrong one right; it is compared again by the hour.\n", g.Reason)
		case g.Until != 0:
			fmt.Fprintf(w, "\nDELETIONS WAIT until %s (%s of %s): %s\n", stamp(g.Until.Time()), g.Kind, cmp.Or(of, "the store"), g.Reason)
		default:
			fmt.Fprintf(w, "\nDELETIONS ARE STOPPED (%s of %s): %s\nLook into it (lethe guard show), then: %s\n",
				g.Kind, cmp.Or(of, "the store"), g.Reason, strings.TrimSpace("lethe guard allow "+g.Kind+" "+of))
		}
	}
}
