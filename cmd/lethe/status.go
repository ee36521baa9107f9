package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/config"
)

func (c *cli) statusCommand() *cobra.Command {
	var asJSON bool
	var watch time.Duration
	cmd := &cobra.Command{
		Use: "status", Short: "Show what is stored, what waits to be reclaimed, and what runs when", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			show := func(ctx context.Context) error {
				return c.withAdmin(ctx, func(client *api.Client) error { return c.status(ctx, client, asJSON) })
			}
			if watch <= 0 {
				return show(cmd.Context())
			}
			return c.repeat(cmd.Context(), watch, show)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().DurationVarP(&watch, "watch", "w", 0, "show it again at this interval")
	cmd.Flags().Lookup("watch").NoOptDefVal = "2s"
	return cmd
}

// repeat repeats a display until the command is interrupted.
func (c *cli) repeat(ctx context.Context, every time.Duration, show func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if isTerminal(c.out) {
			_, _ = io.WriteString(c.out, "\x1b[H\x1b[2J")
		}
		if err := show(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *cli) status(ctx context.Context, client *api.Client, asJSON bool) error {
	s, err := client.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.out, s)
	}
	mode := "no server runs on it"
	switch {
	case s.Serving && len(s.Roles) == 1 && s.Roles[0] == config.RoleReclaim:
		mode = "reclaiming since " + stamp(s.StartedAt)
	case s.Serving:
		mode = "serving since " + stamp(s.StartedAt)
	case len(s.Instances) > 0:
		mode = "read from the database"
	}
	printf(c.out, "store %s, %s\n%s of %s in %s\n\n", s.Store, mode,
		plural(s.Objects, "object", "objects"), size(s.Bytes), plural(int64(s.Buckets), "bucket", "buckets"))
	if err := printRuntimeInfo(c.out, s); err != nil {
		return err
	}
	if err := printBackends(c.out, s.Backends); err != nil {
		return err
	}
	printf(c.out, "\n")
	if err := printRoutines(c.out, s); err != nil {
		return err
	}
	printSlowed(c.out, s)
	c.printTrips(s)
	if s.Ledger.Full {
		printf(c.out, "\nTHE LEDGER'S DISK IS FULL: deletes continue, new objects are refused until there is room.\n")
	}
	if s.ClockBehind > 0 {
		printf(c.out, "\nThe machine's clock is %s behind the ledger's: nothing becomes due until it has caught up.\n"+
			"If the machine's clock is right: %s\n",
			span(time.Duration(s.ClockBehind*float64(time.Second))), c.command("clock", "show"))
	}
	if s.ClockAhead > 0 {
		printf(c.out, "\nTHE CLOCK WAS SET FORWARD BY %s: nothing is removed by age, and the ledger ignores the jump.\n"+
			"Set it back; or, if it is right now, restart the server.\n", span(time.Duration(s.ClockAhead*float64(time.Second))))
	}
	c.printTroubles(s.Backends)
	for _, b := range s.Backends {
		switch {
		case b.Misplaced != "":
			printf(c.out, "\nBACKEND %s IS NOT IN ITS PLACE: %s\n"+
				"Nothing is read or written there. Mount its disk to continue; if its bytes are lost for good: %s\n", b.ID, b.Misplaced, c.command("backend", "accept", b.ID))
		case b.Held != "":
			printf(c.out, "\nDELETES ARE STOPPED on backend %s: %s\nFind the cause, then: %s\n", b.ID, b.Held, c.command("backend", "accept", b.ID))
		}
	}
	return nil
}

func printBackends(w io.Writer, list []api.BackendStatus) error {
	rows := [][]string{{"BACKEND", "STATE", "BLOBS", "BYTES", "ROOM"}}
	for _, b := range list {
		for i, st := range b.States {
			name, room := "", ""
			if i == 0 {
				name, room = b.ID, roomOf(b)
			}
			rows = append(rows, []string{name, st.State, number(st.Blobs), size(st.Bytes), room})
		}
	}
	return table(w, rows)
}

func roomOf(b api.BackendStatus) string {
	switch {
	case b.Missing:
		return "NOT REACHABLE"
	case b.Breaker != nil && b.Breaker.Open:
		return "DOES NOT WORK: " + b.Breaker.Error
	case b.S3 != nil && b.S3.NoWrites != "":
		return "WRITES REFUSED: " + b.S3.NoWrites
	case b.Draining:
		return "is being drained"
	case b.Quota > 0:
		used := int64(0)
		for _, st := range b.States {
			used += st.Bytes
		}
		return fmt.Sprintf("%s of %s free", size(b.Quota-used), size(b.Quota))
	case b.Free != nil:
		return size(*b.Free) + " free on the disk"
	}
	return cmp.Or(b.Place, "-")
}

func printRoutines(w io.Writer, s api.Status) error {
	rows := [][]string{{"ROUTINE", "DUE", "BYTES", "AGE", "LATER", "LAST RUN", "OUTCOME", "NEXT"}}
	for _, r := range s.Routines {
		age, last, outcome := "-", "-", "-"
		if r.Backlog.Due > 0 {
			age = span(time.Duration(r.Backlog.Age * float64(time.Second)))
		}
		if r.LastRun != nil {
			last, outcome = when(r.LastRun.Started, s.Now), r.LastRun.Outcome
		}
		if outcome != "ok" && r.LastRun != nil && r.Error == "" && r.LookedAt.After(r.LastRun.Finished) {
			outcome = "ok since" // runs that find nothing to do are not recorded
		}
		if r.Running {
			outcome = "running"
		}
		if r.Error != "" {
			outcome = "failed: " + r.Error
		}
		rows = append(rows, []string{r.Name, number(r.Backlog.Due), size(r.Backlog.Bytes), age, later(r.Backlog, s.Now), last, outcome, when(r.NextRun, s.Now)})
	}
	return table(w, rows)
}

// later describes what waits, and when the first of it is due.
func later(b api.Backlog, now time.Time) string {
	if b.Scheduled == 0 {
		return "-"
	}
	return number(b.Scheduled) + ", " + when(b.NextDue, now)
}
