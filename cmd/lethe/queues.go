package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// queueCommand is a command that lists a queue.
type queueCommand struct {
	use, short, long, call, states string
	header                         []string
	row                            func(api.QueuedInfo) []string
}

func (c *cli) cleanupQueueCommand() *cobra.Command {
	return c.queueCommand(queueCommand{
		use: "cleanup-queue", short: "List blobs that wait to be deleted",
		long: `The cleanup queue has the condemned blobs: nothing refers to them, and they are deleted
when they are due. They were needed until the last reference ended: for an expired object,
until it was due, however much later it was reclaimed. "lethe dead list" shows those that could not be deleted.`,
		call: "cleanup-queue/list", states: "claimed, due or scheduled",
		header: []string{"BLOB", "BACKEND", "SIZE", "REASON", "NEEDED UNTIL", "NEXT RETRY", "ATTEMPTS", "CLAIMED BY", "CLAIMED", "LAST ERROR"},
		row: func(b api.QueuedInfo) []string {
			return []string{b.ID, b.Backend, words.Size(b.Size), b.Reason, stamp(b.DiedAt), stamp(b.DueAt), strconv.Itoa(b.Attempts), orDash(b.Worker), stamp(b.ClaimedAt), brief(b.LastError)}
		},
	})
}

func (c *cli) pendingObjectsCommand() *cobra.Command {
	return c.queueCommand(queueCommand{
		use: "pending-objects", short: "List writes in progress",
		long: `A pending object is the intent of a write. Its row is written before the first byte is
sent, and its writer sends heartbeats. The routine reap ends those of silent writers.`,
		call: "pending-objects/list", states: "claimed, silent or alive",
		header: []string{"BLOB", "BACKEND", "RESERVED", "CREATED", "LAST SIGN", "UPLOAD", "PART", "CLAIMED BY", "CLAIMED"},
		row: func(b api.QueuedInfo) []string {
			return []string{b.ID, b.Backend, words.Size(b.Size), stamp(b.CreatedAt), stamp(b.BeatAt), orDash(b.Upload), strconv.Itoa(b.Part), orDash(b.Worker), stamp(b.ClaimedAt)}
		},
	})
}

func (c *cli) queueCommand(q queueCommand) *cobra.Command {
	var req api.QueueRequest
	var most int
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: q.short + ": claimed ones first, then the oldest", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				found, next, err := someQueued(cmd.Context(), client, q.call, req, most)
				if err != nil {
					return err
				}
				if next != "" {
					printf(c.err, "there may be more: continue with --after %s\n", next)
				}
				if asJSON {
					return printJSON(c.out, found)
				}
				rows := [][]string{q.header}
				for _, b := range found {
					rows = append(rows, q.row(b))
				}
				return table(c.out, rows)
			})
		},
	}
	f := list.Flags()
	f.StringVar(&req.Backend, "backend", "", "only those on this `backend`")
	f.StringVar(&req.State, "state", "", "only those in this `state`: "+q.states)
	f.StringVar(&req.MinAge, "min-age", "", "only those whose last reference ended, or whose writer is silent, for at least this long, such as 90m or 7d")
	f.StringVar(&req.ClaimedBy, "claimed-by", "", "only those claimed by a `worker` whose name begins with this")
	f.Var(atLeast(0, &req.MinAttempts, 0), "min-attempts", "only those with at least this `number` of attempts")
	f.StringVar(&req.Reason, "reason", "", "only those condemned for this `reason`: delete, overwrite, expiry, ...")
	f.StringVar(&req.After, "after", "", "continue after a page, with the `text` it printed")
	f.Var(atLeast(0, &most, 1000), "limit", "list at most this `number`; 0: all")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	cmd := &cobra.Command{Use: q.use, Short: q.short, Long: q.long}
	cmd.AddCommand(list)
	return cmd
}

// someQueued reads up to most rows, 0 for all, page by page. It returns where
// to continue if there may be more.
func someQueued(ctx context.Context, client *api.Client, call string, req api.QueueRequest, most int) (some []api.QueuedInfo, next string, err error) {
	some = []api.QueuedInfo{}
	for {
		if req.Limit = 0; most > 0 {
			req.Limit = min(most-len(some), 1000)
		}
		page, err := api.Call[api.QueueList](ctx, client, call, req)
		if err != nil {
			return nil, "", err
		}
		some = append(some, page.Blobs...)
		if req.After = page.Next; page.Next == "" || most > 0 && len(some) >= most {
			return some, page.Next, nil
		}
	}
}
