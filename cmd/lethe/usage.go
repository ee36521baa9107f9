package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// usageFlags are what lethe usage was asked for.
type usageFlags struct {
	bucket, prefix  string
	sort, since     string
	depth, limit    int
	refresh, asJSON bool
}

func (c *cli) usageCommand() *cobra.Command {
	var f usageFlags
	cmd := &cobra.Command{
		Use:   "usage [s3://bucket[/prefix]]",
		Short: "Show what buckets and prefixes store, how they grow, and what never ends",
		Long: `Show where bytes are: by prefix, size and age, with and without an end, what sharing
saves, and how it grows. Without an argument, compare all buckets.

"Due soon" is what is due now, today and tomorrow, in UTC.

Small buckets and prefixes are counted for the answer. Of larger ones it shows the last
count of the routine usage (reclaim.usage), and when that was; --refresh counts first.`,
		Example: `  lethe usage
  lethe usage s3://photos --sort growth --since 1d
  lethe usage s3://photos/2031/ --depth 2`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if api.UsageOrders[f.sort] == nil {
				return usageError("--sort %q is not an order; use bytes, objects, growth, age or without-end", f.sort)
			}
			if f.since, err = agoOf(f.since); err != nil {
				return err
			}
			if len(args) == 1 {
				if f.bucket, f.prefix, err = place(args[0]); err != nil {
					return err
				}
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				if f.refresh {
					if err := c.refreshUsage(cmd.Context(), client); err != nil {
						return err
					}
				}
				if f.bucket == "" {
					return c.usageOfBuckets(cmd.Context(), client, f)
				}
				return c.usage(cmd.Context(), client, f)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.sort, "sort", "bytes", "`order`: bytes, objects, growth, age (the oldest first) or without-end")
	fs.StringVar(&f.since, "since", "7d", "measure growth from this `time`, such as 7d or 2030-01-31T12:00:00Z; or from the oldest count, if that is later")
	fs.VarP(atLeast(1, &f.depth, 1), "depth", "d", "show prefixes down to so many `levels`")
	fs.Var(atLeast(0, &f.limit, 20), "limit", "show so `many` prefixes; 0: all")
	fs.BoolVar(&f.refresh, "refresh", false, "count all buckets first")
	fs.BoolVar(&f.asJSON, "json", false, "write JSON")
	return c.completes(cmd, objectPlaces)
}

// refreshUsage counts all buckets, and reports progress.
func (c *cli) refreshUsage(ctx context.Context, client *api.Client) error {
	bar := newProgress(c.err, "usage")
	_, err := client.Reclaim(ctx, api.ReclaimRequest{Only: []string{"usage"}}, func(ev api.Event) {
		if ev.Progress != nil {
			bar.show(ev.Progress)
		}
	})
	bar.done()
	return err
}

func (c *cli) usageOfBuckets(ctx context.Context, client *api.Client, f usageFlags) error {
	u, err := api.Call[api.BucketUsages](ctx, client, "usage/buckets", api.BucketUsagesRequest{Since: f.since})
	if err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(c.out, u)
	}
	order := c.order(f.sort, slices.ContainsFunc(u.Buckets, func(b api.BucketUsage) bool { return b.Growth != nil }))
	slices.SortStableFunc(u.Buckets, func(a, b api.BucketUsage) int {
		return cmp.Compare(order(b.UsageTotals, b.Growth), order(a.UsageTotals, a.Growth))
	})
	var all api.Amount
	rows, missing := [][]string{{"BUCKET", "OBJECTS", "BYTES", "SAVED BY SHARING", "WITHOUT END", "DUE SOON", "GROWTH", "COUNTED"}}, 0
	for _, b := range u.Buckets {
		all.Objects += b.Objects
		all.Bytes += b.Bytes
		if b.At.IsZero() {
			missing++
			rows = append(rows, []string{b.Bucket, words.Number(b.Objects), words.Size(b.Bytes), "-", "-", "-", "-", "never"})
			continue
		}
		rows = append(rows, []string{
			b.Bucket, words.Number(b.Objects), words.Size(b.Bytes), words.Size(max(b.Bytes-b.StoredBytes, 0)), partOf(b.WithoutEnd.Bytes, b.Bytes), words.Size(b.Soon.Bytes),
			growthText(b.Growth, u.Now), countedAt(b.UsageCount, u.Now),
		})
	}
	if len(u.Buckets) > 1 {
		rows = append(rows, []string{"all buckets", words.Number(all.Objects), words.Size(all.Bytes)})
	}
	if err := table(c.out, rows); err != nil {
		return err
	}
	if missing > 0 {
		printf(c.out, "\n%s not counted yet; this counts: %s\n", words.Plural(int64(missing), "bucket was", "buckets were"), c.command("usage", "--refresh"))
	}
	if len(u.Buckets) > 0 {
		next := []string{"usage", "s3://" + u.Buckets[0].Bucket}
		if f.sort != "bytes" {
			next = append(next, "--sort", f.sort)
		}
		printf(c.out, "\nits prefixes: %s\n", c.command(next...))
	}
	return nil
}

