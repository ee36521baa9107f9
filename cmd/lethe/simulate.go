package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// simulated is what a simulation is asked for.
type simulated struct {
	api.LifecycleRequest
	file   string // of the rules; empty: those of the bucket
	asJSON bool
}

func (c *cli) lifecycleSimulateCommand() *cobra.Command {
	var s simulated
	cmd := &cobra.Command{
		Use: "simulate bucket [file]", Short: "Show what rules would delete today and in the next days, and delete nothing",
		Long: `Without a file, use the bucket's own rules. Disabled rules are treated as enabled. If
several rules match an object, it counts for the one that ends it first. "Today" ends
at midnight UTC.`,
		Example: `  lethe lifecycle simulate photos rules.json
  lethe lifecycle simulate photos --all`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if s.Bucket, err = bucketName(args[0]); err != nil {
				return err
			}
			if len(args) == 2 {
				s.file = args[1]
				if s.Rules, err = c.rulesFile(s.file); err != nil {
					return err
				}
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error { return c.simulate(cmd.Context(), client, s) })
		},
	}
	cmd.Flags().Var(atLeast(1, &s.Days, 30), "days", "how many `days` to look ahead")
	cmd.Flags().BoolVar(&s.All, "all", false, "list every object and upload that would go")
	cmd.Flags().BoolVar(&s.asJSON, "json", false, "write JSON; with --all a line for each that would go, then the result")
	return c.completes(cmd, bucketNames, fileNames)
}

func (c *cli) simulate(ctx context.Context, client *api.Client, s simulated) (err error) {
	first := true
	found, serr := api.Stream[api.Simulation](ctx, client, "lifecycle/simulate", s.LifecycleRequest, func(ev api.Event) {
		switch {
		case ev.Ends == nil || err != nil:
		case s.asJSON:
			err = printLine(c.out, ev.Ends)
		default:
			err, first = c.printDay([]api.ForecastRow{*ev.Ends}, first), false
		}
	})
	switch {
	case serr != nil || err != nil:
		return cmp.Or(serr, err)
	case s.asJSON && s.All:
		return printLine(c.out, found)
	case s.asJSON:
		return printJSON(c.out, found)
	case s.All:
		if first {
			printf(c.out, "nothing would go within %s\n", words.Plural(int64(s.Days), "day", "days"))
		}
		return nil
	}
	c.printForecasts(s.Bucket, found, s.Days)
	c.printSteps(found, s)
	return nil
}

// printSteps names the commands that go on from a simulation.
func (c *cli) printSteps(found api.Simulation, s simulated) {
	args := []string{"lifecycle", "simulate", s.Bucket}
	goes, enabled := found.TTL.Days.Objects+found.Read.Days.Objects+found.Idle.Days.Objects+found.Abandoned.Days.Uploads, ""
	for _, f := range found.Rules {
		if !f.Disabled && enabled == "" {
			enabled = f.ID
		}
		goes += f.Days.Objects + f.Uploads.Days.Uploads
	}
	steps := [][]string{}
	step := func(why string, args ...string) { steps = append(steps, []string{why, c.command(args...)}) }
	if s.file != "" {
		args = append(args, s.file)
	}
	if goes > 0 {
		step("all that goes:", append(args, "--all")...)
	}
	switch {
	case s.file != "":
		step("set these rules:", "lifecycle", "set", s.Bucket, s.file)
	case enabled != "":
		step("stop a rule:", "lifecycle", "disable", s.Bucket, enabled)
	}
	if goes > 0 {
		step("keep some:", "hold", "add", "s3://"+s.Bucket+"/prefix/")
	}
	if len(steps) > 0 {
		printf(c.out, "\n")
	}
	for _, l := range steps {
		printf(c.out, "%-17s%s\n", l[0], l[1])
	}
}

func (c *cli) printForecasts(bucket string, found api.Simulation, days int) {
	if t := found.TTL; t.Days.Objects+t.Held.Objects > 0 {
		printf(c.out, "by their own times to live:\n")
		c.printEnds(bucket, t, api.UploadForecast{}, days)
	}
	if r := found.Read; r.Days.Objects+r.Held.Objects > 0 {
		printf(c.out, "as they were read for the last time:\n")
		c.printEnds(bucket, r, api.UploadForecast{}, days)
	}
	if i := found.Idle; i.Days.Objects+i.Held.Objects > 0 {
		printf(c.out, "unless they are read:\n")
		c.printEnds(bucket, i, api.UploadForecast{}, days)
	}
	if a := found.Abandoned; a.Days.Uploads+a.Held.Uploads > 0 {
		printf(c.out, "abandoned, before a rule aborts them:\n")
		c.printEnds(bucket, api.Ends{}, a, days)
		c.printUploads(bucket, a)
	}
	if len(found.Rules) == 0 {
		printf(c.out, "there are no rules, so rules end nothing\n")
		return
	}
	for _, f := range found.Rules {
		off := ""
		if f.Disabled {
			off = " (disabled; shown as if it were enabled)"
		}
		printf(c.out, "%s%s: %s\n", f.ID, off, f.Text)
		c.printEnds(bucket, f.Ends, f.Uploads, days)
		c.printUploads(bucket, f.Uploads)
	}
	for _, v := range found.Limits {
		c.printVerdict(v)
	}
}

func (c *cli) printUploads(bucket string, u api.UploadForecast) {
	for _, e := range u.Examples {
		printf(c.out, "    upload %s to %s, %s, begun %s, goes %s\n", e.ID, cell("s3://"+bucket+"/"+e.Key), words.Size(e.Bytes), stamp(e.BegunAt), stamp(e.EndsAt))
	}
}

// printEnds shows what ends for one cause.
func (c *cli) printEnds(bucket string, e api.Ends, u api.UploadForecast, days int) {
	printf(c.out, "  today: %s, %s%s\n", words.Plural(e.Today.Objects, "object", "objects"), words.Size(e.Today.Bytes), uploadsToo(u.Today))
	printf(c.out, "  within %s: %s, %s%s\n", words.Plural(int64(days), "day", "days"), words.Plural(e.Days.Objects, "object", "objects"), words.Size(e.Days.Bytes), uploadsToo(u.Days))
	if len(e.Examples) > 0 {
		printf(c.out, "    among them:\n")
	}
	for _, x := range e.Examples {
		printf(c.out, "    %s, %s, modified %s, goes %s\n", cell("s3://"+bucket+"/"+x.Key), words.Size(x.Size), stamp(x.ModifiedAt), stamp(x.EndsAt))
	}
	if e.Held.Objects+u.Held.Uploads > 0 {
		printf(c.out, "  besides, holds keep %s, %s%s\n", words.Plural(e.Held.Objects, "object", "objects"), words.Size(e.Held.Bytes), uploadsToo(u.Held))
	}
}

func uploadsToo(u api.UploadAmount) string {
	if u.Uploads == 0 {
		return ""
	}
	return fmt.Sprintf("; %s, %s", words.Plural(u.Uploads, "incomplete upload", "incomplete uploads"), words.Size(u.Bytes))
}

// printVerdict shows the decision of the limits.
func (c *cli) printVerdict(v api.Verdict) {
	text := "within the limits (reclaim.limits.rules)"
	switch {
	case v.Why != "" && v.Goes == 0:
		text = "the limits would stop all of it: " + v.Why
	case v.Why != "":
		text = fmt.Sprintf("the limits would allow %s and stop the rest: %s", words.Number(v.Goes), v.Why)
	}
	printf(c.out, "by %s: %s due of %s: %s\n", stamp(v.At), words.Plural(v.Due, "object", "objects"), words.Number(v.Has), text)
}
