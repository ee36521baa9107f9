package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
)

func (c *cli) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Add, list and remove tokens of the admin API",
		Long: `A token allows calls of the admin API according to its role:

  read      see names, sizes, states and settings
  operate   start and stop work: run routines, hold and drain backends,
            requeue dead letters, restore from the trash
  destroy   end objects and bytes, change what ends them, allow what a limit
            has stopped, copy the ledger, and grant access

Each role includes those before it. The owner of the data folder needs no token.
Commands read a token from LETHE_ADMIN_TOKEN or --token; the API reads it from
"Authorization: Bearer ...". It is valid on all instances that share a ledger.`,
	}
	cmd.AddCommand(noQuestion(c.tokenAddCommand()), c.tokenListCommand(), c.tokenWhoCommand(), c.tokenRemoveCommand())
	return cmd
}

func (c *cli) tokenRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "rm name...", Aliases: []string{"remove"}, Short: "Remove tokens, at once", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return c.withYes(cmd.Context(), yes, ofNames("Remove", "token", "tokens", tokenNames, names), func(client *api.Client) error {
				for _, name := range names {
					if _, err := api.Call[api.None](cmd.Context(), client, "tokens/remove", api.TokenName{Name: name}); err != nil {
						return err
					}
					printf(c.out, "removed %s\n", name)
				}
				return nil
			})
		},
	}
	yesFlag(cmd, &yes)
	return c.completes(cmd, tokenNames)
}

func (c *cli) tokenAddCommand() *cobra.Command {
	req := api.TokenRequest{}
	var role string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "add name", Short: "Add a token; it is shown once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Name, req.Role = args[0], api.Role(role)
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				k, err := api.Call[api.NewToken](cmd.Context(), client, "tokens/add", req)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, k)
				}
				until := "until it is removed"
				if !k.ExpiresAt.IsZero() {
					until = "until " + stamp(k.ExpiresAt)
				}
				_, err = printf(c.out, "token  %s\nrole   %s, %s\nThe token is not shown again.\n", k.Text, k.Role, until)
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", "read", "what it may do: `read`, operate or destroy")
	f.StringVar(&req.TTL, "ttl", "", "how long it is valid, such as 90d (default: until it is removed)")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) tokenListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List tokens, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := api.Call[[]api.Token](cmd.Context(), client, "tokens/list", api.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				rows := [][]string{{"TOKEN", "ROLE", "MADE", "BY", "EXPIRES"}}
				for _, k := range list {
					expires := stamp(k.ExpiresAt)
					if k.Expired {
						expires += " (expired)"
					}
					rows = append(rows, []string{k.Name, string(k.Role), stamp(k.CreatedAt), cmp.Or(k.CreatedBy, "-"), expires})
				}
				return table(c.out, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) tokenWhoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "who", Short: "Show the name and role that commands use", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				who, err := api.Call[api.Caller](cmd.Context(), client, "whoami", api.None{})
				switch {
				case err != nil:
					return err
				case asJSON:
					return printJSON(c.out, who)
				}
				_, err = printf(c.out, "%s (%s)\n", who.Name, who.Role)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
