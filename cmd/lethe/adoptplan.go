package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

func (c *cli) adoptPlanCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "plan FILE [COLLECTION...]", Short: "Write down, item by item, what a run would take now", Args: cobra.MinimumNArgs(1),
		Long: `Write down what a run would take now: rows that have expired, objects of contents that
wait to be deleted, folders that are to be marked or purged, orphans that have been
known for their retention. Nothing of the application's is changed; "lethe adopt apply"
applies the plan. Objects that lose their last reference by the rows of a plan
are not in it: they wait for grace.unreferenced first.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				return c.keepPlan(out, "lethe adopt apply "+args[0]+" "+out, func(w io.Writer) error {
					_, err := a.WritePlan(cmd.Context(), args[1:], versionText(), w)
					for name, why := range a.Unusable {
						printf(c.err, "nothing of %s is in the plan: %v\n", name, why)
					}
					return err
				})
			})
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "-", "`file` of the plan (- is standard output)")
	return cmd
}

func (c *cli) adoptApplyCommand() *cobra.Command {
	var o adoption.ApplyOptions
	var yes bool
	cmd := &cobra.Command{
		Use: "apply FILE PLAN", Short: "Apply a plan, as far as a run would still do it", Args: cobra.ExactArgs(2),
		Long: `Each item is looked at again in the transaction that acts on it, as in every run: what
was extended, is referred to again, is held or gone already stays as it is. Nothing that
is not in the plan is taken. A plan of another description, of another database, or one
that was altered, is cut off, or is older than a day is refused.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[1])
			if err != nil {
				return err
			}
			defer f.Close()
			head, end, err := plan.Check(f)
			if err != nil {
				return fmt.Errorf("%s: %w", args[1], err)
			}
			ask := func(*adoption.Adoption) (string, error) {
				if end.Totals.Items == 0 {
					return "", errNothing
				}
				items := words.Plural(end.Totals.Items, "item", "items")
				if end.Totals.Bytes > 0 { // sizes of rows and contents are unknown
					items = amount(end.Totals, "item", "items")
				}
				return fmt.Sprintf("Do what \"%s\" planned at %s: %s?", head.Command, stamp(head.At), items), nil
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			request := map[string]any{"plan": end.SHA256, "items": end.Totals.Items, "at": head.At}
			change := adoptChange{Change: adoption.Change{Route: "apply", Request: request}, yes: yes, ask: ask}
			return c.changeAdoption(cmd.Context(), args[0], change, func(a *adoption.Adoption) error { return c.adoptApply(cmd.Context(), a, f, o) })
		},
	}
	cmd.Flags().BoolVar(&o.Old, "force", false, "accept a plan that is too old")
	cmd.Flags().BoolVar(&o.Reported, "reclaim-reported", false, "accept items of collections with \"mode: report\"")
	yesFlag(cmd, &yes)
	return cmd
}

func (c *cli) adoptApply(ctx context.Context, a *adoption.Adoption, f io.ReadSeeker, o adoption.ApplyOptions) error {
	applied, err := a.Apply(ctx, f, o)
	rows := [][]string{{"BY", "PLANNED", "DONE"}}
	for _, done := range applied {
		rows = append(rows, []string{done.Do, words.Number(done.Items), counts(done.Counts)})
	}
	if len(applied) > 0 {
		err = errors.Join(err, table(c.out, rows))
	}
	return err
}

// dryItems is the number of items of each routine in a dry run.
const dryItems = 20

// adoptDry shows what waits, and what a run would take of it.
func (c *cli) adoptDry(ctx context.Context, a *adoption.Adoption, file string) error {
	installed, err := a.DB.Installed(ctx)
	if err := errors.Join(err, c.adoptStatus(ctx, a)); err != nil {
		return err
	}
	found, err := a.Check(ctx)
	if err != nil {
		return err
	}
	var idle []string
	for _, name := range a.Description.Names() {
		if a.Description.Collections[name].Mode != adopt.Reclaim || !adopt.Problems(found[name]) {
			continue
		}
		idle = append(idle, name)
		for _, f := range found[name] {
			if f.Problem {
				printf(c.out, "%s only reports, as its check finds a problem: %s\n", name, cell(f.What))
			}
		}
	}
	if err = c.dryItemsOf(ctx, a, file, installed); err == nil && len(idle) > 0 {
		err = &exitError{code: exitProblems, err: fmt.Errorf("%s: a run takes nothing of it, for the reason above", strings.Join(idle, ", "))}
	}
	return err
}

// dryItemsOf lists the first items of each routine.
func (c *cli) dryItemsOf(ctx context.Context, a *adoption.Adoption, file string, installed bool) error {
	if !installed {
		printf(c.out, "items can be listed once Lethe's tables exist: lethe adopt plan %s creates them, and lists all\n", file)
		return nil
	}
	rows := [][]string{{"by", "kind", "id", "why"}}
	n := map[string]int64{}
	err := a.Items(ctx, nil, func(i plan.Item) error {
		if n[i.Do]++; n[i.Do] <= dryItems {
			rows = append(rows, []string{i.Do, i.Kind, cell(i.ID), i.Why})
		}
		return nil
	})
	if err != nil || len(rows) == 1 {
		return err
	}
	err = table(c.out, rows)
	for _, do := range slices.Sorted(maps.Keys(n)) {
		if more := n[do] - dryItems; more > 0 {
			printf(c.out, "%s: %s; lethe adopt plan %s -o PLAN lists all\n", do, words.Plural(more, "more item", "more items"), file)
		}
	}
	return err
}
