package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// ruleCommand is a command that changes one rule of a bucket. Without a rule, rm removes all.
func (c *cli) ruleCommand(use, short string, args cobra.PositionalArgs) *cobra.Command {
	var how consent
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := api.LifecycleRequest{Bucket: args[0]}
			if len(args) == 2 {
				r.Rule, r.Change = args[1], cmd.Name()
				if r.Change == "rm" {
					r.Change = "remove"
				}
			}
			how.question = ofRuleChange(r)
			how.yes = how.yes || cmd.Name() == "disable" // nothing ends by that
			return c.setLifecycle(cmd, r, how)
		},
	}
	planFlag(cmd, &how.file)
	if cmd.Name() == "disable" {
		noQuestion(cmd)
	} else {
		yesFlag(cmd, &how.yes)
	}
	return c.completes(cmd, bucketNames, ruleNames)
}

// ofRuleChange says how many rules a change is of, and what they would end.
func ofRuleChange(r api.LifecycleRequest) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		bucket, err := bucketName(r.Bucket)
		if err != nil {
			return "", err
		}
		found, err := api.Stream[api.Simulation](ctx, client, "lifecycle/simulate", api.LifecycleRequest{Bucket: bucket}, func(api.Event) {})
		var n int64
		var days api.Amount
		var uploads api.UploadAmount
		for _, f := range found.Rules {
			if r.Rule == "" || r.Rule == f.ID {
				n++
				days.Objects, days.Bytes = days.Objects+f.Days.Objects, days.Bytes+f.Days.Bytes
				uploads.Uploads, uploads.Bytes = uploads.Uploads+f.Uploads.Days.Uploads, uploads.Bytes+f.Uploads.Days.Bytes
			}
		}
		they := "It would"
		if n != 1 {
			they = "They would"
		}
		change := cmp.Or(r.Change, "remove")
		return fmt.Sprintf("%s %s of the %s of %s? %s end %s of %s within 30 days%s", strings.ToUpper(change[:1])+change[1:],
			words.Number(n), words.Plural(int64(len(found.Rules)), "rule", "rules"), bucket, they,
			words.Plural(days.Objects, "object", "objects"), words.Size(days.Bytes), uploadsToo(uploads)), err
	}
}

// ruleNames lists the rules of a bucket.
func ruleNames(bucket string) names {
	return func(ctx context.Context, client *api.Client) (out []string, err error) {
		l, err := api.Call[api.Lifecycle](ctx, client, "lifecycle/get", api.LifecycleRequest{Bucket: bucket})
		for _, r := range l.Rules {
			out = append(out, r.ID)
		}
		return out, err
	}
}
