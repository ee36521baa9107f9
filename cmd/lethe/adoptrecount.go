package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/words"
)

// recountPage is the number of contents per transaction.
const recountPage = 1000

func (c *cli) adoptRecountCommand() *cobra.Command {
	var repair, lower, yes bool
	cmd := &cobra.Command{
		Use: "recount FILE COLLECTION", Short: "Compare the counts of contents with the rows that refer to them",
		Long: `Compare the count of each content with the rows that refer to it, and list those
that differ. A count that is too low never deletes an object to which a row refers, of
the described table or of one with a foreign key; one that is too high keeps it without
end. With --repair counts that are too low are corrected, 1,000 at a time, under a lock
on each, and with --lower the others as well. First see that every table that refers to
contents has a foreign key: what another one refers to would be deleted.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			how := sqladopt.RepairNone
			switch {
			case lower && !repair:
				return errors.New("--lower is for --repair: write both")
			case lower:
				how = sqladopt.RepairAll
			case repair:
				how = sqladopt.RepairLow
			}
			recount := func(a *adoption.Adoption) error { return c.adoptRecount(cmd.Context(), a, args[1], how) }
			if !repair {
				return c.withAdoption(cmd.Context(), args[0], nil, recount)
			}
			change := adoptChange{Change: adoption.Change{Route: "recount --repair", Request: map[string]any{"collection": args[1], "lower": lower}}, yes: yes,
				ask: func(a *adoption.Adoption) (string, error) {
					_, err := recorded(a, args[1])
					return "Correct wrong counts of " + args[1] + "?", err
				}}
			return c.changeAdoption(cmd.Context(), args[0], change, recount)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "correct counts that are too low")
	cmd.Flags().BoolVar(&lower, "lower", false, "with --repair: correct counts that are too high, too")
	yesFlag(cmd, &yes)
	return cmd
}

// recorded returns a collection of records.
func recorded(a *adoption.Adoption, name string) (*sqladopt.Collection, error) {
	if err := a.Unusable[name]; err != nil {
		return nil, err
	}
	rows := a.Collection(name)
	if rows == nil {
		return nil, fmt.Errorf("there is no collection of records %q", name)
	}
	return rows, nil
}

func (c *cli) adoptRecount(ctx context.Context, a *adoption.Adoption, name string, repair sqladopt.Repair) error {
	rows, err := recorded(a, name)
	if err != nil {
		return err
	}
	var wrong, high int64
	for after := ""; ; {
		drifts, next, err := rows.Recount(ctx, after, recountPage, repair)
		if err != nil {
			return err
		}
		for _, d := range drifts {
			count := "NULL"
			if d.Count.Valid {
				count = strconv.FormatInt(d.Count.Int64, 10)
			}
			printf(c.out, "%s  count %s, rows %d\n", cell(d.Content), count, d.Rows)
			if d.High() {
				high++
			}
		}
		wrong += int64(len(drifts))
		if after = next; next == "" {
			break
		}
	}
	switch {
	case wrong == 0:
		printf(c.out, "every count is right\n")
	case repair == sqladopt.RepairLow && high > 0:
		printf(c.out, "%s corrected; %s too high, which keeps objects: --lower corrects that as well, once every table that refers to contents has a foreign key\n",
			words.Plural(wrong-high, "count was", "counts were"), words.Plural(high, "count is", "counts are"))
		return &exitError{code: exitProblems}
	case repair != sqladopt.RepairNone:
		printf(c.out, "%s corrected\n", words.Plural(wrong, "count was", "counts were"))
	default:
		how := "--repair corrects them"
		if high > 0 {
			how = fmt.Sprintf("--repair corrects what is too low, and with --lower the %d too high, which keep objects", high)
		}
		printf(c.out, "%s wrong; %s\n", words.Plural(wrong, "count is", "counts are"), how)
		return &exitError{code: exitProblems}
	}
	return nil
}
