package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) auditCommand() *cobra.Command {
	var asJSON bool
	var req api.AuditRequest
	cmd := &cobra.Command{
		Use: "audit", Short: "List the last decisions of the server: what was deleted, changed or stopped, by whom and why",
		Long: `Lists the last 500 decisions of the server that answers, the latest first. Its log has all
of them, as lines with audit=true. Other instances have their own: --server asks them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				found, err := api.Call[api.AuditLines](cmd.Context(), client, "audit/list", req)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, found)
				}
				rows := [][]string{{"WHEN", "EVENT", "WHO", "WHY", "WHAT"}}
				for _, l := range found.Lines {
					what := make([]string, len(l.What))
					for i, a := range l.What {
						what[i] = a.Key + "=" + a.Value
					}
					rows = append(rows, []string{stamp(l.At), l.Event, cmp.Or(l.Who, "-"), cmp.Or(l.Reason, "-"), cell(strings.Join(what, " "))})
				}
				if err := table(c.out, rows); err != nil {
					return err
				}
				if found.Instance != "" {
					printf(c.out, "\nthese are the decisions of one instance: %s\n", found.Instance)
				}
				printf(c.out, "\n%s of %s kept since %s\n", words.Number(int64(len(found.Lines))), words.Plural(int64(found.Kept), "line", "lines"), stamp(found.Since))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.Contains, "contains", "", "only lines that contain a `text`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
