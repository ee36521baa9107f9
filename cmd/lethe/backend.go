package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin"
)

func (c *cli) backendCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backend", Short: "List backends, empty and remove one, stop deletes on one or let them go on",
		Long: `Deletes on a backend stop by themselves when it and the ledger do not fit
together: after a restore, when another disk is mounted, when a copy of the store
was started elsewhere. Nothing is lost then. Look into it, and accept the backend
once you are sure that this ledger is the one that may delete there.

To take a backend away: drain it, wait until list shows nothing there (instances
with the role reclaim copy it to the others), remove it, and take it out of the
configuration of every instance.`,
	}
	cmd.AddCommand(c.backendListCommand(),
		c.backendEndCommand("accept", "backends/accept", "Let deletes go on: this ledger and this backend belong together"),
		c.backendHoldCommand(),
		c.backendEndCommand("drain", "backends/drain", "Empty a backend: no more writes, and what lies there is copied elsewhere"),
		c.backendActCommand("undrain", "backends/undrain", "Let a backend that was being emptied take writes again", nil),
		c.backendEndCommand("remove", "backends/remove", "Forget a backend that was drained and holds nothing any more"))
	return cmd
}

func (c *cli) backendListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List backends with what lies there", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *admin.Client) error {
				list, err := admin.Call[[]admin.BackendStatus](cmd.Context(), client, "backends/list", admin.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				if err := printBackends(c.out, list); err != nil {
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
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who ask")
	return cmd
}

func (c *cli) backendActCommand(use, call, short string, reason *string) *cobra.Command {
	return &cobra.Command{
		Use: use + " backend", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := admin.BackendRequest{ID: args[0]}
			if reason != nil {
				req.Reason = *reason
			}
			return c.withAdmin(cmd.Context(), func(client *admin.Client) error { return c.backendAct(cmd.Context(), client, call, req) })
		},
	}
}

func (c *cli) backendAct(ctx context.Context, client *admin.Client, call string, req admin.BackendRequest) error {
	if _, err := admin.Call[admin.None](ctx, client, call, req); err != nil {
		return err
	}
	_, err := printf(c.out, "%s: done\n", req.ID)
	return err
}

// backendEndCommand is one that asks. All but accept, which changes nothing that lies
// there, make a plan.
func (c *cli) backendEndCommand(use, call, short string) *cobra.Command {
	var file string
	var yes bool
	cmd := c.backendActCommand(use, call, short, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withYes(cmd.Context(), yes || file != "", ofBackend(short, args[0]), func(client *admin.Client) error {
			if file != "" {
				return c.writePlan(cmd.Context(), client, admin.PlanRequest{Command: "backend " + use, Backend: args[0]}, file)
			}
			return c.backendAct(cmd.Context(), client, call, admin.BackendRequest{ID: args[0]})
		})
	}
	if use != "accept" {
		planFlag(cmd, &file)
	}
	yesFlag(cmd, &yes)
	return cmd
}
