package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/internal/app/adoption"
)

func (c *cli) adoptExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain FILE [COLLECTION] KEY", Short: "Explain why a row, content, object or folder still exists, or when it was deleted",
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				names := a.Description.Names()
				if len(args) == 3 {
					names = args[1:2]
				}
				return c.adoptExplain(cmd.Context(), a, names, args[len(args)-1])
			})
		},
	}
}

func (c *cli) adoptExplain(ctx context.Context, a *adoption.Adoption, names []string, key string) error {
	known := false
	for _, name := range names {
		facts, err := a.Explain(ctx, name, key)
		if err != nil {
			return err
		}
		for _, f := range facts {
			when := "now"
			if f.At != 0 {
				when = f.At.String()
			}
			printf(c.out, "%s  %s  %s\n", name, when, cell(f.What))
			known = true
		}
	}
	if !known {
		return a.Unknown(names, key)
	}
	return nil
}