func (c *cli) usage(ctx context.Context, client *api.Client, f usageFlags) error {
	u, err := api.Call[api.Usage](ctx, client, "usage", api.UsageRequest{Bucket: f.bucket, Prefix: f.prefix, Since: f.since})
	if err != nil {
		return err
	}
	switch {
	case f.prefix != "" && u.Live && u.Objects == 0:
		return nothingUnder(f.bucket, f.prefix)
	case f.asJSON:
		return printJSON(c.out, u)
	}
	if u.At.IsZero() {
		return c.notCounted(u)
	}
	c.usageTotals(u)
	if err := c.usagePrefixes(u, f); err != nil {
		return err
	}
	for _, part := range []struct {
		name, heading string
		list          []api.UsageClass
		bound         func(int64) string
	}{
		{"size", "SIZE", u.Sizes, words.Size},
		{"age", "AGE", u.Ages, func(n int64) string { return lethe.FormatTTL(time.Duration(n) * time.Second) }},
	} {
		if len(part.list) == 0 {
			continue
		}
		printf(c.out, "\n")
		if err := table(c.out, classRows(part.heading, part.list, part.bound)); err != nil {
			return err
		}
	}
	return nil
}

// usageTotals prints what a prefix comes to.
func (c *cli) usageTotals(u api.Usage) {
	least := ""
	if u.Partial {
		least = "at least "
	}
	printf(c.out, "s3://%s/%s: %s%s, %s, %s\n", u.Bucket, u.Prefix, least, words.Plural(u.Objects, "object", "objects"), words.Size(u.Bytes), countedText(u.UsageCount, u.Now))
	saved := max(u.Bytes-u.StoredBytes, 0)
	printf(c.out, "  stored       %s: sharing saves %s (%s)\n", words.Size(u.StoredBytes), words.Size(saved), words.Percent(saved, u.Bytes))
	printf(c.out, "  without end  %s, %s (%s)\n", words.Plural(u.WithoutEnd.Objects, "object", "objects"), words.Size(u.WithoutEnd.Bytes), words.Percent(u.WithoutEnd.Bytes, u.Bytes))
	if g := u.Growth; g != nil {
		objects := func(n int64) string {
			if n == -1 {
				return "-1 object"
			}
			return words.Plural(n, "object", "objects")
		}
		printf(c.out, "  growth       %s, %s since %s\n", signed(g, g.Bytes, words.Size), signed(g, g.Objects, objects), stamp(g.Since))
	} else {
		printf(c.out, "  growth       %s\n", c.noGrowth(u))
	}
	if g := u.Gets; g != nil {
		printf(c.out, "  gets         %s of %s found their object (this instance, since %s)\n", words.Percent(g.Found, g.Found+g.Missed), words.Number(g.Found+g.Missed), stamp(g.Since))
	}
	for _, part := range []struct {
		name, one, many string
		api.Amount
	}{{"held", "object", "objects", u.Held}, {"trash", "entry", "entries", u.Trash}, {"uploads", "incomplete upload", "incomplete uploads", u.Uploads}} {
		if part.Objects > 0 {
			printf(c.out, "  %-11s  %s, %s\n", part.name, words.Plural(part.Objects, part.one, part.many), words.Size(part.Bytes))
		}
	}
}

// noGrowth says why growth is not known.
func (c *cli) noGrowth(u api.Usage) string {
	switch {
	case u.First.IsZero():
		return "known once there is a count to compare with; this makes one: " + c.command("usage", "--refresh")
	case u.At.Sub(u.First) < time.Second:
		return "known from the second count on; this counts again: " + c.command("usage", "--refresh")
	}
	return "not known: the count of " + stamp(u.First) + " does not have this prefix by itself"
}

