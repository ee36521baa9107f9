package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin"
)

func (c *cli) deadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dead", Short: "List, requeue or write off deletes that were given up",
		Long: `A dead letter is a blob that was to be deleted and whose attempts are used up;
its bytes still lie on the backend. Requeue it once the cause is mended; write it
off once you know that the bytes are gone.`,
	}
	cmd.AddCommand(c.deadListCommand(),
		c.deadActCommand("requeue", "dead/requeue", "Try dead letters again, from now, with all attempts", "requeued"),
		c.deadActCommand("write-off", "dead/write-off", "Take dead letters off the books: you vouch that their bytes are gone", "written off"))
	return cmd
}

func deadFilter(cmd *cobra.Command, req *admin.DeadRequest) {
	cmd.Flags().StringVar(&req.Backend, "backend", "", "only those on this `backend`")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "only those condemned for this `reason`: delete, overwrite, expiry, ...")
}

func (c *cli) deadListCommand() *cobra.Command {
	var req admin.DeadRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List dead letters", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *admin.Client) error {
				list, err := allDead(cmd.Context(), client, req)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				rows := [][]string{{"BLOB", "BACKEND", "SIZE", "REASON", "DIED", "ATTEMPTS", "LAST ERROR"}}
				for _, b := range list {
					rows = append(rows, []string{b.ID, b.Backend, size(b.Size), b.Reason, stamp(b.DiedAt), strconv.Itoa(b.Attempts), b.LastError})
				}
				return table(c.out, rows)
			})
		},
	}
	deadFilter(cmd, &req)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// allDead asks page by page.
func allDead(ctx context.Context, client *admin.Client, req admin.DeadRequest) ([]admin.BlobInfo, error) {
	all := []admin.BlobInfo{}
	for {
		list, err := admin.Call[admin.DeadList](ctx, client, "dead/list", req)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Blobs...)
		if list.Next == "" {
			return all, nil
		}
		req.After = list.Next
	}
}

func (c *cli) deadActCommand(use, call, short, done string) *cobra.Command {
	var req admin.DeadRequest
	cmd := &cobra.Command{
		Use: use + " [id...]", Short: short,
		RunE: func(cmd *cobra.Command, ids []string) error {
			req.IDs = ids
			return c.withAdmin(cmd.Context(), func(client *admin.Client) error {
				n, err := admin.Call[admin.Count](cmd.Context(), client, call, req)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.out, "%s %s\n", plural(int64(n.Count), "dead letter", "dead letters"), done)
				return err
			})
		},
	}
	deadFilter(cmd, &req)
	cmd.Flags().BoolVar(&req.All, "all", false, "all of them")
	return cmd
}
