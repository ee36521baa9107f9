package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// Exit codes of a check.
const (
	exitProblems = 1
	exitFailed   = 2
)

func (c *cli) checkCommand() *cobra.Command {
	var req api.CheckRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Recount the counters, and compare rows with bytes and files with rows",
		Long: `Recount the counters, compare every row with its bytes, and every file with its
row. Nothing is deleted. Exit code 0: nothing is wrong; 1: problems were found;
2: the check failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var res api.CheckResult
			err := c.withAdmin(cmd.Context(), func(client *api.Client) (err error) {
				res, err = c.check(cmd.Context(), client, req, asJSON)
				return err
			})
			if err != nil {
				return walkFailed(err)
			}
			if res.Problems > 0 {
				return &exitError{code: exitProblems}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&req.Checksums, "checksums", false, "read all bytes and compare their digests")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON: a line per problem, then the result")
	return cmd
}

func (c *cli) check(ctx context.Context, client *api.Client, req api.CheckRequest, asJSON bool) (api.CheckResult, error) {
	res, err := walked[api.CheckResult](ctx, c, client, walk{"check", req, asJSON})
	if err != nil {
		return res, err
	}
	if asJSON {
		return res, printLine(c.out, res)
	}
	if res.Inline > 0 {
		printf(c.out, "%s read in the ledger, ", words.Plural(res.Inline, "content", "contents"))
	}
	printf(c.out, "%s compared with %s on the backends, %s: ", words.Plural(res.Rows, "live blob", "live blobs"), words.Plural(res.Keys, "file", "files"), words.Size(res.Bytes))
	if res.Problems == 0 {
		printf(c.out, "nothing is wrong\n")
		return res, nil
	}
	printf(c.out, "%s: %s\n", words.Plural(res.Problems, "problem", "problems"), counts(res.Kinds))
	return res, nil
}

// walk is a call that takes long, and reports problems meanwhile.
type walk struct {
	name   string
	req    any
	asJSON bool
}

// walked makes a call, and shows progress and findings meanwhile.
func walked[Res any](ctx context.Context, c *cli, client *api.Client, w walk) (Res, error) {
	bar := newProgress(c.err, w.name)
	defer bar.done()
	return api.Stream[Res](ctx, client, w.name, w.req, func(ev api.Event) {
		switch {
		case ev.Progress != nil:
			bar.show(ev.Progress)
		case ev.Problem != nil && w.asJSON:
			_ = printLine(c.out, ev)
		case ev.Problem != nil:
			bar.clear()
			p := ev.Problem
			printf(c.out, "%s: %s %q: %s\n", p.Kind, p.Backend, p.Name, p.Detail)
		}
	})
}
