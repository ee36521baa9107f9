package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
)

func (c *cli) reclaimCommand() *cobra.Command {
	var req api.ReclaimRequest
	var asJSON, once, yes bool
	var file string
	cmd := &cobra.Command{
		Use:   "reclaim --once",
		Short: "Run the routines that reclaim now, or show what they would do",
		Long: `Run each routine once, until nothing is due for it. Newly condemned bytes stay for the
read grace (reclaim.grace.read_grace), so that readers can finish; a later run, or the
server, deletes them.

--dry-run shows what would be deleted and why, how many and how much, with examples and
estimates. --plan writes it item by item, for "lethe apply".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !once && !req.DryRun && file == "" {
				return usageError("add --once to run the routines once, or --dry-run to see what they would do; \"lethe serve\" runs them on schedule")
			}
			return c.withYes(cmd.Context(), yes || req.DryRun || file != "", ofReclaim(req.Only), func(client *api.Client) error {
				if file != "" {
					return c.writePlan(cmd.Context(), client, api.PlanRequest{Command: "reclaim", Only: req.Only}, file)
				}
				return c.reclaim(cmd.Context(), client, req, asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&once, "once", false, "run the routines once")
	f.StringSliceVar(&req.Only, "only", nil, "`routines` by name, as \"lethe status\" shows them (default: all but those that walk everything, such as verify)")
	f.BoolVar(&req.DryRun, "dry-run", false, "change nothing; show what would be deleted")
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	f.BoolVar(&asJSON, "json", false, "write JSON")
	c.completesFlag(cmd, "only", routineNames)
	return cmd
}

func (c *cli) reclaim(ctx context.Context, client *api.Client, req api.ReclaimRequest, asJSON bool) error {
	bar := newProgress(c.err, "reclaim")
	res, err := client.Reclaim(ctx, req, func(ev api.Event) {
		if ev.Progress != nil {
			bar.show(ev.Progress)
		}
	})
	bar.done()
	if err != nil {
		return err
	}
	switch {
	case req.DryRun:
		return c.dryRun(ctx, client, req.Only, res.Plan, asJSON)
	case asJSON:
		return printJSON(c.out, res)
	}
	for _, d := range res.Done {
		printf(c.out, "%-10s %s\n", d.Name, counts(d.Counts))
	}
	return nil
}
