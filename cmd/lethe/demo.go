package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) demoCommand() *cobra.Command {
	var objects int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show in two minutes what Lethe does, on a temporary store",
		Long: `Start a store in a temporary folder, put thousands of objects into it, many of
them identical and most of them short-lived, and show how they are reclaimed. The
folder is removed at the end; nothing else is changed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context(), objects) },
	}
	cmd.Flags().Var(atLeast(1, &objects, 5000), "objects", "how many objects to put")
	return cmd
}

// demo is a running tour.
type demo struct {
	c      *cli
	app    *app.App
	client *api.Client
	load   *load
}

func (c *cli) demo(ctx context.Context, objects int) (err error) {
	if objects < 10 {
		return usageError("a tour needs at least 10 objects")
	}
	dir, err := os.MkdirTemp("", "lethe-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	a, err := app.New(ctx, demoConfig(dir), app.Options{Version: versionText()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	select {
	case <-a.Ready():
	case err := <-ended:
		ended <- nil
		return err
	}
	socket, _ := a.Config.Server.Admin.Unix()
	d := &demo{c: c, app: a, client: &api.Client{Base: "http://lethe", HTTP: api.Unix(a.Config.InDataDir(socket))}}
	return d.tour(ctx, objects)
}

// demoGrace is the read grace of condemned bytes in the tour.
const demoGrace = 2 * time.Second

// demoConfig returns a store on free ports whose routines run only on request.
func demoConfig(dir string) *config.Config {
	conf := config.Default()
	conf.DataDir = dir
	conf.Store.Inline = 0 // the tour shows how files go
	conf.Server.S3.Listen = "127.0.0.1:0"
	conf.Server.Paste.Listen = "off"
	conf.Server.Metrics.Listen = "off"
	conf.Server.Console.Listen = "off"
	conf.Reclaim.Expire.Enabled = false
	conf.Reclaim.Clean.Enabled = false
	conf.Reclaim.Grace.ReadGrace = config.Duration(demoGrace)
	return conf
}

func (d *demo) say(format string, args ...any) { printf(d.c.out, format+"\n", args...) }

func (d *demo) tour(ctx context.Context, objects int) error {
	d.say("1. A store in %s, its S3 endpoint at %s\n", d.app.Config.DataDir, d.app.Addresses().S3)
	steps := []func(context.Context) error{d.look, d.wait, d.dryRun, d.reclaim, d.proof}
	if err := d.fill(ctx, objects); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) fill(ctx context.Context, objects int) (err error) {
	d.say("2. Putting %s objects: half through S3, half through the library; a third of the\n   contents are distinct, nine objects of ten live for %s.", words.Number(int64(objects)), demoLife)
	if d.load, err = newLoad(ctx, d.app); err != nil {
		return err
	}
	began := lethe.Monotonic{}.Now()
	if err := d.load.put(ctx, objects, newProgress(d.c.err, "put")); err != nil {
		return err
	}
	took := lethe.Monotonic{}.Now().Sub(began)
	s, err := d.client.Status(ctx)
	if err != nil {
		return err
	}
	d.say("   %s in %s, %.0f a second; %s transactions shared %s flushes of the ledger.\n", words.Plural(s.Objects, "object", "objects"),
		words.Span(took), float64(s.Objects)/took.Seconds(), words.Number(s.Ledger.Members), words.Number(s.Ledger.Commits))
	return nil
}

// look shows the saving by deduplication, and explains one object.
func (d *demo) look(ctx context.Context) error {
	s, err := d.client.Status(ctx)
	if err != nil {
		return err
	}
	files, disk, err := diskUse(d.app)
	if err != nil {
		return err
	}
	d.load.before = disk
	d.say("3. Clients stored %s; on the disk lie %s in %s, as identical\n   bytes are kept once. `lethe explain` says who shares one of them:\n",
		words.Size(s.Bytes), words.Size(disk), words.Plural(files, "file", "files"))
	e, err := d.client.Explain(ctx, api.ObjectName{Bucket: demoBucket, Key: objectKey(0)})
	if err != nil {
		return err
	}
	if len(e.Contents) > 0 && len(e.Contents[0].Sharers) > 3 {
		e.Contents[0].Sharers, e.Contents[0].More = e.Contents[0].Sharers[:3], true
	}
	d.c.explain(e)
	return nil
}

// wait lets the short lives end, and shows that clients no longer see the
// objects although the bytes are still stored.
func (d *demo) wait(ctx context.Context) error {
	d.say("\n4. Waiting for the short lives to end ...")
	if err := d.load.waitForEnd(ctx); err != nil {
		return err
	}
	code, err := d.load.get(ctx, objectKey(1))
	if err != nil {
		return err
	}
	files, disk, err := diskUse(d.app)
	if err != nil {
		return err
	}
	d.say("   A GET answers %s, at the instant; %s in %s still lie on the disk.\n", code, words.Size(disk), words.Plural(files, "file", "files"))
	return nil
}

func (d *demo) dryRun(ctx context.Context) error {
	d.say("5. What would go? `lethe reclaim --dry-run --only expire` answers from an index:\n")
	return d.c.reclaim(ctx, d.client, api.ReclaimRequest{Only: []string{"expire"}, DryRun: true}, false)
}

// reclaim runs expire, waits for the read grace, and runs clean.
func (d *demo) reclaim(ctx context.Context) error {
	d.say("\n6. `lethe reclaim --once`: expire removes the rows and condemns bytes that nobody refers\n   to any more; after the read grace (%s) clean deletes them.\n", demoGrace)
	began := lethe.Monotonic{}.Now()
	if err := d.c.reclaim(ctx, d.client, api.ReclaimRequest{Only: []string{"expire"}}, false); err != nil {
		return err
	}
	expired := lethe.Monotonic{}.Now().Sub(began)
	if err := lethe.Sleep(ctx, demoGrace+100*time.Millisecond); err != nil {
		return err
	}
	began = lethe.Monotonic{}.Now()
	res, err := d.client.Reclaim(ctx, api.ReclaimRequest{Only: []string{"clean"}}, func(api.Event) {})
	if err != nil {
		return err
	}
	gone := res.Done[0].Counts["gone"]
	d.say("%-10s %s\n", "clean", counts(res.Done[0].Counts))
	d.say("   %s deleted with %s to the backend; expire took %s, clean %s.\n", words.Plural(gone, "blob", "blobs"), words.Plural(res.Calls, "call", "calls"),
		expired.Round(time.Millisecond), lethe.Monotonic{}.Now().Sub(began).Round(time.Millisecond))
	return nil
}

// proof compares the disk before and after, and checks every row and file.
func (d *demo) proof(ctx context.Context) error {
	_, disk, err := diskUse(d.app)
	if err != nil {
		return err
	}
	d.say("7. The disk held %s before and holds %s now. `lethe check --checksums`:\n", words.Size(d.load.before), words.Size(disk))
	res, err := d.c.check(ctx, d.client, api.CheckRequest{Checksums: true}, false)
	if err != nil {
		return err
	}
	if res.Problems > 0 {
		return &exitError{code: exitProblems}
	}
	d.say("\nYour own: lethe serve")
	return nil
}
