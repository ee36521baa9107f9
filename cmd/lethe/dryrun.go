package main

import (
	"context"
	"slices"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// dryRun shows what a run of routines would take, by the plan of those that make one.
func (c *cli) dryRun(ctx context.Context, client *api.Client, only []string, routines []api.PlannedRoutine, asJSON bool) error {
	end, err := makePlan(ctx, client, api.PlanRequest{Command: "reclaim", Only: only, OneRun: true})
	planned := !noPlan(err)
	if err != nil && planned {
		return err
	}
	out := api.DryRun{Routines: []api.DryRunRoutine{}, Totals: end.Totals, Estimates: end.Estimates}
	by, stays := end.Totals.By(), end.Totals.Staying()
	for _, r := range routines {
		one := api.DryRunRoutine{Name: r.Name, Takes: by[r.Name], Stays: stays[r.Name], Later: r.Backlog.Scheduled, NextDue: r.Backlog.NextDue}
		one.AtLeast = r.PerRun > 0 && slices.ContainsFunc(end.Totals.Groups, func(g plan.Group) bool {
			return g.Do == r.Name && g.Stays == plan.PerRun(r.PerRun)
		})
		switch {
		case r.Name == "lifecycle":
			one.Reapplies = r.Backlog.Due
		case !r.Plans:
			one.Takes = plan.Sum{Items: r.Backlog.Due, Bytes: r.Backlog.Bytes}
		}
		out.Routines = append(out.Routines, one)
	}
	if asJSON {
		return printJSON(c.out, out)
	}
	if err := c.printDryRun(out); err != nil || !planned {
		return err
	}
	printf(c.out, "\n")
	return c.printPlan(end)
}

func (c *cli) printDryRun(d api.DryRun) error {
	rows := [][]string{{"ROUTINE", "WOULD TAKE", "BYTES", "FREES", "STAYS", "LATER"}}
	for _, r := range d.Routines {
		least, some, most := "", "", ""
		if r.AtLeast {
			least, some, most = "at least ", "some ", "at most "
		}
		rows = append(rows, []string{r.Name, least + words.Number(r.Takes.Items), some + words.Size(r.Takes.Bytes), some + words.Size(r.Takes.Frees),
			most + words.Number(r.Stays.Items), words.Number(r.Later)})
	}
	if err := table(c.out, rows); err != nil {
		return err
	}
	for _, r := range d.Routines {
		if r.Reapplies > 0 {
			printf(c.out, "lifecycle applies changed rules to %s first; what they end is counted already\n", words.Plural(r.Reapplies, "object", "objects"))
		}
	}
	return nil
}
