package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) adoptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Reclaim in tables, buckets and caches of other programs",
		Long: `Reclaim in the tables, buckets and caches of an application that does not know
lethe. A file describes them. Nothing is deleted before a collection in it has
"mode: reclaim", and its check finds no problem.

  lethe adopt init --database URL > adopt.yaml   proposes a file
  lethe adopt check adopt.yaml                   reports what is wrong, and what is due
  lethe adopt guard install adopt.yaml           makes deleting objects safe
  lethe adopt run adopt.yaml                     reclaims, until it is stopped`,
	}
	cmd.AddCommand(c.adoptInitCommand(), c.adoptCheckCommand(), c.adoptRunCommand(), c.adoptStatusCommand(), c.adoptExplainCommand(), c.adoptReceiptsCommand(), c.adoptOrphansCommand(), c.adoptRecountCommand(), c.adoptQuarantineCommand(), c.adoptPlanCommand(), c.adoptApplyCommand(), c.adoptHoldCommand(), c.adoptAcceptCommand(), c.adoptGuardCommand(), c.adoptRemoveCommand())
	return cmd
}

// withAdoption calls fn with a description that is opened.
func (c *cli) withAdoption(ctx context.Context, file string, log *slog.Logger, fn func(*adoption.Adoption) error) (err error) {
	d, err := adopt.Load(file, os.LookupEnv)
	if err != nil {
		return err
	}
	tracing := config.Tracing{Enabled: d.Tracing.Enabled, Endpoint: d.Tracing.Endpoint, SampleRatio: d.Tracing.SampleRatio, Names: d.Tracing.Names}
	spans, flush, err := app.OpenSpans(ctx, tracing, app.Options{Log: log, Version: versionText()})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer flush()
	a, err := adoption.Open(ctx, d, adoption.Options{Log: log, Spans: spans, Watch: c.clockWatch})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return fn(a)
}

// adoptLog returns the log of commands that end by themselves, like that of the
// store's commands.
func (c *cli) adoptLog() *slog.Logger { return c.log(config.Default()) }

// adoptChange is a change of what was adopted. Its question comes once the description is open
// and fits it.
type adoptChange struct {
	adoption.Change
	yes bool
	ask func(*adoption.Adoption) (string, error) // nil: it asks nothing
}

// always is a question without amounts.
func always(text string) func(*adoption.Adoption) (string, error) {
	return func(*adoption.Adoption) (string, error) { return text, nil }
}

// changeAdoption calls fn with a description that is opened, and leaves an
// audit line.
func (c *cli) changeAdoption(ctx context.Context, file string, change adoptChange, fn func(*adoption.Adoption) error) error {
	change.Who = operator()
	if change.ask == nil {
		change.yes = true
	}
	if err := c.askable(change.yes); err != nil {
		return err
	}
	return c.unlessNothing(c.withAdoption(ctx, file, c.adoptLog(), func(a *adoption.Adoption) error {
		if err := c.confirmed(change.yes, func() (string, error) { return change.ask(a) }); err != nil {
			return err
		}
		return a.Audited(change.Change, func() error { return fn(a) })
	}))
}

