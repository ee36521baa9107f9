package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/words"
)

// The exit codes of status are those of monitoring plugins.
const (
	exitWarning  = 1
	exitCritical = 2
	exitUnknown  = 3 // nobody could be asked, or the command line is wrong
)

// severityCodes are the exit codes of status by severity.
var severityCodes = map[string]int{
	api.SeverityOK: 0, api.SeverityNotice: 0, api.SeverityWarning: exitWarning, api.SeverityCritical: exitCritical,
}

func (c *cli) statusCommand() *cobra.Command {
	var asJSON bool
	var watch time.Duration
	cmd := &cobra.Command{
		Annotations: map[string]string{ownCodes: "those of monitoring plugins"},
		Use:         "status", Short: "Say whether all is well, and show what is stored and what waits",
		Long: `Say in one sentence whether all is well. Database, backends, Redis and the other
instances are asked now; one that does not answer within 3 seconds is named. Then come the
findings, the worst first, each with the next command, and what is stored and what waits to
be reclaimed.

The exit code is that of a monitoring plugin, so a wrong command line is 3 here, and not 2,
which would raise an alarm:

  0  healthy; notices need no action
  1  a warning: someone has to look at it soon
  2  critical: data is at risk, or the store does not do its work
  3  unknown: nobody could be asked, or the command line is wrong`,
		Args: func(_ *cobra.Command, args []string) error { return watchArgument(args, &watch) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			show := func(ctx context.Context) (code int, err error) {
				err = c.withAdmin(ctx, func(client *api.Client) error {
					code, err = c.status(ctx, client, asJSON)
					return err
				})
				return code, err
			}
			if watch <= 0 {
				return exitWith(show(cmd.Context()))
			}
			return exitWith(0, c.repeat(cmd.Context(), watch, func(ctx context.Context) error {
				_, err := show(ctx)
				return err
			}))
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &exitError{exitUnknown, flagError(cmd, err)} })
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().DurationVarP(&watch, "watch", "w", 0, "show it again at this interval")
	cmd.Flags().Lookup("watch").NoOptDefVal = "2s"
	return cmd
}

// watchArgument reads the interval of "-w 1s": since -w needs no value, it arrives as an
// argument.
func watchArgument(args []string, watch *time.Duration) error {
	if len(args) == 0 {
		return nil
	}
	every, err := time.ParseDuration(args[0])
	if *watch <= 0 || len(args) > 1 || err != nil || every <= 0 {
		return &exitError{exitUnknown, fmt.Errorf("status takes no argument %q; --watch takes an interval, such as -w 1s", args[0])}
	}
	*watch = every
	return nil
}

// exitWith ends status with the code of the severity, or with exitUnknown.
func exitWith(code int, err error) error {
	switch {
	case err != nil:
		return &exitError{exitUnknown, err}
	case code != 0:
		return &exitError{code: code}
	}
	return nil
}

// repeat repeats a display until the command is interrupted.
func (c *cli) repeat(ctx context.Context, every time.Duration, show func(context.Context) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if isTerminal(c.out) {
			_, _ = io.WriteString(c.out, "\x1b[H\x1b[2J")
		}
		if err := show(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// status shows the status and returns the exit code of its severity.
func (c *cli) status(ctx context.Context, client *api.Client, asJSON bool) (code int, err error) {
	s, err := client.Status(ctx)
	if err != nil {
		return exitUnknown, err
	}
	code = severityCodes[s.Severity]
	if asJSON {
		return code, printJSON(c.out, s)
	}
	c.printFindings(s)
	if s.LedgerError != "" {
		return code, nil
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
		words.Plural(s.Objects, "object", "objects"), words.Size(s.Bytes), words.Plural(int64(s.Buckets), "bucket", "buckets"))
	if err := printRuntimeInfo(c.out, s); err != nil {
		return code, err
	}
	if err := printBackends(c.out, s.Backends, s.Inline); err != nil {
		return code, err
	}
	printf(c.out, "\n")
	err = printRoutines(c.out, s)
	c.printUnapplied(s)
	printSlowed(c.out, s)
	return code, err
}

// printBackends lists the backends, after what lies in the ledger itself.
func printBackends(w io.Writer, list []api.BackendStatus, inline api.InlineTotal) error {
	rows := [][]string{{"BACKEND", "STATE", "BLOBS", "BYTES", "ROOM"}}
	if inline.Contents > 0 {
		rows = append(rows, []string{"(ledger)", "inline", words.Number(inline.Contents), words.Size(inline.Bytes), "in the database"})
	}
	for _, b := range list {
		for i, st := range b.States {
			name, room := "", ""
			if i == 0 {
				name, room = b.ID, b.Room(words.Size)
			}
			rows = append(rows, []string{name, st.State, words.Number(st.Blobs), words.Size(st.Bytes), room})
		}
	}
	return table(w, rows)
}

func printRoutines(w io.Writer, s api.Status) error {
	rows := [][]string{{"ROUTINE", "DUE", "BYTES", "AGE", "LATER", "LAST RUN", "OUTCOME", "NEXT"}}
	for _, r := range s.Routines {
		age, last, outcome := "-", "-", "-"
		if r.Backlog.Due > 0 {
			age = words.Span(time.Duration(r.Backlog.Age * float64(time.Second)))
		}
		if r.LastRun != nil {
			last, outcome = words.When(r.LastRun.Started, s.Now), brief(r.LastRun.Outcome)
		}
		if outcome != "ok" && r.LastRun != nil && r.Error == "" && r.LookedAt.After(r.LastRun.Finished) {
			outcome = "ok since" // runs that find nothing to do are not recorded
		}
		if r.Running {
			outcome = "running"
		}
		if r.Error != "" {
			outcome = "failed"
		}
		rows = append(rows, []string{r.Name, words.Number(r.Backlog.Due), words.Size(r.Backlog.Bytes), age, later(r.Backlog, s.Now), last, outcome, words.When(r.NextRun, s.Now)})
	}
	return table(w, rows)
}

// printUnapplied says that LATER does not have what changed rules will end.
func (c *cli) printUnapplied(s api.Status) {
	for _, r := range s.Routines {
		if n := r.Backlog.Due; r.Name == "lifecycle" && n > 0 {
			printf(c.out, "\nchanged rules are still to be applied to %s: LATER has what the old ones end; what the new ones will end: %s\n",
				words.Plural(n, "object", "objects"), c.command("forecast"))
		}
	}
}

// later describes what waits, and when the first of it is due.
func later(b api.Backlog, now time.Time) string {
	if b.Scheduled == 0 {
		return "-"
	}
	return words.Number(b.Scheduled) + ", " + words.When(b.NextDue, now)
}
