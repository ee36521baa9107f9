package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

func (c *cli) reconcileCommand() *cobra.Command {
	var req api.ReconcileRequest
	var last api.LastReconcileRequest
	var showLast, asJSON, yes bool
	var file string
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare the backends with the ledger, or show earlier findings",
		Long: `Compare the listing of each backend with the ledger, as the routine does each night.
Keys of this store without a row are condemned once they are old enough and two walks
have seen them. Missing or damaged bytes are restored from another copy, or reported
with the objects that are lost. Foreign keys are only reported. The next walk continues
an interrupted one.

Exit code 0: every byte is accounted for; 1: something was found; 2: the walk failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showLast {
				last.Backend = req.Backend
				return c.withAdmin(cmd.Context(), func(client *api.Client) error {
					return c.lastReconcile(cmd.Context(), client, last, asJSON)
				})
			}
			if last.Kind != "" {
				return usageError("--kind needs --last")
			}
			if file != "" {
				return c.withAdmin(cmd.Context(), func(client *api.Client) error {
					return c.writePlan(cmd.Context(), client, api.PlanRequest{Command: "reconcile", Backend: req.Backend}, file)
				})
			}
			return c.reconciled(cmd.Context(), yes || req.DryRun, req, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Backend, "backend", "", "only this `backend`")
	f.BoolVar(&req.DryRun, "dry-run", false, "change nothing; show what is found and what would be condemned")
	f.BoolVar(&showLast, "last", false, "show what the last walks found")
	f.StringVar(&last.Kind, "kind", "", "with --last: only findings of this `kind` (orphan, foreign, elsewhere, missing, size)")
	f.Var(atLeast(1, &last.Limit, 100), "limit", "with --last: show at most this many findings, up to 1000")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	cmd.MarkFlagsMutuallyExclusive("dry-run", "last", "plan")
	return cmd
}

// reconciled walks, and returns the exit code for the findings.
func (c *cli) reconciled(ctx context.Context, yes bool, req api.ReconcileRequest, asJSON bool) error {
	var res api.ReconcileResult
	err := c.withYes(ctx, yes, ofReconcile(req.Backend), func(client *api.Client) (err error) {
		res, err = c.reconcile(ctx, client, req, asJSON)
		return err
	})
	if err != nil {
		return walkFailed(err)
	}
	if troubles(res.Counts) > 0 {
		return &exitError{code: exitProblems}
	}
	return nil
}

func (c *cli) reconcile(ctx context.Context, client *api.Client, req api.ReconcileRequest, asJSON bool) (api.ReconcileResult, error) {
	res, err := walked[api.ReconcileResult](ctx, c, client, walk{"reconcile", req, asJSON})
	if err != nil {
		return res, err
	}
	if asJSON {
		return res, printLine(c.out, res)
	}
	n := res.Counts
	printf(c.out, "%s compared with %s: ", words.Plural(n[reconcile.Rows], "row", "rows"), words.Plural(n[reconcile.Keys], "key", "keys"))
	delete(n, reconcile.Rows)
	delete(n, reconcile.Keys)
	if troubles(n) == 0 {
		printf(c.out, "everything is accounted for\n")
		return res, nil
	}
	printf(c.out, "%s\n", counts(n))
	return res, nil
}

// troubles adds up the counts that need a person's attention.
func troubles(counts map[string]int64) (n int64) {
	for _, kind := range []string{reconcile.Orphans, reconcile.Foreign, reconcile.Elsewhere, reconcile.Missing, reconcile.WrongSize, reconcile.Skipped, reconcile.Unread} {
		n += counts[kind]
	}
	return n
}

func (c *cli) lastReconcile(ctx context.Context, client *api.Client, req api.LastReconcileRequest, asJSON bool) error {
	res, err := api.Call[api.LastReconcileResult](ctx, client, "reconcile/last", req)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.out, res)
	}
	rows := [][]string{{"BACKEND", "BEGUN", "ENDED", "FOUND"}}
	for _, w := range res.Walks {
		rows = append(rows, []string{w.Backend, stamp(w.Started), ended(w), counts(w.Counts)})
	}
	if err := table(c.out, rows); err != nil || len(res.Findings) == 0 {
		return err
	}
	rows = [][]string{{"KIND", "BACKEND", "KEY", "BYTES", "SEEN SINCE", "WHAT"}}
	for _, f := range res.Findings {
		rows = append(rows, []string{f.Kind, f.Backend, fmt.Sprintf("%q", f.Key), words.Number(f.Size), stamp(f.First), f.Detail})
	}
	printf(c.out, "\n")
	if err := table(c.out, rows); err != nil {
		return err
	}
	if res.More {
		printf(c.out, "there are more: use --limit, --kind or --backend\n")
	}
	return nil
}

func ended(w api.Walk) string {
	switch {
	case w.Finished.IsZero():
		return "running, or continued by the next run"
	case w.Outcome != "ok":
		return w.Outcome
	}
	return stamp(w.Finished)
}
