package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) bucketsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "buckets", Short: "List buckets, and set their times to live, quotas and undo windows"}
	cmd.AddCommand(c.bucketsListCommand(), c.bucketsSetCommand())
	return cmd
}

func (c *cli) bucketsListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List buckets with their settings", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				list, err := api.Call[[]api.Bucket](cmd.Context(), client, "buckets/list", api.None{})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, list)
				}
				return c.printBuckets(list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) printBuckets(list []api.Bucket) error {
	rows := [][]string{{"BUCKET", "OWNER", "OBJECTS", "BYTES", "DEFAULT TTL", "MAX TTL", "IDLE TTL", "MAX IDLE", "QUOTA", "MAX OBJECTS", "UNDO", "WHEN FULL"}}
	for _, b := range list {
		quota, most := "-", "-"
		if b.QuotaBytes > 0 {
			quota = words.Size(b.QuotaBytes)
		}
		if b.QuotaObjects > 0 {
			most = words.Number(b.QuotaObjects)
		}
		rows = append(rows, []string{b.Name, b.Owner, words.Number(b.Objects), words.Size(b.Bytes),
			cmp.Or(b.DefaultTTL, "-"), cmp.Or(b.MaxTTL, "-"), cmp.Or(b.DefaultIdle, "-"), cmp.Or(b.MaxIdle, "-"), quota, most, cmp.Or(b.Undo, "-"), whenFull(b)})
	}
	return table(c.out, rows)
}

// whenFull describes what a bucket does at its quota.
func whenFull(b api.Bucket) string {
	if b.WhenFull != "evict" {
		return "refuse"
	}
	return fmt.Sprintf("evict by %s, %d to %d %%", map[string]string{"read": "last read", "written": "age"}[b.EvictOrder], b.EvictHigh, b.EvictLow)
}

func (c *cli) bucketsSetCommand() *cobra.Command {
	var defaultTTL, maxTTL, defaultIdle, maxIdle, undo, quota string
	var objects int64
	var evict func(*api.BucketChange)
	var yes bool
	cmd := &cobra.Command{
		Use: "set bucket", Short: "Change settings of a bucket; others stay as they are", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := bucketName(args[0])
			if err != nil {
				return err
			}
			change := api.BucketChange{Name: name}
			for name, field := range map[string]struct {
				from *string
				to   **string
			}{"default-ttl": {&defaultTTL, &change.DefaultTTL}, "max-ttl": {&maxTTL, &change.MaxTTL}, "undo": {&undo, &change.Undo},
				"default-idle": {&defaultIdle, &change.DefaultIdle}, "max-idle": {&maxIdle, &change.MaxIdle}} {
				if cmd.Flags().Changed(name) {
					*field.to = field.from
				}
			}
			if cmd.Flags().Changed("quota") {
				var s config.Size
				if err := s.UnmarshalText([]byte(quota)); err != nil {
					return usageError("--quota: %w", err)
				}
				n := int64(s)
				change.QuotaBytes = &n
			}
			if cmd.Flags().Changed("max-objects") {
				change.QuotaObjects = &objects
			}
			evict(&change)
			if change == (api.BucketChange{Name: name}) {
				return usageError("nothing to change: name at least one setting, such as --default-ttl 12h")
			}
			return c.withYes(cmd.Context(), yes, ofSettings(&change), func(client *api.Client) error {
				b, err := api.Call[api.Bucket](cmd.Context(), client, "buckets/set", change)
				if err != nil {
					return err
				}
				return c.printBuckets([]api.Bucket{b})
			})
		},
	}
	f := cmd.Flags()
	f.Var(orNone(&defaultTTL), "default-ttl", "`ttl` of objects without one, or none")
	f.Var(orNone(&maxTTL), "max-ttl", "longest `ttl`, or none")
	f.Var(idleOrNone(&defaultIdle), "default-idle", "how `long` objects are kept after their last read, if they do not say so, or none")
	f.Var(idleOrNone(&maxIdle), "max-idle", "longest such `time`, or none")
	f.Var(orNone(&undo), "undo", "how long deleted and replaced objects stay in the trash, or none")
	f.StringVar(&quota, "quota", "", "`bytes` of all objects, such as 10GiB, or none")
	f.Var(atLeast(0, &objects, 0), "max-objects", "`number` of objects, 0 for no limit")
	evict = evictionFlags(cmd)
	yesFlag(cmd, &yes)
	return c.completes(cmd, bucketNames)
}

// evictionFlags adds the flags of what a bucket does at its quota. The function that it returns
// sets those that are given in a change.
func evictionFlags(cmd *cobra.Command) func(*api.BucketChange) {
	var full, order, minAge string
	var high, low int
	f := cmd.Flags()
	f.Var(word{&full, []string{"refuse", "evict"}}, "when-full", "`refuse` writes at the quota, or evict what was used longest ago")
	f.Var(word{&order, []string{"read", "written"}}, "evict-order", "whether reads count as use: `read` (they do) or written")
	f.Var(number[int]{&high, 1, 100}, "evict-high", "`percent` of the quota above which the engine evicts (default 95)")
	f.Var(number[int]{&low, 1, 100}, "evict-low", "`percent` of the quota down to which it evicts (default 90)")
	f.Var(orNone(&minAge), "evict-min-age", "what was used within this `time` is not evicted, or none")
	return func(c *api.BucketChange) {
		for name, set := range map[string]func(){
			"when-full":     func() { c.WhenFull = &full },
			"evict-order":   func() { c.EvictOrder = &order },
			"evict-min-age": func() { c.EvictMinAge = &minAge },
			"evict-high":    func() { c.EvictHigh = &high },
			"evict-low":     func() { c.EvictLow = &low },
		} {
			if f.Changed(name) {
				set()
			}
		}
	}
}
