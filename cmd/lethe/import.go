package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/object/importer"
)

func (c *cli) importCommand() *cobra.Command {
	var req admin.ImportRequest
	var dry, yes, asJSON bool
	var file string
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make objects of foreign keys that lie on a backend",
		Long: `Read what somebody else keeps on a backend (the foreign keys that "lethe
reconcile" reports), and put it into a bucket as new objects. The foreign keys
stay as they are, and no object is replaced: where another one lies under the
key, the import leaves both alone and says so. Repeat it as often as you like:
what is there is passed over. Until its owner removes the original, the bytes
take room twice.

  lethe import --backend main --prefix photos/ --bucket album --strip photos/ --dry-run

Exit code 0: everything is there; 1: something was not imported, and why was
told; 2: it could not be done.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			planned := admin.PlanRequest{Command: "import", Import: &req}
			switch {
			case file != "":
				return c.withAdmin(ctx, func(client *admin.Client) error { return c.writePlan(ctx, client, planned, file) })
			case dry:
				return c.withAdmin(ctx, func(client *admin.Client) error { return c.showPlan(ctx, client, planned) })
			}
			return c.imported(ctx, yes, req, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Backend, "backend", "", "the `backend` on which they lie")
	f.StringVar(&req.Prefix, "prefix", "", "only keys with this `prefix`; of another store's blobs: the id of that store and a slash")
	f.StringVar(&req.Bucket, "bucket", "", "the `bucket` to put them into, which has to exist")
	f.StringVar(&req.Strip, "strip", "", "take this `prefix` off each key")
	f.StringVar(&req.Add, "add", "", "put this `prefix` before each key, after --strip")
	f.StringVar(&req.TTL, "ttl", "", "`time` after which the objects end, such as 30d (default: the bucket's)")
	f.BoolVar(&dry, "dry-run", false, "change nothing: only say what would be imported")
	f.BoolVar(&asJSON, "json", false, "write JSON: a line per key that was not imported, then the result")
	planFlag(cmd, &file)
	yesFlag(cmd, &yes)
	_ = cmd.MarkFlagRequired("backend")
	_ = cmd.MarkFlagRequired("bucket")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "plan")
	return cmd
}

// imported imports, and makes the exit code of what was left.
func (c *cli) imported(ctx context.Context, yes bool, req admin.ImportRequest, asJSON bool) error {
	var res admin.ImportResult
	err := c.withYes(ctx, yes, ofImport(req), func(client *admin.Client) (err error) {
		res, err = c.importing(ctx, client, req, asJSON)
		return err
	})
	if err != nil {
		return &exitError{exitFailed, err}
	}
	for outcome, n := range res.Keys {
		if n > 0 && outcome != string(importer.Imported) && outcome != string(importer.Already) {
			return &exitError{code: exitProblems}
		}
	}
	return nil
}

func (c *cli) importing(ctx context.Context, client *admin.Client, req admin.ImportRequest, asJSON bool) (admin.ImportResult, error) {
	res, err := walked[admin.ImportResult](ctx, c, client, walk{"import", req, asJSON})
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
		printf(c.out, "%s %s; ", number(res.Keys[outcome]), outcome)
	}
	_, err = printf(c.out, "%s, of which %s were there as other objects' bytes\n", size(res.Bytes), size(res.Shared))
	return res, err
}
