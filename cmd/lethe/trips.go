package main

import (
	"cmp"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// printTrips shows holds, tripped deletion limits and clocks in doubt.
func (c *cli) printTrips(s api.Status) {
	if s.Holds > 0 {
		printf(c.out, "\n%s; list what is not deleted: %s\n", plural(s.Holds, "hold is set", "holds are set"), c.command("hold", "list"))
	}
	for _, g := range s.Trips {
		of := cmp.Or(g.Name, g.Subject)
		switch {
		case g.Kind == string(ledger.LimitClock):
			printf(c.out, "\nTHE CLOCKS DIFFER: %s\nCorrect the wrong clock; they are compared again by the hour.\n", g.Reason)
		case g.Until != 0:
			printf(c.out, "\nDELETIONS WAIT until %s (%s of %s): %s\n", stamp(g.Until.Time()), g.Kind, cmp.Or(of, "the store"), g.Reason)
		default:
			printf(c.out, "\nDELETIONS ARE STOPPED (%s of %s): %s\nDetails: %s\nThen: %s\n",
				g.Kind, cmp.Or(of, "the store"), g.Reason, c.command("limits", "show"), c.command(append([]string{"limits", "allow"}, strings.Fields(g.Kind+" "+of)...)...))
		}
	}
}
