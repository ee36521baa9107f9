package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) duCommand() *cobra.Command {
	var asJSON bool
	var depth int
	cmd := &cobra.Command{
		Use:   "du [s3://bucket[/prefix]]",
		Short: "Show how many bytes buckets and prefixes have",
		Long: `Show the bytes of the objects under a prefix, and of the prefixes below it. Without an
argument, show those of buckets. "lethe usage" shows more: what grows, and what never ends.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				if len(args) == 0 {
					return c.duBuckets(cmd.Context(), client, asJSON)
				}
				bucket, prefix, err := place(args[0])
				if err != nil {
					return err
				}
				u, err := api.Call[api.Usage](cmd.Context(), client, "usage", api.UsageRequest{Bucket: bucket, Prefix: prefix})
				if err != nil {
					return err
				}
				switch {
				case prefix != "" && u.Live && u.Objects == 0:
					return nothingUnder(bucket, prefix)
				case asJSON:
					return printJSON(c.out, u)
				}
				return c.du(u, depth)
			})
		},
	}
	cmd.Flags().VarP(atLeast(0, &depth, 1), "depth", "d", "show prefixes down to so many `levels`; 0: the total alone")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c.completes(cmd, objectPlaces)
}

func (c *cli) duBuckets(ctx context.Context, client *api.Client, asJSON bool) error {
	list, err := api.Call[[]api.Bucket](ctx, client, "buckets/list", api.None{})
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.out, list)
	}
	rows, total := [][]string{{"BYTES", "OBJECTS", ""}}, api.Amount{}
	for _, b := range list {
		rows = append(rows, []string{words.Size(b.Bytes), words.Number(b.Objects), "s3://" + b.Name})
		total.Objects += b.Objects
		total.Bytes += b.Bytes
	}
	return table(c.out, append(rows, []string{words.Size(total.Bytes), words.Number(total.Objects), "total"}))
}

// du prints the prefixes down to a depth, and the total.
func (c *cli) du(u api.Usage, depth int) error {
	if u.At.IsZero() {
		return c.notCounted(u)
	}
	rows := [][]string{{"BYTES", "OBJECTS", ""}}
	for _, p := range u.Prefixes {
		if strings.Count(p.Prefix[len(u.Prefix):], "/") <= depth {
			rows = append(rows, []string{words.Size(p.Bytes), words.Number(p.Objects), "s3://" + u.Bucket + "/" + p.Prefix})
		}
	}
	if err := table(c.out, append(rows, []string{words.Size(u.Bytes), words.Number(u.Objects), "s3://" + u.Bucket + "/" + u.Prefix})); err != nil {
		return err
	}
	if shown := len(children(u)); depth > 0 && shown < u.Below {
		printf(c.out, "%s not shown are smaller\n", words.Plural(int64(u.Below-shown), "prefix that is", "prefixes that are"))
	}
	if text := countedText(u.UsageCount, u.Now); !u.Live || u.Partial {
		printf(c.out, "%s\n", text)
	}
	return nil
}

// notCounted says that a bucket has to be counted first.
func (c *cli) notCounted(u api.Usage) error {
	return fmt.Errorf("s3://%s (%s, %s) has too much to count for one answer, and was not counted yet; this counts: %s",
		u.Bucket, words.Plural(u.Objects, "object", "objects"), words.Size(u.Bytes), c.command("usage", "--refresh"))
}
