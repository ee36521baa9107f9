package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) adoptQuarantineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "quarantine", Short: "List, restore or purge objects in quarantine",
		Long: `Collections with a quarantine move objects below its prefix before they delete them.
"lethe adopt run" copies an object back if something refers to it again, and deletes
the others after the retention. Name objects by their original full keys.`,
	}
	var asJSON bool
	list := &cobra.Command{
		Use: "list FILE [COLLECTION...]", Short: "List what is in quarantine", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withQuarantines(cmd.Context(), args, nil, func(q *adopt.Quarantine) error { return c.listQuarantine(cmd.Context(), q, asJSON) })
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "write JSON, one object a line")
	restore := &cobra.Command{
		Use: "restore FILE KEY", Short: "Copy an object back, although nothing refers to it", Args: cobra.ExactArgs(2),
		Long: `Copy an object back, although nothing refers to it. An object in its place is never
overwritten. A collection of keys treats it as an orphan again unless a row names it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.restoreQuarantined(cmd.Context(), args[0], args[1])
		},
	}
	var yes bool
	purge := &cobra.Command{
		Use: "purge FILE [COLLECTION...]", Short: "Delete copies before their retention is over", Args: cobra.MinimumNArgs(1),
		Long: `Delete the copies of all objects in quarantine that nothing refers to, before their
retention is over. Those that were moved a moment ago, a delete of which may yet take
effect, stay.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			purge := &adoptChange{Change: adoption.Change{Route: "quarantine purge", Request: map[string]any{"collections": args[1:]}}, yes: yes, ask: ofQuarantine(cmd.Context(), args)}
			return c.withQuarantines(cmd.Context(), args, purge, func(q *adopt.Quarantine) error {
				n, err := q.PurgeNow(cmd.Context())
				printf(c.out, "%s: %s\n", q.Collection, words.Plural(n, "copy was deleted", "copies were deleted"))
				if err != nil {
					return err
				}
				left, err := q.Rows.InQuarantine(cmd.Context())
				if left.Due > 0 {
					printf(c.out, "%s: %s: \"lethe adopt quarantine list\" shows why\n", q.Collection, words.Plural(left.Due, "object stays in quarantine", "objects stay in quarantine"))
				}
				return err
			})
		},
	}
	yesFlag(purge, &yes)
	cmd.AddCommand(list, noQuestion(restore), purge)
	return cmd
}

// withQuarantines calls fn with the quarantines of the collections named after
// the file, or with all. A change leaves an audit line.
func (c *cli) withQuarantines(ctx context.Context, args []string, change *adoptChange, fn func(*adopt.Quarantine) error) error {
	each := func(a *adoption.Adoption) error { return eachQuarantine(ctx, a, args, fn) }
	if change == nil {
		return c.withAdoption(ctx, args[0], nil, each)
	}
	return c.changeAdoption(ctx, args[0], *change, each)
}

func eachQuarantine(ctx context.Context, a *adoption.Adoption, args []string, fn func(*adopt.Quarantine) error) error {
	names := args[1:]
	if len(names) == 0 {
		for _, name := range a.Description.Names() {
			if a.Description.Collections[name].Quarantine != nil {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("no collection of %s has a quarantine", args[0])
	}
	for _, name := range names {
		q, err := a.Quarantine(ctx, name)
		if err != nil {
			return err
		}
		if err := fn(q); err != nil {
			return err
		}
	}
	return nil
}

// ofQuarantine asks about what is in quarantine; nothing if that is empty.
func ofQuarantine(ctx context.Context, args []string) func(*adoption.Adoption) (string, error) {
	return func(a *adoption.Adoption) (string, error) {
		var n int64
		err := eachQuarantine(ctx, a, args, func(q *adopt.Quarantine) error {
			in, err := q.Rows.InQuarantine(ctx)
			n += in.Due
			return err
		})
		if err == nil && n == 0 {
			err = errNothing
		}
		return fmt.Sprintf("Delete what nothing refers to, of %s in quarantine, for good?", words.Plural(n, "object", "objects")), err
	}
}

func (c *cli) listQuarantine(ctx context.Context, q *adopt.Quarantine, asJSON bool) error {
	var objects, bytes int64
	for after := ""; ; {
		page, err := q.Rows.Page(ctx, after, q.Batch)
		if err != nil {
			return err
		}
		for _, h := range page.Objects {
			text := h.String()
			if h.Late > page.Now {
				text += "; no purge before " + h.Late.String() + ", as a delete of the object may yet take effect"
			}
			if asJSON {
				err = printLine(c.out, quarantinedJSON{q.Collection, h.Key, h.Copy, h.Size, fmt.Sprint(h.State), h.Since.Time(), h.Until.Time(), h.Named, h.OnHold})
			} else {
				_, err = printf(c.out, "%s\n", cell(text))
			}
			if err != nil {
				return err
			}
			objects, bytes, after = objects+1, bytes+h.Size, h.Key
		}
		if len(page.Objects) < q.Batch {
			break
		}
	}
	if asJSON {
		return nil
	}
	printf(c.out, "%s: %s of %s\n", q.Collection, words.Plural(objects, "object", "objects"), words.Size(bytes))
	return nil
}

// restoreQuarantined restores an object of the collection whose prefix its key
// has. Prefixes do not overlap.
func (c *cli) restoreQuarantined(ctx context.Context, file, key string) error {
	found := false
	change := &adoptChange{Change: adoption.Change{Route: "quarantine restore", Request: map[string]any{"key": key}}}
	err := c.withQuarantines(ctx, []string{file}, change, func(q *adopt.Quarantine) error {
		if found || !q.Has(key) {
			return nil
		}
		found = true
		if err := q.Restore(ctx, key); err != nil {
			return err
		}
		printf(c.out, "%s is in its place again\n", cell(key))
		return nil
	})
	if err == nil && !found {
		return fmt.Errorf("no collection with a quarantine has a prefix that %q begins with", key)
	}
	return err
}