func (c *cli) adoptCheckCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Check a description against database, bucket and cache",
		Long: `Check a description: tables, columns and their types, privileges, indexes, the
guard, the bucket and whether its keys are those that rows name, cache and clocks.
Reports what is due now. Nothing of the application is changed. An object below each
prefix is written and removed, to find out what the bucket supports.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error { return c.adoptCheck(cmd.Context(), a, args[0], asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) adoptCheck(ctx context.Context, a *adoption.Adoption, file string, asJSON bool) error {
	found, err := a.Check(ctx)
	if err != nil {
		return err
	}
	backlogs, err := a.Backlogs(ctx)
	if err != nil {
		return err
	}
	problems, all := 0, []collectionJSON{}
	for _, b := range backlogs {
		all = append(all, collectionOf(b, found[b.Collection]))
		for _, f := range found[b.Collection] {
			if f.Problem {
				problems++
			}
		}
		if !asJSON {
			c.printChecked(file, b, found[b.Collection])
		}
	}
	if asJSON {
		if err := printJSON(c.out, all); err != nil {
			return err
		}
	}
	if problems > 0 {
		return &exitError{code: exitProblems, err: fmt.Errorf("%s: a collection with a problem only reports", words.Plural(int64(problems), "problem", "problems"))}
	}
	return nil
}

// printChecked shows what the check of a collection found. Commands of Lethe get the
// name of the file.
func (c *cli) printChecked(file string, b adoption.Backlog, found []adopt.Finding) {
	printf(c.out, "%s (%s)\n", b.Collection, b.Mode)
	for _, f := range found {
		kind := "note"
		if f.Problem {
			kind = "PROBLEM"
		}
		printf(c.out, "  %-8s %s\n", kind, cell(f.What))
		for line := range strings.Lines(f.Do) {
			line = strings.TrimSpace(line)
			if named := strings.Replace(line, " FILE ", " "+forShell(file)+" ", 1); named != line {
				line = named
			} else if strings.HasPrefix(line, "lethe adopt ") {
				line += " " + forShell(file)
			}
			printf(c.out, "  %-8s %s\n", "", cell(line))
		}
	}
	waiting := due(b)
	if adopt.Problems(found) && strings.HasPrefix(waiting, "not known") {
		waiting = "not known before that is mended"
	}
	printf(c.out, "  %-8s %s\n", "due", waiting)
	if b.Paired.Number > 0 {
		printf(c.out, "  %-8s paired with this database, last %s\n", "bucket", words.When(b.Paired.At.Time(), b.Paired.Now.Time()))
	}
}

func (c *cli) adoptRunCommand() *cobra.Command {
	var once, dry bool
	var metrics string
	cmd := &cobra.Command{
		Use: "run FILE", Short: "Reclaim what a description names",
		Long: `Reclaim by the timetables of the description, until SIGTERM or SIGINT. Any number
of instances may run at once. Collections with "mode: report", and those whose check
finds a problem, are left alone. Lethe's own tables are created in a schema of the
same database. Epoch objects below PREFIX.lethe/ pair the bucket with this database:
a copy of it deletes nothing there.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			log := c.adoptLog()
			if !once && !dry {
				log = app.NewLogger(config.Default().Log, c.err, new(slog.LevelVar))
			}
			run := func(a *adoption.Adoption) error {
				switch {
				case dry:
					return c.adoptDry(cmd.Context(), a, args[0])
				case once:
					return c.adoptOnce(cmd.Context(), a)
				}
				return a.Run(cmd.Context(), metrics)
			}
			return adoption.RunOn(cmd.Context(), adoption.Options{Log: log}, func() error {
				return c.withAdoption(cmd.Context(), args[0], log, run)
			})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "reclaim what is due now, and end")
	cmd.Flags().StringVar(&metrics, "metrics", "", "`address` for Prometheus, such as 127.0.0.1:9104 (default: none)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "list what would go, as \"lethe adopt plan\" writes it down; change nothing, but probe the bucket as \"lethe adopt check\" does")
	cmd.MarkFlagsMutuallyExclusive("once", "metrics")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "metrics")
	return cmd
}

func (c *cli) adoptOnce(ctx context.Context, a *adoption.Adoption) error {
	if err := a.Prepare(ctx); err != nil {
		return err
	}
	done, err := a.Loop.Once(ctx, nil)
	err = errors.Join(err, a.Rest(ctx))
	for _, r := range a.Loop.Routines {
		if n := done[r.Routine.Name()]; len(n) > 0 {
			printf(c.out, "%-24s %s\n", r.Routine.Name(), counts(n))
		}
	}
	err = errors.Join(err, a.DropCopies(ctx), c.adoptStatus(ctx, a))
	if idle := a.Idle(); err == nil && len(idle) > 0 {
		err = &exitError{code: exitProblems, err: fmt.Errorf("%s: not worked on, for the reason above", strings.Join(idle, ", "))}
	}
	return err
}

