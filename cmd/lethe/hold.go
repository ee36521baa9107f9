package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) holdCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "hold", Short: "Keep a bucket, a prefix or an object from being deleted",
		Long: `What a hold covers cannot be deleted or replaced, does not expire, and is not purged
from the trash. When the hold is released, what became due meanwhile is deleted. Clients
get AccessDenied. New keys may be written under a hold.

An object whose time to live has passed is still hidden from clients; "lethe ttl set"
with a new time shows it again.`,
	}
	cmd.AddCommand(noQuestion(c.holdAddCommand()), c.holdListCommand(), c.holdRemoveCommand())
	return cmd
}

func (c *cli) holdAddCommand() *cobra.Command {
	var req api.HoldRequest
	cmd := &cobra.Command{
		Use: "add s3://bucket[/key|/prefix/]", Short: "Hold a bucket, a prefix or a key", Args: cobra.ExactArgs(1),
		Long: `A key that ends with / or * stands for all keys that begin so. --key and --prefix name
others.`,
		Example: `  lethe hold add s3://invoices --reason "audit 2031"
  lethe hold add s3://invoices/2030/
  lethe hold add s3://invoices/2030/17.pdf`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := heldPlace(args[0], &req); err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				h, err := api.Call[api.HoldSet](cmd.Context(), client, "holds/add", req)
				if err == nil {
					c.printHeld(h)
				}
				return err
			})
		},
	}
	holdFlags(cmd, &req)
	cmd.Flags().StringVar(&req.Reason, "reason", "", "the reason, for later readers")
	return c.completesKeys(cmd)
}

func holdFlags(cmd *cobra.Command, req *api.HoldRequest) {
	cmd.Flags().StringVar(&req.Key, "key", "", "only this `key`")
	cmd.Flags().StringVar(&req.Prefix, "prefix", "", "only keys with this `prefix`")
}

// holdName describes what a hold covers.
func holdName(h api.HoldInfo) string {
	name := "s3://" + h.Bucket + "/" + h.Key
	if h.Scope == "prefix" {
		name += "*"
	}
	return name
}

// printHeld prints a hold that was set, what it keeps now, and how to undo it.
func (c *cli) printHeld(h api.HoldSet) {
	least := ""
	if h.AtLeast {
		least = "at least "
	}
	printf(c.out, "held: %s\n", holdName(h.HoldInfo))
	switch {
	case h.Held.Objects > 0:
		printf(c.out, "  now:     %s%s, %s\n", least, words.Plural(h.Held.Objects, "object", "objects"), words.Size(h.Held.Bytes))
	case h.Trash > 0:
		printf(c.out, "  now:     no object, but %s%s: %s\n", least, words.Plural(h.Trash, "entry of the trash", "entries of the trash"),
			c.command("trash", "list", "--bucket", h.Bucket, "--prefix", h.Key))
	case h.Below > 0:
		printf(c.out, "  now:     nothing: no object has this key; %s%s with %s/: %s\n", least, words.Plural(h.Below, "begins", "begin"), h.Key,
			c.command("hold", "add", "s3://"+h.Bucket+"/"+h.Key+"/"))
	case h.Scope == "object":
		printf(c.out, "  now:     nothing: no object has this key; one that is written is held\n")
	default:
		printf(c.out, "  now:     no objects; those that are written are held\n")
	}
	printf(c.out, "  to undo: %s\n", c.command(releaseOf(h.HoldInfo)...))
}

// releaseOf returns the arguments that release a hold.
func releaseOf(h api.HoldInfo) []string {
	args := append([]string{"hold", "rm"}, placeOfHold(h)...)
	if h.Scope == "legal" {
		args = append(args, "--legal")
	}
	return args
}

// placeOfHold returns the arguments that name what a hold is on.
func placeOfHold(h api.HoldInfo) []string {
	bucket := "s3://" + h.Bucket
	last := h.Key[max(len(h.Key)-1, 0):]
	switch {
	case h.Key == "":
		return []string{bucket}
	case h.Scope != "prefix" && (last == "/" || last == "*"):
		return []string{bucket, "--key", h.Key}
	case h.Scope == "prefix" && last != "/":
		return []string{bucket + "/" + h.Key + "*"}
	}
	return []string{bucket + "/" + h.Key}
}

func (c *cli) holdListCommand() *cobra.Command {
	var req api.HoldList
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the holds", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := allHolds(cmd.Context(), client, req)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				rows := [][]string{{"HELD", "SCOPE", "SINCE", "BY", "REASON"}}
				for _, h := range list {
					rows = append(rows, []string{holdName(h), h.Scope, stamp(h.At.Time()), h.By, strings.TrimSpace(h.Reason)})
				}
				return table(c.out, rows)
			})
		},
	}
	cmd.Flags().StringVar(&req.Bucket, "bucket", "", "only those of this `bucket`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func allHolds(ctx context.Context, client *api.Client, req api.HoldList) ([]api.HoldInfo, error) {
	list := []api.HoldInfo{}
	for {
		page, err := api.Call[api.Holds](ctx, client, "holds/list", req)
		if err != nil {
			return nil, err
		}
		if list = append(list, page.Holds...); !page.More || len(page.Holds) == 0 {
			return list, nil
		}
		req.After = page.Holds[len(page.Holds)-1]
	}
}

func (c *cli) holdRemoveCommand() *cobra.Command {
	var req api.HoldRequest
	var yes bool
	cmd := &cobra.Command{
		Use: "rm s3://bucket[/key|/prefix/]", Short: "Release a hold; what became due meanwhile is deleted", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := heldPlace(args[0], &req); err != nil {
				return err
			}
			return c.withYes(cmd.Context(), yes, ofHold(&req), func(client *api.Client) error {
				_, err := api.Call[api.None](cmd.Context(), client, "holds/remove", req)
				if err == nil {
					_, err = printf(c.out, "released\n")
				}
				return err
			})
		},
	}
	holdFlags(cmd, &req)
	cmd.Flags().BoolVar(&req.Legal, "legal", false, "the legal hold that a client of S3 set on the key")
	yesFlag(cmd, &yes)
	return c.completes(cmd, heldPlaces)
}
