package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin"
)

func (c *cli) reclaimCommand() *cobra.Command {
	var req admin.ReclaimRequest
	var asJSON, once, yes bool
	var file string
	cmd := &cobra.Command{
		Use:   "reclaim --once",
		Short: "Run the routines that reclaim now, or say what they would do",
		Long: `Run each routine once, until nothing is due for it. Bytes that were condemned
just now stay for the read grace (reclaim.grace.read_grace), so that readers can
finish; a later run, or the server, deletes them.

--dry-run says what, why, how many and how much would go, with examples and what it
would cost; --plan writes it down item by item, for "lethe apply".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !once && !req.DryRun && file == "" {
				return errors.New("say --once to run the routines once, or --dry-run to see what they would do; by themselves they run in \"lethe serve\"")
			}
			return c.withYes(cmd.Context(), yes || req.DryRun || file != "", ofReclaim(req.Only), func(client *admin.Client) error {
				if file != "" {
					return c.writePlan(cmd.Context(), client, admin.PlanRequest{Command: "reclaim", Only: req.Only}, file)
				}
				return c.reclaim(cmd.Context(), client, req, asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&once, "once", false, "run the routines once")
	f.StringSliceVar(&req.Only, "only", nil, "`routines` by name, as \"lethe status\" shows them (default: all but those that walk over everything, such as verify)")
	f.BoolVar(&req.DryRun, "dry-run", false, "only say what would go: count, bytes, oldest")
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	f.BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) reclaim(ctx context.Context, client *admin.Client, req admin.ReclaimRequest, asJSON bool) error {
	bar := newProgress(c.err, "reclaim")
	res, err := client.Reclaim(ctx, req, func(ev admin.Event) {
		if ev.Progress != nil {
			bar.show(ev.Progress)
		}
	})
	bar.done()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.out, res)
	}
	if req.DryRun {
		rows := [][]string{{"ROUTINE", "WOULD TAKE", "BYTES", "OLDEST", "LATER"}}
		for _, p := range res.Plan {
			age := "-"
			if p.Backlog.Due > 0 {
				age = span(time.Duration(p.Backlog.Age*float64(time.Second))) + " overdue"
			}
			rows = append(rows, []string{p.Name, number(p.Backlog.Due), size(p.Backlog.Bytes), age, number(p.Backlog.Scheduled)})
		}
		if err := table(c.out, rows); err != nil {
			return err
		}
		for _, p := range res.Plan {
			if p.Backlog.Held > 0 {
				printf(c.out, "%s: %s of %s would be due and stay, as holds keep them\n",
					p.Name, plural(p.Backlog.Held, "upload", "uploads"), size(p.Backlog.HeldBytes))
			}
		}
		return c.showReclaimPlan(ctx, client, req.Only)
	}
	for _, d := range res.Done {
		printf(c.out, "%-10s %s\n", d.Name, counts(d.Counts))
	}
	return nil
}
