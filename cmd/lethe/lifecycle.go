package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/safetext"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) lifecycleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lifecycle", Short: "Show, set, disable, remove and simulate lifecycle rules of buckets",
		Long: `Lifecycle rules end objects by prefix, tags, size and age, and abort incomplete uploads.
Write them in XML as S3 does, or in JSON as the aws command line does. "simulate" shows
what rules would delete, before they are set and while they are.

To stop a rule before it acts, disable it; or keep what it would end: lethe hold add
s3://bucket/prefix/. "rm" removes one rule of a bucket or all, "set" replaces all.`,
	}
	cmd.AddCommand(c.lifecycleGetCommand(), c.lifecycleSetCommand(), c.lifecycleSimulateCommand(),
		c.ruleCommand("enable bucket rule", "Enable a disabled rule", cobra.ExactArgs(2)),
		c.ruleCommand("disable bucket rule", "Disable a rule: it ends nothing from now on", cobra.ExactArgs(2)),
		c.ruleCommand("rm bucket [rule]", "Remove a rule of a bucket, or all; they end nothing from now on", cobra.RangeArgs(1, 2)))
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
		printf(c.out, "  reapplying rules: %s of %s read, %s changed\n",
			words.Number(p.Done), words.Plural(p.Total, "object", "objects"), words.Number(p.Counts["changed"]))
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
		err = usageError("the file is empty; to remove rules, run \"lethe lifecycle rm\"")
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
			r := api.LifecycleRequest{Bucket: args[0], Rules: text}
			return c.setLifecycle(cmd, r, consent{file, yes, ofRules(api.PlanRequest{Command: "lifecycle set", Lifecycle: &r})})
		},
	}
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	return c.completes(cmd, bucketNames, fileNames)
}

// consent is how a change is confirmed, or put into a plan.
type consent struct {
	file string // of the plan; empty: it is made
	yes  bool
	question
}

func (c *cli) setLifecycle(cmd *cobra.Command, r api.LifecycleRequest, how consent) (err error) {
	if r.Bucket, err = bucketName(r.Bucket); err != nil {
		return err
	}
	return c.withYes(cmd.Context(), how.yes || how.file != "", how.question, func(client *api.Client) error {
		if how.file != "" {
			return c.writePlan(cmd.Context(), client, api.PlanRequest{Command: "lifecycle set", Lifecycle: &r}, how.file)
		}
		l, err := api.Call[api.Lifecycle](cmd.Context(), client, "lifecycle/set", r)
		if err == nil {
			c.printLifecycle(l)
		}
		return err
	})
}
