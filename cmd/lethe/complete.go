package main

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/config"
)

// completionTime bounds what a shell waits for.
const completionTime = 2 * time.Second

// names lists what an argument may be.
type names func(ctx context.Context, client *api.Client) ([]string, error)

// completes makes a shell complete the first argument of a command, and a second one by the
// first. It asks a server, and opens no store: without a server there is nothing to offer.
func (c *cli) completes(cmd *cobra.Command, list names, second ...func(first string) names) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return c.offer(cmd.Context(), list, begun)
		}
		if len(args) > len(second) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if more := second[0](args[0]); more != nil {
			return c.offer(cmd.Context(), more, begun)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

// completesKeys makes a shell complete a bucket, and then the keys and prefixes in it.
func (c *cli) completesKeys(cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		rest, _ := strings.CutPrefix(begun, "s3://")
		if bucket, key, inside := strings.Cut(rest, "/"); inside {
			return c.offer(cmd.Context(), keysFrom(bucket, key), begun)
		}
		return c.offer(cmd.Context(), objectPlaces, begun)
	}
	return cmd
}

// keysOffered is how many keys and prefixes a shell is offered.
const keysOffered = 100

// keysFrom lists what of a bucket begins with a text, up to the next slash.
func keysFrom(bucket, begun string) names {
	return func(ctx context.Context, client *api.Client) (out []string, err error) {
		list, err := api.Call[api.ObjectList](ctx, client, "objects/list", api.ObjectListRequest{Bucket: bucket, Prefix: begun, Limit: keysOffered})
		for _, p := range list.Prefixes {
			out = append(out, "s3://"+bucket+"/"+p)
		}
		for _, o := range list.Objects {
			out = append(out, "s3://"+bucket+"/"+o.Key)
		}
		// A shell reads names by lines.
		return slices.DeleteFunc(out, func(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }), err
	}
}

// fileNames makes a shell complete the second argument by the files that there are.
func fileNames(string) names { return nil }

// completesFlag does it for the value of a flag.
func (c *cli) completesFlag(cmd *cobra.Command, flag string, list names) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return c.offer(cmd.Context(), list, begun)
	})
	if err != nil {
		panic(err) // the flag does not exist
	}
}

// offer returns the names that go on as was begun.
func (c *cli) offer(ctx context.Context, list names, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	client, err := c.answering(ctx)
	if err != nil || client == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := list(ctx, client)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all = slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) })
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(all) == 1 && strings.HasSuffix(all[0], "/") {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return all, directive
}

// answering returns a client of a server that runs, nil if none does.
func (c *cli) answering(ctx context.Context) (*api.Client, error) {
	if c.server != "" {
		return c.remote()
	}
	conf, err := c.load()
	if err != nil {
		return nil, err
	}
	return c.running(ctx, conf)
}

// each lists what a call of the admin API returns.
func each[T any](call string, name func(T) string) names {
	return func(ctx context.Context, client *api.Client) (out []string, err error) {
		list, err := api.Call[[]T](ctx, client, call, api.None{})
		for _, x := range list {
			out = append(out, name(x))
		}
		return out, err
	}
}

var (
	bucketNames  = each("buckets/list", func(b api.Bucket) string { return b.Name })
	objectPlaces = each("buckets/list", func(b api.Bucket) string { return "s3://" + b.Name + "/" })
	backendNames = each("backends/list", func(b api.BackendStatus) string { return b.ID })
	keyNames     = each("keys/list", func(k api.Key) string { return k.ID })
	tokenNames   = each("tokens/list", func(k api.Token) string { return k.Name })
)

// routineNames lists the routines. A status would ask the other instances first.
func routineNames(context.Context, *api.Client) (out []string, err error) {
	for _, r := range config.Default().Reclaim.Routines() {
		out = append(out, r.Name)
	}
	return out, nil
}

// heldPlaces lists what is held, as "hold rm" takes it.
func heldPlaces(ctx context.Context, client *api.Client) (out []string, err error) {
	page, err := api.Call[api.Holds](ctx, client, "holds/list", api.HoldList{})
	for _, h := range page.Holds {
		out = append(out, holdName(h))
	}
	return out, err
}

// fixed offers words that are always the same.
func fixed(list ...string) names {
	return func(context.Context, *api.Client) ([]string, error) { return list, nil }
}

// limitSubjects lists what limits of a kind are of.
func limitSubjects(kind string) names {
	switch kind {
	case "rules", "ttl":
		return bucketNames
	case "deletes":
		return backendNames
	}
	return fixed()
}

// completesNames makes a shell complete the flags whose values are names: of buckets and of
// backends.
func (c *cli) completesNames(cmd *cobra.Command) {
	for flag, list := range map[string]names{"bucket": bucketNames, "backend": backendNames} {
		f := cmd.Flags().Lookup(flag)
		if _, has := cmd.GetFlagCompletionFunc(flag); f != nil && !has {
			c.completesFlag(cmd, flag, list)
		}
	}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "adopt" {
			c.completesNames(sub)
		}
	}
}
