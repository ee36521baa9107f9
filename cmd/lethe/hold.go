package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
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
	cmd.AddCommand(c.holdAddCommand(), c.holdListCommand(), c.holdRemoveCommand())
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
				h, err := api.Call[api.HoldInfo](cmd.Context(), client, "holds/add", req)
				if err == nil {
					_, err = printf(c.out, "held: %s\n", holdName(h))
				}
				return err
			})
		},
	}
	holdFlags(cmd, &req)
	cmd.Flags().StringVar(&req.Reason, "reason", "", "the reason, for later readers")
	return c.completes(cmd, objectPlaces)
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

// releaseOf returns the arguments that release a hold.
func releaseOf(h api.HoldInfo) []string {
	args := []string{"hold", "rm", h.Bucket}
	switch {
	case h.Scope == "legal":
		args = append(args, "--key", h.Key, "--legal")
	case h.Scope == "object":
		args = append(args, "--key", h.Key)
	case h.Key != "":
		args = append(args, "--prefix", h.Key)
	}
	return args
}

func (c *cli) holdListCommand() *cobra.Command {
	var req api.HoldList
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the holds", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list := []api.HoldInfo{}
				for {
					page, err := api.Call[api.Holds](cmd.Context(), client, "holds/list", req)
					if err != nil {
						return err
					}
					if list = append(list, page.Holds...); !page.More || len(page.Holds) == 0 {
						break
					}
					req.After = page.Holds[len(page.Holds)-1]
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
