package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// maxListed is how many entries lethe ls shows unless asked for more.
const maxListed = 1000

func (c *cli) lsCommand() *cobra.Command {
	var asJSON, all, recursive bool
	var limit int
	cmd := &cobra.Command{
		Use:   "ls [s3://bucket[/prefix]]",
		Short: "List objects: size, age, when and by what each ends",
		Long: `List the objects under a prefix, and when and by what each ends by the rules in force.
Keys with a further slash are listed as one prefix. Without an argument, list buckets.`,
		Example: `  lethe ls s3://photos/2031/
  lethe ls s3://photos --recursive --all`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				limit = 0
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				if len(args) == 0 {
					return c.lsBuckets(cmd.Context(), client, asJSON)
				}
				bucket, prefix, err := place(args[0])
				if err != nil {
					return err
				}
				return c.ls(cmd.Context(), client, api.ObjectListRequest{Bucket: bucket, Prefix: prefix, Recursive: recursive}, limit, asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&recursive, "recursive", "r", false, "list every key, and no prefixes")
	f.Var(atLeast(1, &limit, maxListed), "limit", "list at most so `many`")
	f.BoolVar(&all, "all", false, "list everything")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	return c.completes(cmd, objectPlaces)
}

func (c *cli) lsBuckets(ctx context.Context, client *api.Client, asJSON bool) error {
	list, err := api.Call[[]api.Bucket](ctx, client, "buckets/list", api.None{})
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.out, list)
	}
	rows := [][]string{{"CREATED", "OBJECTS", "BYTES", "BUCKET"}}
	for _, b := range list {
		rows = append(rows, []string{stamp(b.CreatedAt), words.Number(b.Objects), words.Size(b.Bytes), "s3://" + b.Name})
	}
	return table(c.out, rows)
}

// ls lists page by page, up to a limit unless it is 0.
func (c *cli) ls(ctx context.Context, client *api.Client, req api.ObjectListRequest, limit int, asJSON bool) error {
	var whole api.ObjectList
	n := 0
	for {
		if limit > 0 {
			req.Limit = min(limit-n, maxListed)
		}
		list, err := api.Call[api.ObjectList](ctx, client, "objects/list", req)
		if err != nil {
			return err
		}
		n += len(list.Objects) + len(list.Prefixes)
		whole.More, whole.Next, req.After = list.More, list.Next, list.Next
		if asJSON {
			whole.Objects, whole.Prefixes = append(whole.Objects, list.Objects...), append(whole.Prefixes, list.Prefixes...)
		} else if err := c.printListed(list, n == len(list.Objects)+len(list.Prefixes)); err != nil {
			return err
		}
		if !list.More || limit > 0 && n >= limit {
			break
		}
	}
	if n == 0 && req.Prefix != "" {
		return nothingUnder(req.Bucket, req.Prefix)
	}
	if asJSON {
		if whole.Objects == nil {
			whole.Objects = []api.ListedObject{}
		}
		return printJSON(c.out, whole)
	}
	if whole.More {
		printf(c.err, "there is more: add --all, or --limit with a larger number\n")
	}
	return nil
}

// printListed prints a page, the first one with a heading. Its columns have fixed widths, so
// that those of all pages are below each other.
func (c *cli) printListed(list api.ObjectList, first bool) error {
	var rows [][]string
	add := func(size, modified, ends, by, key string) {
		rows = append(rows, []string{fmt.Sprintf("%-8s", size), fmt.Sprintf("%-19s", modified), fmt.Sprintf("%-19s", ends), fmt.Sprintf("%-12s", by), key})
	}
	if first && len(list.Objects)+len(list.Prefixes) > 0 {
		add("SIZE", "MODIFIED", "ENDS", "BY", "KEY")
	}
	prefixes := list.Prefixes
	for _, o := range list.Objects {
		for len(prefixes) > 0 && prefixes[0] < o.Key {
			add("-", "-", "-", "-", cell(prefixes[0]))
			prefixes = prefixes[1:]
		}
		by := o.EndedBy
		if o.Rule != "" {
			by = "rule " + o.Rule
		}
		if o.Held {
			by = strings.TrimPrefix(by+", held", ", ")
		}
		if o.ReadsLeft > 0 {
			by = strings.TrimPrefix(by+", "+words.Plural(o.ReadsLeft, "read", "reads"), ", ")
		}
		add(words.Size(o.Size), stamp(o.ModifiedAt), stamp(o.EndsAt), cell(orDash(by)), cell(o.Key))
	}
	for _, p := range prefixes {
		add("-", "-", "-", "-", cell(p))
	}
	return columns(c.out, rows)
}
