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
		var ends api.Amount
		var uploads api.UploadAmount
		for _, f := range found.Rules {
			if r.Rule == "" || r.Rule == f.ID {
				n++
				ends.Objects, ends.Bytes = ends.Objects+f.Days.Objects, ends.Bytes+f.Days.Bytes
				uploads.Uploads, uploads.Bytes = uploads.Uploads+f.Uploads.Days.Uploads, uploads.Bytes+f.Uploads.Days.Bytes
			}
		}
		what, they := words.Plural(n, "rule", "rules"), "They"
		switch {
		case err == nil && n == 0 && r.Rule != "":
			err = fmt.Errorf("%w: %q of %s", api.ErrNoRule, r.Rule, bucket)
		case err == nil && n == 0:
			err = errNothing
		case r.Rule != "":
			what = "the rule " + r.Rule
		}
		if n == 1 {
			they = "It"
		}
		change := cmp.Or(r.Change, "remove")
		return fmt.Sprintf("%s %s of %s? %s would end %s within 30 days", strings.ToUpper(change[:1])+change[1:], what, bucket, they, endedBy(ends, uploads)), err
	}
}

// endedBy names what rules end; nothing if that is none.
func endedBy(a api.Amount, u api.UploadAmount) string {
	var parts []string
	if a.Objects > 0 {
		parts = append(parts, words.Plural(a.Objects, "object", "objects")+" of "+words.Size(a.Bytes))
	}
	if u.Uploads > 0 {
		parts = append(parts, words.Plural(u.Uploads, "incomplete upload", "incomplete uploads")+" of "+words.Size(u.Bytes))
	}
	return cmp.Or(strings.Join(parts, " and "), "nothing")
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
