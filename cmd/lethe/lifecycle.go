package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/safetext"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) lifecycleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lifecycle", Short: "Show, set, remove and simulate lifecycle rules of buckets",
		Long: `Lifecycle rules end objects by prefix, tags, size and age, and abort incomplete uploads.
Write them in XML as S3 does, or in JSON as the aws command line does. "simulate" shows
what rules would delete, before they are set and while they are.

To stop a rule before it acts, keep what it would end: lethe hold add s3://bucket/prefix/.
"rm" removes all rules of a bucket, "set" replaces them; neither ends anything.`,
	}
	cmd.AddCommand(c.lifecycleGetCommand(), c.lifecycleSetCommand(), c.lifecycleRemoveCommand(), c.lifecycleSimulateCommand())
	return cmd
}

func (c *cli) lifecycleGetCommand() *cobra.Command {
	var asJSON, asXML bool
	cmd := &cobra.Command{
		Use: "get [bucket]", Aliases: []string{"show"}, Short: "Show the rules of a bucket, or of all buckets", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				if len(args) == 0 {
					list, err := api.Call[[]api.Lifecycle](cmd.Context(), client, "lifecycle/list", api.None{})
					switch {
					case err != nil:
						return err
					case asJSON:
						return printJSON(c.out, list)
					}
					for _, l := range list {
						c.printLifecycle(l)
					}
					if len(list) == 0 {
						printf(c.out, "no bucket has lifecycle rules\n")
					}
					return nil
				}
				bucket, err := bucketName(args[0])
				if err != nil {
					return err
				}
				l, err := api.Call[api.Lifecycle](cmd.Context(), client, "lifecycle/get", api.LifecycleRequest{Bucket: bucket})
				switch {
				case err != nil:
					return err
				case asXML:
					_, _ = io.WriteString(c.out, safetext.Escape(l.XML, inDocument, xmlEscape)+"\n")
				case asJSON:
					_, _ = io.WriteString(c.out, safetext.Escape(l.JSON, inDocument, safetext.JSON)+"\n")
				default:
					c.printLifecycle(l)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the rules as the aws command line has them")
	cmd.Flags().BoolVar(&asXML, "xml", false, "write the rules as S3 has them")
	return c.completes(cmd, bucketNames)
}

func (c *cli) printLifecycle(l api.Lifecycle) {
	by := map[string]string{"": "", "config": ", set in the configuration", "s3": ", set by S3", "operator": ", set by an operator"}[l.By]
	printf(c.out, "%s: %s%s\n", l.Bucket, words.Plural(int64(len(l.Rules)), "rule", "rules"), by)
	for _, r := range l.Rules {
		off := ""
		if r.Disabled {
			off = " (disabled)"
		}
		printf(c.out, "  %s%s: %s\n", r.ID, off, r.Text)
	}
	if p := l.Reapplication; p != nil {
		printf(c.out, "  reapplying rules: %s of %s objects read, %s changed\n",
			words.Number(p.Done), words.Number(p.Total), words.Number(p.Counts["changed"]))
	}
}

// rulesFile reads rules from a file, or from standard input for "-".
func (c *cli) rulesFile(name string) (string, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(c.in)
	} else {
		text, err = os.ReadFile(name)
	}
	if err == nil && len(text) == 0 {
		err = errors.New("the file is empty; to remove rules, run \"lethe lifecycle rm\"")
	}
	return string(text), err
}

func (c *cli) lifecycleSetCommand() *cobra.Command {
	var file string
	var yes bool
	cmd := &cobra.Command{
		Use: "set bucket file", Short: "Replace the rules of a bucket with those of a file (- is standard input)", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.rulesFile(args[1])
			if err != nil {
				return err
			}
			return c.setLifecycle(cmd, api.LifecycleRequest{Bucket: args[0], Rules: text}, file, yes)
		},
	}
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	return c.completes(cmd, bucketNames)
}

func (c *cli) lifecycleRemoveCommand() *cobra.Command {
	var file string
	var yes bool
	cmd := &cobra.Command{
		Use: "rm bucket", Short: "Remove the rules of a bucket; they end nothing from now on", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.setLifecycle(cmd, api.LifecycleRequest{Bucket: args[0]}, file, yes)
		},
	}
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	return c.completes(cmd, bucketNames)
}