// order returns the key by which prefixes are sorted. Where no growth is known it is their
// bytes, and that is said.
func (c *cli) order(by string, grown bool) func(api.UsageTotals, *api.Growth) int64 {
	if by == "growth" && !grown {
		printf(c.out, "no growth is known yet, so they are sorted by bytes; growth is known from the second count on: %s\n", c.command("usage", "--refresh"))
		by = "bytes"
	}
	return api.UsageOrders[by]
}

// children are the prefixes directly below the one that was asked for.
func children(u api.Usage) (out []api.UsagePrefix) {
	for _, p := range u.Prefixes {
		if strings.Count(p.Prefix[len(u.Prefix):], "/") == 1 {
			out = append(out, p)
		}
	}
	return out
}

// usagePrefixes prints the prefixes down to a depth, the largest first.
func (c *cli) usagePrefixes(u api.Usage, f usageFlags) error {
	top := u.Prefix
	for _, p := range u.Prefixes { // a prefix that has everything says nothing
		if p.Objects == u.Objects {
			top = p.Prefix
		}
	}
	var list []api.UsagePrefix
	for _, p := range u.Prefixes {
		if rest, below := strings.CutPrefix(p.Prefix, top); below && rest != "" && strings.Count(rest, "/") <= max(f.depth, 1) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	printf(c.out, "\n")
	order := c.order(f.sort, slices.ContainsFunc(list, func(p api.UsagePrefix) bool { return p.Growth != nil }))
	slices.SortStableFunc(list, func(a, b api.UsagePrefix) int {
		return cmp.Compare(order(b.UsageTotals, b.Growth), order(a.UsageTotals, a.Growth))
	})
	rows := [][]string{{"PREFIX", "OBJECTS", "BYTES", "", "GROWTH", "WITHOUT END", "OLDEST", "NEWEST"}}
	for i, p := range list {
		if f.limit > 0 && i == f.limit {
			rows = append(rows, []string{fmt.Sprintf("(%s, see --limit)", words.Plural(int64(len(list)-i), "more", "more"))})
			break
		}
		rows = append(rows, []string{
			p.Prefix, words.Number(p.Objects), words.Size(p.Bytes), words.Percent(p.Bytes, u.Bytes), growthText(p.Growth, u.Now), partOf(p.WithoutEnd.Bytes, p.Bytes),
			stamp(p.Oldest), stamp(p.Newest),
		})
	}
	return table(c.out, rows)
}

func classRows(heading string, list []api.UsageClass, bound func(int64) string) [][]string {
	rows, last := [][]string{{heading, "OBJECTS", "BYTES", "WITHOUT END"}}, ""
	for _, k := range list {
		name := "from " + last
		if k.Below > 0 {
			last = bound(k.Below)
			name = "below " + last
		}
		if k.Objects > 0 {
			rows = append(rows, []string{name, words.Number(k.Objects), words.Size(k.Bytes), partOf(k.WithoutEnd.Bytes, k.Bytes)})
		}
	}
	return rows
}

// countedText says when a count was made.
func countedText(n api.UsageCount, now time.Time) string {
	switch {
	case n.Partial:
		return "counted just now, as far as one answer goes"
	case n.Live:
		return "counted just now"
	}
	return fmt.Sprintf("counted %s (%s)", words.When(n.At, now), stamp(n.At))
}

// countedAt is countedText in a table.
func countedAt(n api.UsageCount, now time.Time) string {
	if n.Live {
		return "now"
	}
	return words.When(n.At, now)
}

// growthText is a growth in a table.
func growthText(g *api.Growth, now time.Time) string {
	if g == nil {
		return "-"
	}
	return fmt.Sprintf("%s in %s", signed(g, g.Bytes, words.Size), words.Span(now.Sub(g.Since)))
}

// signed returns a number of a growth with its sign.
func signed(g *api.Growth, n int64, text func(int64) string) string {
	sign := ""
	if n >= 0 {
		sign = "+"
	}
	if g.AtLeast {
		return "at least " + sign + text(n)
	}
	return sign + text(n)
}

// partOf returns bytes with their percentage of a whole.
func partOf(part, whole int64) string {
	if part == 0 {
		return "none"
	}
	return words.Size(part) + " (" + words.Percent(part, whole) + ")"
}
