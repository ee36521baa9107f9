package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/app/adoption"
)

func (c *cli) adoptExplainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "explain FILE [COLLECTION] KEY", Short: "Explain why a row, content, object or folder still exists, or when it was deleted",
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				names := a.Description.Names()
				if len(args) == 3 {
					names = args[1:2]
				}
				facts, err := adoptFacts(cmd.Context(), a, names, args[len(args)-1])
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, facts)
				}
				for _, f := range facts {
					when := "now"
					if !f.At.IsZero() {
						when = lethe.FromTime(f.At).String()
					}
					printf(c.out, "%s  %s  %s\n", f.Collection, when, cell(f.What))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// adoptFacts returns what is known of a key.
func adoptFacts(ctx context.Context, a *adoption.Adoption, names []string, key string) (out []factJSON, err error) {
	for _, name := range names {
		facts, err := a.Explain(ctx, name, key)
		if err != nil {
			return nil, err
		}
		for _, f := range facts {
			fact := factJSON{Collection: name, What: f.What}
			if f.At != 0 {
				fact.At = f.At.Time()
			}
			out = append(out, fact)
		}
	}
	switch {
	case len(out) == 0 && len(a.Unusable) > 0:
		return nil, a.Unknown(names, key) // it may be in one that could not be asked
	case len(out) == 0:
		return nil, &exitError{exitNothing, a.Unknown(names, key)}
	}
	return out, nil
}