func (c *cli) setLifecycle(cmd *cobra.Command, r api.LifecycleRequest, file string, yes bool) (err error) {
	if r.Bucket, err = bucketName(r.Bucket); err != nil {
		return err
	}
	wanted := api.PlanRequest{Command: "lifecycle set", Lifecycle: &r}
	return c.withYes(cmd.Context(), yes || file != "", ofRules(wanted), func(client *api.Client) error {
		if file != "" {
			return c.writePlan(cmd.Context(), client, wanted, file)
		}
		l, err := api.Call[api.Lifecycle](cmd.Context(), client, "lifecycle/set", r)
		if err == nil {
			c.printLifecycle(l)
		}
		return err
	})
}

func (c *cli) lifecycleSimulateCommand() *cobra.Command {
	var asJSON bool
	var days int
	cmd := &cobra.Command{
		Use: "simulate bucket [file]", Short: "Show what rules would delete today and in the next days, and delete nothing",
		Long: `Without a file, use the bucket's own rules. Disabled rules are treated as enabled. If
several rules match an object, it counts for the one that ends it first. "Today" ends
at midnight UTC.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req := api.LifecycleRequest{Days: days}
			if req.Bucket, err = bucketName(args[0]); err != nil {
				return err
			}
			if len(args) == 2 {
				if req.Rules, err = c.rulesFile(args[1]); err != nil {
					return err
				}
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				found, err := api.Stream[api.Simulation](cmd.Context(), client, "lifecycle/simulate", req, func(api.Event) {})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, found)
				}
				c.printForecasts(found, days)
				return nil
			})
		},
	}
	cmd.Flags().Var(atLeast(1, &days, 30), "days", "how many `days` to look ahead")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return c.completes(cmd, bucketNames)
}

func (c *cli) printForecasts(found api.Simulation, days int) {
	if t := found.TTL; t.Days.Objects+t.Held.Objects > 0 {
		printf(c.out, "by their own times to live:\n")
		c.printEnds(t, api.UploadForecast{}, days)
	}
	if len(found.Rules) == 0 {
		printf(c.out, "there are no rules, so rules end nothing\n")
		return
	}
	for _, f := range found.Rules {
		off := ""
		if f.Disabled {
			off = " (disabled; shown as if it were enabled)"
		}
		printf(c.out, "%s%s: %s\n", f.ID, off, f.Text)
		c.printEnds(f.Ends, f.Uploads, days)
		for _, e := range f.Uploads.Examples {
			printf(c.out, "    upload %s to %q, %s, begun %s, goes %s\n", e.ID, e.Key, words.Size(e.Bytes), stamp(e.BegunAt), stamp(e.EndsAt))
		}
	}
	for _, v := range found.Limits {
		c.printVerdict(v)
	}
}

// printEnds shows what ends for one cause.
func (c *cli) printEnds(e api.Ends, u api.UploadForecast, days int) {
	printf(c.out, "  today: %s, %s%s\n", words.Plural(e.Today.Objects, "object", "objects"), words.Size(e.Today.Bytes), uploadsToo(u.Today))
	printf(c.out, "  within %s: %s, %s%s\n", words.Plural(int64(days), "day", "days"), words.Plural(e.Days.Objects, "object", "objects"), words.Size(e.Days.Bytes), uploadsToo(u.Days))
	if len(e.Examples) > 0 {
		printf(c.out, "    among them:\n")
	}
	for _, x := range e.Examples {
		printf(c.out, "    %q, %s, modified %s, goes %s\n", x.Key, words.Size(x.Size), stamp(x.ModifiedAt), stamp(x.EndsAt))
	}
	if e.Held.Objects+u.Held.Uploads > 0 {
		printf(c.out, "  besides, holds keep %s, %s%s\n", words.Plural(e.Held.Objects, "object", "objects"), words.Size(e.Held.Bytes), uploadsToo(u.Held))
	}
}

func uploadsToo(u api.UploadAmount) string {
	if u.Uploads == 0 {
		return ""
	}
	return fmt.Sprintf("; %s, %s", words.Plural(u.Uploads, "incomplete upload", "incomplete uploads"), words.Size(u.Bytes))
}

// printVerdict shows the decision of the limits.
func (c *cli) printVerdict(v api.Verdict) {
	text := "within the limits (reclaim.limits.rules)"
	switch {
	case v.Why != "" && v.Goes == 0:
		text = "the limits would stop all of it: " + v.Why
	case v.Why != "":
		text = fmt.Sprintf("the limits would allow %s and stop the rest: %s", words.Number(v.Goes), v.Why)
	}
	printf(c.out, "by %s: %s due of %s: %s\n", stamp(v.At), words.Plural(v.Due, "object", "objects"), words.Number(v.Has), text)
}