func (c *cli) adoptGuardCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "guard", Short: "The triggers that refuse references to contents that are being deleted",
		Long: `The application chooses the names of objects, and may reuse one while lethe deletes
it. The guard is triggers in the application's database, on the tables of
rows and contents: a transaction that refers to a content that is being deleted gets
40001 (serialization failure), and has to be repeated, upload included.`,
	}
	var yes bool
	change := func(use, short, ask string, act func(context.Context, *adoption.Adoption, string) error) *cobra.Command {
		sub := &cobra.Command{
			Use: use + " FILE [COLLECTION...]", Short: short, Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				if err := c.askable(yes); err != nil {
					return err
				}
				asks := func() error { return c.confirmed(yes, func() (string, error) { return ask, nil }) }
				return c.withGuarded(cmd.Context(), args, asks, func(ctx context.Context, a *adoption.Adoption, name string) error {
					change := adoption.Change{Who: operator(), Route: "guard " + use, Request: map[string]any{"collection": name}}
					return a.Audited(change, func() error { return act(ctx, a, name) })
				})
			},
		}
		yesFlag(sub, &yes)
		return sub
	}
	show := &cobra.Command{
		Use: "show FILE [COLLECTION...]", Short: "Write the statements that would install it", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withGuarded(cmd.Context(), args, func() error { return nil }, func(_ context.Context, a *adoption.Adoption, name string) error {
				_, err := io.WriteString(c.exact(), a.Collection(name).GuardSQL()+"\n")
				return err
			})
		},
	}
	cmd.AddCommand(show,
		change("install", "Install it, and Lethe's tables", "Install triggers on the application's tables?", func(ctx context.Context, a *adoption.Adoption, name string) error {
			if err := errors.Join(a.DB.Install(ctx), a.Collection(name).InstallGuard(ctx)); err != nil {
				return err
			}
			printf(c.out, "%s is guarded\n", name)
			return nil
		}),
		change("remove", "Remove it: objects stay from then on", "Remove the triggers, so that objects stay?", func(ctx context.Context, a *adoption.Adoption, name string) error {
			if err := a.Collection(name).RemoveGuard(ctx); err != nil {
				return err
			}
			printf(c.out, "%s is not guarded any more\n", name)
			return nil
		}))
	return cmd
}

// withGuarded calls fn with the named collections, or with all whose
// description has a guard, after asks.
func (c *cli) withGuarded(ctx context.Context, args []string, asks func() error, fn func(context.Context, *adoption.Adoption, string) error) error {
	return c.withAdoption(ctx, args[0], c.adoptLog(), func(a *adoption.Adoption) error {
		names := args[1:]
		for _, name := range names {
			if err := a.Unusable[name]; err != nil {
				return err
			}
			if !slices.Contains(a.Description.Names(), name) {
				return fmt.Errorf("%s describes no collection %q", args[0], name)
			}
			if a.Collection(name) == nil {
				return fmt.Errorf("collection %s has no rows to guard: it is of kind %s", name, a.Description.Collections[name].Kind)
			}
		}
		if len(names) == 0 {
			for _, name := range a.Description.Names() {
				if a.Description.Collections[name].Guard == adopt.TriggerGuard {
					names = append(names, name)
				}
			}
		}
		var unusable error
		if len(args) == 1 {
			unusable = errors.Join(slices.Collect(maps.Values(a.Unusable))...)
		}
		if len(names) == 0 && unusable == nil {
			return fmt.Errorf("no collection of %s has a guard (guard: trigger)", args[0])
		}
		if err := asks(); err != nil {
			return err
		}
		for _, name := range names {
			if err := fn(ctx, a, name); err != nil {
				return err
			}
		}
		return unusable
	})
}

func (c *cli) adoptRemoveCommand() *cobra.Command {
	var yes, forget bool
	cmd := &cobra.Command{
		Use: "remove FILE", Short: "Remove Lethe's tables and triggers from the database",
		Long: `Remove the triggers of the collections and Lethe's schema, with all its records:
what is being deleted, receipts, runs. Nothing of the application is touched. Claimed
rows are made live again first. Running instances have to be stopped before.

It fails while objects are being deleted, with the time until then. It also fails while
objects wait to be deleted that removed rows owned: only Lethe knows their keys; and if
the bucket may belong to another database ("lethe adopt accept").`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change := adoptChange{Change: adoption.Change{Route: "remove"}, yes: yes, ask: always("Remove Lethe's tables and triggers?")}
			return c.changeAdoption(cmd.Context(), args[0], change, func(a *adoption.Adoption) error {
				if err := a.Remove(cmd.Context(), forget); err != nil {
					return err
				}
				printf(c.out, "Lethe's tables and triggers are removed\n")
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "remove them although objects are to be deleted whose rows are gone, or the bucket may be another database's: it stays as it is")
	yesFlag(cmd, &yes)
	return cmd
}
