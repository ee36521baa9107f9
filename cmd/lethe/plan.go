package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// planFlag adds --plan to a command that destroys.
func planFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "plan", "", "change nothing; write a plan for \"lethe apply\" to this `file` (- is standard output)")
}

// writePlan writes a command's plan to a file, and prints it.
func (c *cli) writePlan(ctx context.Context, client *api.Client, req api.PlanRequest, path string) error {
	return c.keepPlan(path, c.command("apply", path), func(w io.Writer) error { return client.Plan(ctx, req, w) })
}

// keepPlan writes a plan to a file, and shows it with the command that applies
// it. A failure leaves no file.
func (c *cli) keepPlan(path, apply string, write func(io.Writer) error) (err error) {
	if path == "-" {
		return write(c.exact())
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriter(f)
	if err := write(w); err != nil {
		return err
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return err
	}
	head, end, err := readPlan(f)
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	printf(c.out, "plan of \"%s\" in %s; apply it with: %s\n", head.Command, path, apply)
	return c.printPlan(end)
}

// readPlan verifies a plan from its beginning.
func readPlan(f io.ReadSeeker) (plan.Header, plan.End, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return plan.Header{}, plan.End{}, err
	}
	return plan.Check(f)
}

// showPlan makes a plan and shows it; it leaves no file.
func (c *cli) showPlan(ctx context.Context, client *api.Client, req api.PlanRequest) error {
	end, err := makePlan(ctx, client, req)
	if err != nil {
		return err
	}
	return c.printPlan(end)
}

// makePlan makes a plan and returns its summary.
func makePlan(ctx context.Context, client *api.Client, req api.PlanRequest) (plan.End, error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(client.Plan(ctx, req, w)) }()
	defer r.Close()
	_, end, err := plan.Check(r)
	return end, err
}

// sizeOrDash formats a number of bytes; 0 may be unknown.
func sizeOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return words.Size(n)
}

// noPlan reports whether a routine makes no plans: walks over everything have
// no items before they run.
func noPlan(err error) bool {
	return errors.Is(err, api.ErrBadRequest) || err != nil && strings.Contains(err.Error(), "makes no plan")
}

// printPlan shows the action, reasons, numbers, sizes, examples, calls and
// time.
func (c *cli) printPlan(end plan.End) error {
	t := end.Totals
	if len(t.Groups) == 0 {
		_, err := printf(c.out, "nothing to do\n")
		return err
	}
	rows := [][]string{{"BY", "WHY", "BACKEND", "ITEMS", "BYTES", "FREES", "OLDEST", "SUCH AS"}}
	for _, g := range t.Groups {
		oldest, why, frees := "-", g.Why, sizeOrDash(g.Frees)
		if !g.Oldest.IsZero() {
			oldest = stamp(g.Oldest)
		}
		if g.Stays != "" {
			why, frees = "STAYS, as "+g.Stays+" ("+g.Why+")", "-"
		}
		rows = append(rows, []string{g.Do, why, orDash(g.Backend), words.Number(g.Items), sizeOrDash(g.Bytes), frees, oldest, strings.Join(g.Examples, " ")})
	}
	if err := table(c.out, rows); err != nil {
		return err
	}
	if t.Shared > 0 {
		printf(c.out, "%s; others keep those\n", words.Plural(t.Shared, "item shares its bytes", "items share their bytes"))
	}
	if t.AtLeast {
		printf(c.out, "FREES is a lower bound: there are too many shared contents to count each\n")
	}
	if t.Items == 0 {
		printf(c.out, "nothing would be taken\n")
	}
	for _, e := range end.Estimates {
		took := "time unknown: no run of at least 100 items is recorded"
		if e.Rate > 0 {
			took = "some " + words.Span(time.Duration(e.Seconds*float64(time.Second))) + " by " + e.Basis
		}
		printf(c.out, "%s: %s to backends", e.Do, words.Plural(e.Calls, "call", "calls"))
		if e.Later > 0 {
			printf(c.out, ", %s later to delete what is condemned", words.Number(e.Later))
		}
		printf(c.out, "; %s\n", took)
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (c *cli) applyCommand() *cobra.Command {
	var force, yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "apply file",
		Short: "Apply a plan to items that have not changed",
		Long: `The option --plan of a destructive command writes a plan. Each item is checked again in
the transaction that acts on it: items that are gone, changed, held or no longer due
stay as they are and are reported. Nothing outside the plan is changed. A plan is
refused if it was altered or cut off, is of another store or of a ledger before a
restore, or is older than reclaim.grace.plan_age.

The exit code is 1 if an item failed, or if nothing was done although items are still
there.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			head, end, err := readPlan(f)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			err = c.confirmed(yes, func() (string, error) {
				if end.Totals.Items == 0 {
					return "", errNothing
				}
				return fmt.Sprintf("Apply the plan of \"%s\" made at %s: %s?", head.Command, stamp(head.At), amount(end.Totals, "item", "items")), nil
			})
			if err != nil {
				return c.unlessNothing(err)
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				return c.apply(cmd.Context(), client, f, force, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "accept a plan that is too old")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON: a line for each item that was not done, then the result")
	yesFlag(cmd, &yes)
	return cmd
}

// told bounds the items that apply lists on a terminal.
const told = 20

func (c *cli) apply(ctx context.Context, client *api.Client, f io.Reader, force, asJSON bool) error {
	bar := newProgress(c.err, "apply")
	named := 0
	res, err := client.Apply(ctx, f, force, func(ev api.Event) {
		switch {
		case ev.Progress != nil:
			bar.show(ev.Progress)
		case ev.Item != nil && asJSON:
			_ = printLine(c.out, ev.Item)
		case ev.Item != nil:
			if named++; named <= told {
				bar.clear()
				printf(c.out, "%s: %s", ev.Item.Item.Name(), ev.Item.Outcome)
				if ev.Item.Detail != "" {
					printf(c.out, " (%s)", ev.Item.Detail)
				}
				printf(c.out, "\n")
			}
		}
	})
	bar.done()
	if err != nil {
		return err
	}
	if asJSON {
		if err := printLine(c.out, res); err != nil {
			return err
		}
		return failedApply(res)
	}
	if named > told {
		printf(c.out, "... and %s more that were not done; --json lists all\n", words.Number(int64(named-told)))
	}
	printf(c.out, "%s of %s done, %s", words.Number(res.Done.Items), words.Plural(res.Items, "item", "items"), words.Size(res.Done.Bytes))
	for _, o := range []plan.Outcome{plan.Already, plan.Gone, plan.Changed, plan.NotDue, plan.Held, plan.Busy, plan.Failed} {
		if n := res.Outcomes[o]; n > 0 {
			printf(c.out, "; %s %s", words.Number(n), o)
		}
	}
	if _, err = printf(c.out, "\n"); err != nil {
		return err
	}
	return failedApply(res)
}

// failedApply is the error of a plan that had failures, or of which nothing was done although
// items are still to be done. The result was printed already.
func failedApply(res api.ApplyResult) error {
	over := res.Done.Items + res.Outcomes[plan.Already] + res.Outcomes[plan.Gone]
	if res.Outcomes[plan.Failed] > 0 || res.Done.Items == 0 && over < res.Items {
		return &exitError{exitFailure, nil}
	}
	return nil
}
