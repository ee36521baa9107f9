package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/app/adoption"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) adoptStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status FILE", Short: "Show what waits in each collection, what is wrong, and when routines run",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdoption(cmd.Context(), args[0], nil, func(a *adoption.Adoption) error {
				if asJSON {
					return c.adoptStatusJSON(cmd.Context(), a)
				}
				return errors.Join(c.adoptStatus(cmd.Context(), a), c.adoptRoutines(cmd.Context(), a))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (c *cli) adoptStatusJSON(ctx context.Context, a *adoption.Adoption) error {
	backlogs, err := a.Backlogs(ctx)
	if err != nil {
		return err
	}
	list, _, err := a.Routines(ctx)
	out := adoptStatusJSON{Collections: []collectionJSON{}, Routines: []routineJSON{}}
	for _, b := range backlogs {
		out.Collections = append(out.Collections, collectionOf(b, nil))
	}
	for _, r := range list {
		one := routineJSON{Routine: r.Name, Outcome: r.Last.Outcome, Did: r.Last.Counts, Next: r.Next.Time()}
		if r.Last.ID != "" {
			one.Last = r.Last.StartedAt.Time()
		}
		out.Routines = append(out.Routines, one)
	}
	return cmp.Or(err, printJSON(c.out, out))
}

func (c *cli) adoptStatus(ctx context.Context, a *adoption.Adoption) error {
	backlogs, err := a.Backlogs(ctx)
	if err != nil {
		return err
	}
	rows := [][]string{{"collection", "mode", "waits"}}
	for _, b := range backlogs {
		rows = append(rows, []string{b.Collection, string(b.Mode), due(b)})
	}
	if err := table(c.out, rows); err != nil {
		return err
	}
	for _, b := range backlogs {
		for _, w := range wrong(b) {
			printf(c.out, "WRONG %s: %s\n", b.Collection, cell(w))
		}
	}
	return nil
}

// adoptRoutines shows when each routine ran last, on any instance, and runs
// next.
func (c *cli) adoptRoutines(ctx context.Context, a *adoption.Adoption) error {
	list, now, err := a.Routines(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	rows := [][]string{{"routine", "last run", "outcome", "did", "next"}}
	for _, r := range list {
		last, outcome, did := "-", "-", "-"
		if r.Last.ID != "" {
			last, outcome, did = words.When(r.Last.StartedAt.Time(), now.Time()), api.Plain(r.Last.Outcome), counts(r.Last.Counts)
		}
		if r.Last.ID != "" && r.Last.FinishedAt == 0 {
			outcome = "in progress on " + r.Last.Worker
		}
		next := words.When(r.Next.Time(), now.Time())
		if r.Closes != 0 {
			next = "may work until " + stamp(r.Closes.Time())
		}
		rows = append(rows, []string{r.Name, last, cell(outcome), did, next})
	}
	printf(c.out, "\n")
	return table(c.out, rows)
}

// due describes what waits in a collection, and what is held.
func due(b adoption.Backlog) string {
	text := waits(b)
	if n := b.Quarantined.Due; n > 0 {
		text += "; " + words.Plural(n, "object is in quarantine", "objects are in quarantine")
	}
	if n := len(b.Holds); n > 0 {
		text += "; " + words.Plural(int64(n), "hold stands", "holds stand")
	}
	if n := b.Nearing; n.Waits > 0 {
		what := "object waits"
		whats := "objects wait"
		if b.Kind == adopt.OfFolders {
			what, whats = "folder is marked and waits", "folders are marked and wait"
		}
		text += "; " + words.Plural(n.Waits, what, whats) + " to be deleted for good, the first until " + n.First.String()
		if n.Soon > 0 {
			text += ", " + words.Number(n.Soon) + " within " + words.Span(n.Within)
		}
	}
	return text
}

// wrong describes what is wrong in a collection, one item a line.
func wrong(b adoption.Backlog) (out []string) {
	if n := b.Wrong.Missing; n > 0 {
		out = append(out, words.Plural(n, "object that something refers to is not in the bucket", "objects that something refers to are not in the bucket"))
	}
	if n := b.Wrong.Drifted; n > 0 {
		out = append(out, words.Plural(n, "count was wrong", "counts were wrong")+` (see "lethe adopt recount")`)
	}
	if n := b.Wrong.Stuck; n > 0 {
		out = append(out, words.Plural(n, "row has been", "rows have been")+" in progress for longer than grace.watchdog"+whyStuck(b.Mode))
	}
	if b.Suspended.Why != "" {
		out = append(out, "not worked on, by the instance that looked last, at "+b.Suspended.At.String()+": "+b.Suspended.Why)
	}
	return out
}

// whyStuck says why rows stay in progress in a collection that is only looked at.
func whyStuck(m adopt.Mode) string {
	if m != adopt.Report {
		return ""
	}
	return "; in mode report nothing is put back: set mode: reclaim again, or set their status back by hand"
}

// waits describes what waits in a collection.
func waits(b adoption.Backlog) string {
	if b.Problem != "" {
		return "not known: " + b.Problem
	}
	switch b.Kind {
	case adopt.OfKeys:
		return words.Plural(b.Orphans.Due, "object without a row is known", "objects without a row are known")
	case adopt.OfFolders:
		return words.Plural(b.Folders.Due, "folder is marked long enough", "folders are marked long enough")
	}
	text := words.Plural(b.Rows.Due, "row has expired", "rows have expired")
	if b.Rows.Due > 0 {
		text += ", the oldest at " + b.Rows.Oldest.String()
	}
	if b.Contents.Due > 0 {
		text += "; " + words.Plural(b.Contents.Due, "object waits to be deleted", "objects wait to be deleted")
	}
	if b.InGrace.Due > 0 {
		text += "; " + words.Plural(b.InGrace.Due, "object goes", "objects go") + " later, the first from " + b.InGrace.Oldest.String() + " on"
	}
	return text
}
