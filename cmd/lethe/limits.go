package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
)

func (c *cli) limitsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "limits", Short: "Show which deletion limits have tripped, or allow the deletions",
		Long: `Deletions beyond the configured limits (reclaim.limits) stop; all other work continues.
They wait until you allow them. A limit per hour (per_hour) resets after the hour.`,
	}
	cmd.AddCommand(c.limitsShowCommand(), c.limitsAllowCommand())
	return cmd
}

func (c *cli) limitsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show the counts and which limits have tripped", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := api.Call[[]api.LimitInfo](cmd.Context(), client, "limits/list", api.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				rows := [][]string{{"KIND", "OF", "COUNTED", "STATE", "WHY"}}
				for _, g := range list {
					rows = append(rows, []string{g.Kind, cmp.Or(g.Name, g.Subject, "the store"), strconv.FormatInt(g.Count, 10), limitState(g), g.Reason})
				}
				return table(c.out, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func limitState(g api.LimitInfo) string {
	switch {
	case g.Tripped && g.Until != 0:
		return "tripped until " + stamp(g.Until.Time())
	case g.Tripped:
		return "tripped"
	case g.FreeUntil != 0 && g.FreeCount < 0:
		return "all allowed until " + stamp(g.FreeUntil.Time())
	case g.FreeUntil != 0:
		return fmt.Sprintf("%d allowed until %s", g.FreeCount, stamp(g.FreeUntil.Time()))
	}
	return "within its limit"
}

// limitKinds are the kinds of limits beyond which more may be allowed.
var limitKinds = []string{"rules", "ttl", "deletes", "purge"}

func (c *cli) limitsAllowCommand() *cobra.Command {
	var req api.AllowRequest
	var yes bool
	cmd := &cobra.Command{
		Use: "allow KIND [BUCKET|BACKEND]", Short: "Allow deletions that a limit has stopped", Args: cobra.RangeArgs(1, 2),
		Long: `Kinds are rules and ttl (of a bucket), deletes (of a backend) and purge (of the
store, without a name). If the name is missing or unknown, the error lists all.`,
		Example: `  lethe limits allow rules invoices --count 20000
  lethe limits allow ttl sessions --for 6h
  lethe limits allow rules invoices --again`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if req.Kind = args[0]; !slices.Contains(limitKinds, req.Kind) {
				return usageError("there is no kind of limit %q: use %s", req.Kind, strings.Join(limitKinds, ", "))
			}
			if len(args) > 1 {
				req.Subject = strings.TrimSuffix(strings.TrimPrefix(args[1], "s3://"), "/")
			}
			return c.withYes(cmd.Context(), yes, ofAllowance(&req), func(client *api.Client) error {
				g, err := api.Call[api.LimitInfo](cmd.Context(), client, "limits/allow", req)
				if err == nil {
					_, err = printf(c.out, "%s of %s: %s\n", g.Kind, cmp.Or(g.Name, g.Subject, "the store"), limitState(g))
				}
				return err
			})
		},
	}
	cmd.Flags().Var(atLeast(1, &req.Count, 0), "count", "how many more (default: any number)")
	cmd.Flags().Var(aTime(&req.For), "for", "for how long (default 1h)")
	cmd.Flags().BoolVar(&req.Again, "again", false, "reset the count from now, and keep the limit")
	yesFlag(cmd, &yes)
	return c.completes(cmd, fixed(limitKinds...), limitSubjects)
}
