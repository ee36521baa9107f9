package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) trashCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "trash", Short: "List, restore or purge deleted and replaced objects",
		Long: `Buckets with an undo window (lethe buckets set NAME --undo 7d) keep deleted and
replaced objects in the trash until it has passed.`,
	}
	cmd.AddCommand(c.trashListCommand(), c.trashRestoreCommand(), c.trashPurgeCommand())
	return cmd
}

func (c *cli) trashListCommand() *cobra.Command {
	var req api.TrashRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List what can be restored", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := allTrash(cmd.Context(), client, req)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				rows := [][]string{{"ENTRY", "OBJECT", "SIZE", "WHY", "DELETED", "PURGED"}}
				for _, e := range list {
					rows = append(rows, []string{e.ID, "s3://" + e.Bucket + "/" + e.Key, words.Size(e.Size), e.Reason, stamp(e.DeletedAt), purgedAt(e)})
				}
				return table(c.out, rows)
			})
		},
	}
	c.trashFilter(cmd, &req)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// purgedAt tells when an entry is purged, or that it is due or held.
func purgedAt(e api.TrashEntry) string {
	switch {
	case e.Held:
		return "held"
	case e.Due:
		return "due"
	}
	return stamp(e.PurgeAt)
}

func (c *cli) trashFilter(cmd *cobra.Command, req *api.TrashRequest) {
	cmd.Flags().StringVar(&req.Bucket, "bucket", "", "only those of this `bucket`")
	cmd.Flags().StringVar(&req.Prefix, "prefix", "", "only keys with this `prefix`")
}

func allTrash(ctx context.Context, client *api.Client, req api.TrashRequest) ([]api.TrashEntry, error) {
	all := []api.TrashEntry{}
	for {
		list, err := api.Call[api.TrashList](ctx, client, "trash/list", req)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Entries...)
		if list.Next == "" {
			return all, nil
		}
		req.After = list.Next
	}
}

func (c *cli) trashRestoreCommand() *cobra.Command {
	var overwrite, yes bool
	cmd := &cobra.Command{
		Use: "restore entry...", Short: "Put entries back under their keys", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return c.withYes(cmd.Context(), yes || !overwrite, ofOverwrite(ids), func(client *api.Client) error {
				for _, id := range ids {
					req := api.RestoreRequest{ID: id, Overwrite: overwrite}
					_, err := api.Call[api.ObjectInfo](cmd.Context(), client, "trash/restore", req)
					if errors.Is(err, lethe.ErrPreconditionFailed) {
						return fmt.Errorf("%w; --overwrite replaces it", err)
					}
					if err != nil {
						return err
					}
					printf(c.out, "restored %s\n", id)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace the object under the key")
	yesFlag(cmd, &yes)
	return cmd
}

func (c *cli) trashPurgeCommand() *cobra.Command {
	var req api.TrashRequest
	var file string
	var yes bool
	cmd := &cobra.Command{
		Use: "purge [entry...]", Short: "Purge entries before their undo window ends; the next purge run removes them",
		RunE: func(cmd *cobra.Command, ids []string) error {
			req.IDs = ids
			return c.withYes(cmd.Context(), yes || file != "", ofPurge(&req), func(client *api.Client) error {
				if file != "" {
					return c.writePlan(cmd.Context(), client, api.PlanRequest{Command: "trash purge", Trash: &req}, file)
				}
				n, err := api.Call[api.Count](cmd.Context(), client, "trash/purge", req)
				if err != nil {
					return err
				}
				_, err = printf(c.out, "%s purged\n", words.Plural(int64(n.Count), "entry is", "entries are"))
				return err
			})
		},
	}
	c.trashFilter(cmd, &req)
	cmd.Flags().BoolVar(&req.All, "all", false, "all of them")
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	return cmd
}
