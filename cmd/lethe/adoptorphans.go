package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) adoptOrphansCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "orphans FILE COLLECTION", Short: "List objects without a row, and rows without their object",
		Long: `Compare the objects of a collection of keys with the keys in its rows, both ways. List
objects that no row names, with size and time, and keys without an object. Nothing is
changed in any mode.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return whichKeys(args[0])
			}
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				return c.adoptOrphans(cmd.Context(), a, args[1], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, one object or key a line")
	return cmd
}

// whichKeys returns the error of a command that needs the name of a collection
// of keys.
func whichKeys(file string) error {
	d, err := adopt.Load(file, os.LookupEnv)
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(d.Names(), func(name string) bool { return d.Collections[name].Kind != adopt.OfKeys })
	if len(names) == 0 {
		return fmt.Errorf("%s describes no collection of keys: only of those are objects compared with rows", file)
	}
	return fmt.Errorf("name a collection of keys after %s: %s", file, strings.Join(names, ", "))
}

func (c *cli) adoptOrphans(ctx context.Context, a *adoption.Adoption, name string, asJSON bool) error {
	k, err := a.Keys(ctx, name)
	if err != nil {
		return err
	}
	var orphans, bytes, missing int64
	err = k.Report(ctx, func(list []adopt.OrphanObject) {
		for _, o := range list {
			if asJSON {
				_ = printLine(c.out, orphanJSON{Key: o.Key, Size: o.Size, Modified: o.Modified.Time()})
			} else {
				printf(c.out, "orphan   %s  %s  %s\n", o.Modified.String(), words.Size(o.Size), cell(o.Key))
			}
			orphans++
			bytes += o.Size
		}
	}, func(keys []string) {
		for _, key := range keys {
			if asJSON {
				_ = printLine(c.out, orphanJSON{Key: key, Missing: true})
			} else {
				printf(c.out, "missing  %s\n", cell(key))
			}
			missing++
		}
	})
	if err != nil {
		return fmt.Errorf("compare %s: %w", name, err)
	}
	if asJSON {
		return nil
	}
	printf(c.out, "%s of %s that no row names; %s\n", words.Plural(orphans, "object", "objects"), words.Size(bytes),
		words.Plural(missing, "row names an object that is not there", "rows name objects that are not there"))
	return nil
}
