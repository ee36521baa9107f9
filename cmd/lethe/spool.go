package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin"
)

func (c *cli) spoolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "spool", Short: "Show and look up results that the ledger may not have recorded",
		Long: `A transaction about bytes that were sent or deleted can fail, or its answer can be
lost. What it was about is noted in the data folder until somebody has looked up
what became of it: the server does so when it starts, and every minute.`,
	}
	cmd.AddCommand(c.spoolListCommand(), c.spoolReplayCommand())
	return cmd
}

func (c *cli) spoolListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List what is open", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *admin.Client) error {
				list, err := admin.Call[[]admin.SpoolEntry](cmd.Context(), client, "spool/list", admin.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				rows := [][]string{{"AT", "STAGE", "REASON", "BACKEND", "KEY", "SIZE", "TRIES", "ERROR"}}
				for _, e := range list {
					rows = append(rows, []string{stamp(e.At), e.Stage, e.Reason, orDash(e.Backend), orDash(e.Key), size(e.Size), strconv.Itoa(e.Tries), e.Error})
				}
				return table(c.out, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) spoolReplayCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "replay", Short: "Look up now what became of each", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *admin.Client) error {
				r, err := admin.Call[admin.SpoolReport](cmd.Context(), client, "spool/replay", admin.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, r)
				}
				_, err = printf(c.out, "%s; %s open, %s unreadable\n", counts(r.Resolved), number(r.Open), number(r.Corrupt+r.Torn))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
