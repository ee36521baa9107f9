package adoption

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
)

// workOf returns what an instance works on for a collection.
func (a *Adoption) workOf(name string, c adopt.Collection) sqladopt.Work {
	w := sqladopt.Work{Collection: name}
	if c.Bucket != "" {
		w.Place = a.place(c, c.Prefix)
	}
	if c.Quarantine != nil {
		w.Quarantine = a.place(c, c.Quarantine.Prefix)
	}
	if rows := a.collections[name]; rows != nil {
		w.Table = rows.Place()
	}
	return w
}

// reclaims reports whether runs take what a collection has; a plan may also of another.
func (a *Adoption) reclaims(name string) bool {
	return a.Description.Collections[name].Mode == adopt.Reclaim
}

// beginWork records that this instance works on those of the collections, so that other
// descriptions find it.
func (a *Adoption) beginWork(ctx context.Context, wanted func(name string) bool) error {
	var works []sqladopt.Work
	for _, name := range a.Description.Names() {
		if wanted(name) {
			works = append(works, a.workOf(name, a.Description.Collections[name]))
		}
	}
	return a.DB.BeginWork(ctx, a.o.Worker, works)
}

// endWork forgets that this instance worked on collections: it has ended, or found a problem
// before it touched anything.
func (a *Adoption) endWork(ctx context.Context, names []string) {
	if err := a.DB.DropWork(context.WithoutCancel(ctx), a.o.Worker, names); err != nil {
		a.o.Log.Warn("other descriptions may find this instance at work for a while", "for", sqladopt.WorkKept.String(), "error", err)
	}
}

// Rest records that this instance works no more: it ran once, and may do so again. Other
// descriptions find what it did, this one after a change does not.
func (a *Adoption) Rest(ctx context.Context) error {
	return a.DB.RestWork(context.WithoutCancel(ctx), a.o.Worker, a.Description.Names())
}

// checkOthers finds other descriptions of this database that work on what a collection
// has: each would take the other's objects, or those in its quarantine, for its own, and rows
// past the other's counts and holds. What this description had otherwise before it was changed
// counts as long as an instance runs by it.
func (a *Adoption) checkOthers(ctx context.Context, name string) (out []adopt.Finding, err error) {
	works, err := a.DB.AtWork(ctx)
	if err != nil {
		return nil, err
	}
	mine := a.workOf(name, a.Description.Collections[name])
	for _, w := range works {
		described, own := a.whole.Collections[w.Collection]
		if own && (!w.Alive || w.Work == a.workOf(w.Collection, described)) {
			continue
		}
		who := "another description of this database (collection " + w.Collection + ") is at work "
		do := "let one of them have it, or describe both in one file; if the other is not run any more, wait an hour"
		if own {
			who = "an instance by another description of collection " + w.Collection + " is at work "
			do = "start that anew with this file (if it has crashed, wait some minutes); two files with one schema need collections of different names"
		}
		for _, place := range overlaps(mine, w.Work) {
			f := adopt.Finding{
				Problem: a.reclaims(name),
				What:    who + place + ", or was a short while ago: each would take what the other has, or its quarantine, for its own",
				Do:      do,
			}
			if !slices.Contains(out, f) { // of another instance
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// overlaps returns where two works meet.
func overlaps(mine, theirs sqladopt.Work) (where []string) {
	for _, p := range [][2]string{{mine.Place, theirs.Place}, {mine.Quarantine, theirs.Place}, {mine.Place, theirs.Quarantine}} {
		if p[0] != "" && p[1] != "" && (strings.HasPrefix(p[0], p[1]) || strings.HasPrefix(p[1], p[0])) {
			where = append(where, "below "+p[1])
		}
	}
	if mine.Table != "" && mine.Table == theirs.Table {
		where = append(where, "on the rows of "+theirs.Table)
	}
	return slices.Compact(where)
}
