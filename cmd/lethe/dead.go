package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) deadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dead", Short: "List, show, export, requeue or write off failed deletes",
		Long: `A dead letter is a blob that could not be deleted in all its attempts. Its bytes are
still on the backend. Requeue it once the cause is fixed, or write it off once you know
that the bytes are gone.`,
	}
	cmd.AddCommand(c.deadListCommand(), c.deadShowCommand(), c.deadExportCommand(), c.deadRequeueCommand(), c.deadWriteOffCommand())
	return cmd
}

// deadFilter adds the filters; the returned function reads those that need
// parsing.
func deadFilter(cmd *cobra.Command, req *api.DeadRequest) (read func() error) {
	var least string
	f := cmd.Flags()
	f.StringVar(&req.Backend, "backend", "", "only those on this `backend`")
	f.StringVar(&req.Reason, "reason", "", "only those condemned for this `reason`: delete, overwrite, expiry, ...")
	f.StringVar(&req.Bucket, "bucket", "", "only those whose last reference was in this `bucket`, if known")
	f.StringVar(&req.MinAge, "min-age", "", "only those that have not been needed for at least this long, such as 90m or 7d")
	f.StringVar(&least, "min-size", "", "only those of this `size` or larger, such as 10MiB")
	f.StringVar(&req.Error, "error", "", "only those with this `text` in the last error (case-sensitive)")
	return func() error {
		if least == "" {
			return nil
		}
		n, err := humanize.ParseBytes(least)
		if err != nil || n > 1<<62 {
			return usageError("--min-size %q is not a size: write a number of bytes, or 64KiB, 10MiB, 1GB", least)
		}
		req.MinSize = int64(n)
		return nil
	}
}

func (c *cli) deadListCommand() *cobra.Command {
	var req api.DeadRequest
	var asJSON bool
	var most int
	cmd := &cobra.Command{
		Use: "list", Short: "List dead letters, oldest first", Args: cobra.NoArgs,
	}
	read := deadFilter(cmd, &req)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := read(); err != nil {
			return err
		}
		return c.withAdmin(cmd.Context(), func(client *api.Client) error {
			list, more, err := someDead(cmd.Context(), client, req, most)
			if err != nil {
				return err
			}
			if more {
				printf(c.err, "there are more: continue with --after %s\n", list[len(list)-1].ID)
			}
			if asJSON {
				return printJSON(c.out, list)
			}
			rows := [][]string{{"BLOB", "BACKEND", "BUCKET", "SIZE", "REASON", "NEEDED UNTIL", "ATTEMPTS", "LAST ERROR"}}
			for _, b := range list {
				rows = append(rows, []string{b.ID, b.Backend, orDash(b.Bucket), words.Size(b.Size), b.Reason, stamp(b.DiedAt), strconv.Itoa(b.Attempts), brief(b.LastError)})
			}
			return table(c.out, rows)
		})
	}
	cmd.Flags().StringVar(&req.After, "after", "", "begin after the dead letter with this `id`")
	cmd.Flags().Var(atLeast(0, &most, 0), "limit", "list at most this `number`; 0: all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// someDead reads up to most dead letters, 0 for all, page by page, and reports
// whether there are more.
func someDead(ctx context.Context, client *api.Client, req api.DeadRequest, most int) (some []api.DeadInfo, more bool, err error) {
	some = []api.DeadInfo{}
	err = eachDead(ctx, client, req, func(d api.DeadInfo) (bool, error) {
		if more = most > 0 && len(some) == most; !more {
			some = append(some, d)
		}
		return !more, nil
	})
	return some, more, err
}

// eachDead passes dead letters to fn, until it returns false.
func eachDead(ctx context.Context, client *api.Client, req api.DeadRequest, fn func(api.DeadInfo) (bool, error)) error {
	for {
		list, err := api.Call[api.DeadList](ctx, client, "dead/list", req)
		if err != nil {
			return err
		}
		for _, d := range list.Blobs {
			if goOn, err := fn(d); err != nil || !goOn {
				return err
			}
		}
		if list.Next == "" {
			return nil
		}
		req.After = list.Next
	}
}

// deadChange is a command that changes dead letters.
type deadChange struct {
	use, short, long string
	call, command    string // of the API, and of its plans
	done             string
	after            string // shown when something was done
	question         string // the question on a terminal, with their number
}

func (c *cli) deadRequeueCommand() *cobra.Command {
	return c.deadActCommand(deadChange{
		use: "requeue [id...]", short: "Try dead letters again now, with all attempts",
		call: "dead/requeue", command: "dead requeue", done: "requeued",
		question: "Try again to delete %s?",
	})
}

func (c *cli) deadWriteOffCommand() *cobra.Command {
	const stays = `If bytes are still there, nothing counts them now. "lethe reconcile" finds them as orphans
and condemns them again after two walks that are reclaim.grace.orphan_grace (2 days by
default) apart.
`
	return c.deadActCommand(deadChange{
		use: "write-off [id...]", short: "Remove dead letters whose bytes you know to be gone",
		long: "Remove the chosen rows and their counts from the ledger. Nothing is deleted on a\nbackend. Rows whose upload may still arrive stay until it cannot.\n" + stays,
		call: "dead/write-off", command: "dead write-off", done: "written off", after: stays,
		question: "Write off %s?",
	})
}

func (c *cli) deadActCommand(d deadChange) *cobra.Command {
	var req api.DeadRequest
	var file string
	var dry, yes bool
	cmd := &cobra.Command{Use: d.use, Short: d.short, Long: d.long}
	read := deadFilter(cmd, &req)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		if err := read(); err != nil {
			return err
		}
		req.IDs = ids
		wanted := api.PlanRequest{Command: d.command, Dead: &req}
		asks := ofPlan(wanted, d.question, "dead letter", "dead letters")
		if len(ids) > 0 {
			asks = unlessNone(asks, "dead letter")
		}
		return c.withYes(cmd.Context(), yes || dry || file != "", asks, func(client *api.Client) error {
			switch {
			case dry:
				return c.showPlan(cmd.Context(), client, wanted)
			case file != "":
				return c.writePlan(cmd.Context(), client, wanted, file)
			}
			return c.changeDead(cmd.Context(), client, d, req)
		})
	}
	cmd.Flags().BoolVar(&req.All, "all", false, "all of them")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "change nothing; show what would be done")
	planFlag(cmd, &file)
	cmd.MarkFlagsMutuallyExclusive("dry-run", "plan")
	yesFlag(cmd, &yes)
	return cmd
}

func (c *cli) changeDead(ctx context.Context, client *api.Client, d deadChange, req api.DeadRequest) error {
	n, err := api.Call[api.Count](ctx, client, d.call, req)
	if err != nil {
		return err
	}
	printf(c.out, "%s %s\n", words.Plural(int64(n.Count), "dead letter", "dead letters"), d.done)
	if n.Count > 0 {
		_, _ = io.WriteString(c.out, d.after)
	}
	if n.Late > 0 {
		printf(c.out, "%s kept: the upload may still arrive, until %s at the latest. Write off after that.\n",
			words.Plural(int64(n.Late), "dead letter was", "dead letters were"), n.LateUntil.Format(time.RFC3339))
	}
	if none := len(req.IDs) - n.Count - n.Late; none > 0 {
		return &exitError{exitNothing, errors.New(words.Plural(int64(none), "named blob is no dead letter", "named blobs are no dead letters"))}
	}
	return nil
}
