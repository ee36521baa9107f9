package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/internal/app/adoption"
)

func (c *cli) adoptAcceptCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "accept FILE [COLLECTION...]", Short: "Give the objects in a bucket to this database", Args: cobra.MinimumNArgs(1),
		Long: `A collection only reports if its objects may belong to another database: if this one
was copied, moved or restored, if a copy has gone on with the bucket, or if the bucket
was emptied or restored. "lethe adopt check" says which.

accept says that the rows of this database are those of the objects. What no row names
is deleted from then on, by the rules of the description; every other database is refused
there. After a restore, look first at what has come since the backup, for keys with
"lethe adopt orphans".`,
		RunE: func(cmd *cobra.Command, args []string) error {
			change := adoptChange{Change: adoption.Change{Route: "accept", Request: map[string]any{"collections": args[1:]}}, yes: yes, ask: ofUnpaired(cmd.Context(), args[1:])}
			return c.changeAdoption(cmd.Context(), args[0], change, func(a *adoption.Adoption) error {
				given, err := a.Accept(cmd.Context(), args[1:])
				for _, name := range given {
					printf(c.out, "%s: the objects belong to this database\n", name)
				}
				if err == nil && len(given) == 0 {
					printf(c.out, "%v\n", errNothing)
				}
				return err
			})
		},
	}
	yesFlag(cmd, &yes)
	return cmd
}

// ofUnpaired asks about objects that may belong to another database; nothing if all belong to
// this one.
func ofUnpaired(ctx context.Context, only []string) func(*adoption.Adoption) (string, error) {
	return func(a *adoption.Adoption) (text string, err error) {
		unpaired, err := a.Unpaired(ctx, only)
		for _, name := range slices.Sorted(maps.Keys(unpaired)) {
			text += fmt.Sprintf("%s: %v\n", name, unpaired[name])
		}
		if err == nil && text == "" {
			err = errNothing
		}
		return text + "Delete there by the rows of this database from now on, and by no other's?", err
	}
}
