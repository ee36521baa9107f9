package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/cmd/lethe/app/adoption"
)

func (c *cli) adoptExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain FILE KEY", Short: "Say why a row, a content or an object is still there, or when it went",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error { return c.adoptExplain(cmd.Context(), a, args[1]) })
		},
	}
}

func (c *cli) adoptExplain(ctx context.Context, a *adoption.Adoption, key string) error {
	known := false
	for _, name := range a.Description.Names() {
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
		return fmt.Errorf("nothing is known of %q: no row or content has this key, and no receipt names it", key)
	}
	return nil
}
