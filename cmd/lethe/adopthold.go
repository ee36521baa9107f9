package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) adoptHoldCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "hold", Short: "Keep a collection, a row or objects from being deleted",
		Long: `A hold keeps what it covers until it is released or ends. Then everything that became
due meanwhile is deleted, objects of contents within an hour. A held row is not
removed, and neither is anything it refers to. A held object is not deleted, although
its row may be; a folder that has one is neither marked nor purged.

A hold does not bind your application, which may still delete what is held.`,
	}
	cmd.AddCommand(noQuestion(c.adoptHoldAddCommand()), c.adoptHoldListCommand(), c.adoptHoldRemoveCommand())
	return cmd
}

// heldFlags are the flags for what a hold covers.
type heldFlags struct{ row, key, prefix string }

func (f *heldFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.row, "row", "", "only the row of this `key`, and what it refers to")
	cmd.Flags().StringVar(&f.key, "key", "", "only the object of this `key`, the full key in the bucket")
	cmd.Flags().StringVar(&f.prefix, "prefix", "", "only objects whose full keys begin with this `prefix`")
	cmd.MarkFlagsMutuallyExclusive("row", "key", "prefix")
}

func (f *heldFlags) hold(cmd *cobra.Command, collection string) (h adopt.Hold, err error) {
	h = adopt.Hold{Collection: collection, Scope: adopt.HoldCollection}
	for name, of := range map[string]struct {
		scope adopt.HoldScope
		key   string
	}{"row": {adopt.HoldRow, f.row}, "key": {adopt.HoldObject, f.key}, "prefix": {adopt.HoldPrefix, f.prefix}} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if of.key == "" {
			return h, fmt.Errorf("--%s is empty: leave it out to hold the whole collection", name)
		}
		h.Scope, h.Key = of.scope, of.key
	}
	return h, nil
}

// operator returns the name of the user who runs this command.
func operator() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname() // empty is valid
	return name + "@" + cmp.Or(host, "host")
}

func (c *cli) adoptHoldAddCommand() *cobra.Command {
	var of heldFlags
	var reason, until string
	var wait bool
	cmd := &cobra.Command{
		Use: "add FILE COLLECTION", Short: "Hold a collection, or a part of it", Args: cobra.ExactArgs(2),
		Long: `Once it has returned nothing that the hold covers is deleted any more, but for
deletes that were sent before: it reports how many those are, and when the last of them
has taken effect; with --wait it returns after that.`,
		Example: `  lethe adopt hold add adopt.yaml pastes --reason "audit 2031"
  lethe adopt hold add adopt.yaml pastes --row aX3fQ --until 2031-06-30T00:00:00Z
  lethe adopt hold add adopt.yaml recordings --prefix recordings/2030/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := of.hold(cmd, args[1])
			if err != nil {
				return err
			}
			h.Reason, h.By = reason, operator()
			at, err := instant("until", until, 1)
			if err != nil {
				return err
			}
			if !at.IsZero() {
				h.Until = lethe.FromTime(at)
			}
			request := map[string]any{"hold": h.String(), "reason": h.Reason, "until": h.Until}
			change := adoptChange{Change: adoption.Change{Route: "hold add", Request: request}}
			return c.changeAdoption(cmd.Context(), args[0], change, func(a *adoption.Adoption) error { return c.adoptHold(cmd.Context(), a, h, wait) })
		},
	}
	of.add(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, for later readers")
	cmd.Flags().StringVar(&until, "until", "", "`time` at which the hold ends, such as 30d or 2031-06-30T00:00:00Z (default: when it is released)")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for deletes sent before")
	return cmd
}

// underWayEvery is the interval of checks for deletes in flight.
const underWayEvery = time.Second

func (c *cli) adoptHold(ctx context.Context, a *adoption.Adoption, h adopt.Hold, wait bool) error {
	for told := false; ; told = true {
		have, under, err := a.AddHold(ctx, h)
		if err != nil {
			return err
		}
		if !told {
			printf(c.out, "held: %s\n", have)
			known, err := a.Known(ctx, have)
			if err != nil {
				return err
			}
			if !known {
				printf(c.out, "note: nothing has that key now; is it spelled right?\n")
			}
		}
		if under.Objects+under.Folders == 0 {
			return nil
		}
		if !told {
			printf(c.out, "sent before, and may take effect until %s: %s\n", under.Until, underWay(under))
		}
		if !wait {
			return nil
		}
		if err := lethe.Sleep(ctx, underWayEvery); err != nil {
			return err
		}
	}
}

// underWay describes the deletes that were allowed before.
func underWay(u adopt.UnderWay) string {
	var parts []string
	if u.Objects > 0 {
		parts = append(parts, "deletes of "+words.Plural(int64(u.Objects), "object", "objects"))
	}
	if u.Folders > 0 {
		parts = append(parts, "a page of "+words.Plural(int64(u.Folders), "folder", "folders each"))
	}
	return strings.Join(parts, ", ")
}

func (c *cli) adoptHoldListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list FILE", Short: "List the holds", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				holds, err := a.DB.Holds(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, append(adopt.Holds{}, holds...))
				}
				rows := [][]string{{"HELD", "SINCE", "UNTIL", "BY", "REASON"}}
				for _, h := range holds {
					until := "released"
					if h.Until != 0 {
						until = stamp(h.Until.Time())
					}
					rows = append(rows, []string{h.String(), stamp(h.At.Time()), until, h.By, strings.TrimSpace(h.Reason)})
				}
				return table(c.out, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) adoptHoldRemoveCommand() *cobra.Command {
	var of heldFlags
	var yes bool
	cmd := &cobra.Command{
		Use: "rm FILE COLLECTION", Short: "Release a hold; what became due meanwhile is deleted", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := of.hold(cmd, args[1])
			if err != nil {
				return err
			}
			change := adoptChange{Change: adoption.Change{Route: "hold rm", Request: map[string]any{"hold": h.String()}}, yes: yes, ask: ofAdoptHold(cmd.Context(), h)}
			err = c.changeAdoption(cmd.Context(), args[0], change, func(a *adoption.Adoption) error {
				if err := a.ReleaseHold(cmd.Context(), h); err != nil {
					return err
				}
				printf(c.out, "released\n")
				return nil
			})
			if errors.Is(err, adopt.ErrNoSuchHold) {
				err = &exitError{exitNothing, fmt.Errorf("%w; lethe adopt hold list %s shows all", err, forShell(args[0]))}
			}
			return err
		},
	}
	of.add(cmd)
	yesFlag(cmd, &yes)
	return cmd
}

// ofAdoptHold asks about a hold that there is. Of a row only the database knows: it may write the
// key otherwise.
func ofAdoptHold(ctx context.Context, h adopt.Hold) func(*adoption.Adoption) (string, error) {
	return func(a *adoption.Adoption) (string, error) {
		holds, err := a.DB.Holds(ctx)
		if err == nil && h.Scope != adopt.HoldRow && !slices.ContainsFunc(holds, func(have adopt.Hold) bool { return have.String() == h.String() }) {
			err = fmt.Errorf("%s: %w", h, adopt.ErrNoSuchHold)
		}
		return "Release the hold on " + h.String() + "?", err
	}
}
