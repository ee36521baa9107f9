package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/object/importer"
)

func (c *cli) importCommand() *cobra.Command {
	var req api.ImportRequest
	var dry, yes, asJSON bool
	var file string
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Import foreign keys on a backend as objects",
		Long: `Copy foreign keys on a backend (those that "lethe reconcile" reports) into a bucket
as new objects. The foreign keys stay, and no object is replaced: if another one has
the key, the import changes neither and reports it. It can be repeated and skips what
exists already. The bytes take space twice until the originals are removed.

  lethe import --backend main --prefix photos/ --bucket album --strip photos/ --dry-run

Exit code 0: everything is there; 1: something was not imported, with the reasons
listed; 2: the import failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			planned := api.PlanRequest{Command: "import", Import: &req}
			switch {
			case file != "":
				return c.withAdmin(ctx, func(client *api.Client) error { return c.writePlan(ctx, client, planned, file) })
			case dry:
				return c.withAdmin(ctx, func(client *api.Client) error { return c.showPlan(ctx, client, planned) })
			}
			return c.imported(ctx, yes, req, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Backend, "backend", "", "the `backend` that has them")
	f.StringVar(&req.Prefix, "prefix", "", "only keys with this `prefix`; for another store's blobs: the id of that store and a slash")
	f.StringVar(&req.Bucket, "bucket", "", "the existing `bucket` to put them into")
	f.StringVar(&req.Strip, "strip", "", "remove this `prefix` from each key")
	f.StringVar(&req.Add, "add", "", "add this `prefix` to each key, after --strip")
	f.Var(aTime(&req.TTL), "ttl", "`time` after which the objects end, such as 30d (default: the bucket's)")
	f.BoolVar(&dry, "dry-run", false, "change nothing; show what would be imported")
	f.BoolVar(&asJSON, "json", false, "write JSON: a line per key that was not imported, then the result")
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	_ = cmd.MarkFlagRequired("backend")
	_ = cmd.MarkFlagRequired("bucket")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "plan")
	return cmd
}

// imported imports, and returns the exit code for what was left.
func (c *cli) imported(ctx context.Context, yes bool, req api.ImportRequest, asJSON bool) error {
	var res api.ImportResult
	err := c.withYes(ctx, yes, ofImport(req), func(client *api.Client) (err error) {
		res, err = c.importing(ctx, client, req, asJSON)
		return err
	})
	if err != nil {
		return walkFailed(err)
	}
	for outcome, n := range res.Keys {
		if n > 0 && outcome != string(importer.Imported) && outcome != string(importer.Already) {
			return &exitError{code: exitProblems}
		}
	}
	return nil
}

func (c *cli) importing(ctx context.Context, client *api.Client, req api.ImportRequest, asJSON bool) (api.ImportResult, error) {
	res, err := walked[api.ImportResult](ctx, c, client, walk{"import", req, asJSON})
	if err != nil {
		return res, err
	}
	if asJSON {
		return res, printLine(c.out, res)
	}
	if len(res.Keys) == 0 {
		printf(c.out, "there are no such foreign keys\n")
		return res, nil
	}
	for _, outcome := range slices.Sorted(maps.Keys(res.Keys)) {
		printf(c.out, "%s %s; ", words.Number(res.Keys[outcome]), outcome)
	}
	_, err = printf(c.out, "%s, of which %s were stored already for other objects\n", words.Size(res.Bytes), words.Size(res.Shared))
	return res, err
}
