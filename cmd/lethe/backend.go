package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
)

func (c *cli) backendCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backend", Short: "List, drain and remove backends; stop and resume deletes",
		Long: `Deletes on a backend stop if it may not belong to the ledger: after a restore, when
another disk is mounted, or when a copy of the store was started elsewhere. Find the
cause first; "accept" resumes them.

To remove a backend, drain it and wait until list shows nothing there: instances with
the role reclaim copy its contents to the others. Then remove it, and take it out of
the configuration of every instance.`,
	}
	cmd.AddCommand(c.backendListCommand(),
		c.backendAcceptCommand(),
		noQuestion(c.backendHoldCommand()),
		c.backendEndCommand("drain", "backends/drain", "Empty a backend: stop writes, and copy its contents elsewhere"),
		noQuestion(c.backendActCommand("undrain", "backends/undrain", "Cancel a drain: the backend takes writes again", nil)),
		c.backendEndCommand("remove", "backends/remove", "Remove a drained backend that is empty"))
	return cmd
}

func (c *cli) backendAcceptCommand() *cobra.Command {
	cmd := c.backendEndCommand("accept", "backends/accept", "Resume deletes on a backend: it belongs to this store")
	cmd.Long = `Deletes on a backend have stopped, and "lethe backend list" says why. Accept the backend
once you know that it is the right one, and that no other copy of this store uses it.

If its disk is only not mounted, mount it instead. Objects whose bytes are missing on a
backend that is accepted are lost.`
	return cmd
}

func (c *cli) backendListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List backends and what they store", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := api.Call[[]api.BackendStatus](cmd.Context(), client, "backends/list", api.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				if err := printBackends(c.out, list, api.InlineTotal{}); err != nil {
					return err
				}
				for _, b := range list {
					c.printBackend(b)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) backendHoldCommand() *cobra.Command {
	var reason string
	cmd := c.backendActCommand("hold", "backends/hold", "Stop deletes until the backend is accepted", &reason)
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, for later readers")
	return cmd
}

func (c *cli) backendActCommand(use, call, short string, reason *string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use + " backend", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := api.BackendRequest{ID: args[0]}
			if reason != nil {
				req.Reason = *reason
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error { return c.backendAct(cmd.Context(), client, call, req) })
		},
	}
	return c.completes(cmd, backendNames)
}

func (c *cli) backendAct(ctx context.Context, client *api.Client, call string, req api.BackendRequest) error {
	if _, err := api.Call[api.None](ctx, client, call, req); err != nil {
		return err
	}
	_, err := printf(c.out, "%s: done\n", req.ID)
	return err
}

// backendEndCommand returns a command that asks. All but accept, which changes
// no stored bytes, make a plan.
func (c *cli) backendEndCommand(use, call, short string) *cobra.Command {
	var file string
	var yes bool
	cmd := c.backendActCommand(use, call, short, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withYes(cmd.Context(), yes || file != "", ofBackend(short, args[0]), func(client *api.Client) error {
			if file != "" {
				return c.writePlan(cmd.Context(), client, api.PlanRequest{Command: "backend " + use, Backend: args[0]}, file)
			}
			return c.backendAct(cmd.Context(), client, call, api.BackendRequest{ID: args[0]})
		})
	}
	if use != "accept" {
		planFlag(cmd, &file)
	}
	yesFlag(cmd, &yes)
	return cmd
}
