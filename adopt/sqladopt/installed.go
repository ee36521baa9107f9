package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// installed is a trigger or a function of a guard in the database, of any
// description.
type installed struct {
	collection string
	text       string // its name in the statement that creates it
	table      string // the place of a trigger's table; empty for a function
	drop       string
}

// installedName matches names of triggers and functions, with their collection.
var installedName = regexp.MustCompile(`^(?:([Ll]ethe|guard)_(.+)_[a-z]+|(?:take|release)_(.+))$`)

// installed lists the installed parts of a collection's guard, triggers first;
// with no name, of all guards.
func (t *tx) installed(e engine, collection string) ([]installed, error) {
	list, err := all(t, func(r *sql.Rows) (x installed, err error) {
		var name string
		err = r.Scan(&name, &x.text, &x.table, &x.drop)
		if m := installedName.FindStringSubmatch(name); m != nil {
			x.collection = m[2] + m[3]
		}
		return x, err
	}, e.installed())
	if err != nil {
		return nil, err
	}
	// A function take_x belongs to Lethe if there is more of the guard of x.
	guards := map[string]bool{}
	for _, x := range list {
		if x.collection != "" && (x.table != "" || strings.Contains(x.text, "guard_")) {
			guards[x.collection] = true
		}
	}
	list = slices.DeleteFunc(list, func(x installed) bool {
		return collection != "" && x.collection != collection || collection == "" && !guards[x.collection]
	})
	slices.SortStableFunc(list, func(x, y installed) int { return cmp.Compare(order(x), order(y)) })
	return list, nil
}

// order returns the order of dropping: triggers call functions.
func order(x installed) int {
	if x.table != "" {
		return 0
	}
	return 1
}

func (t *tx) drop(list []installed) error {
	for _, x := range list {
		if err := t.script(x.drop); err != nil {
			return err
		}
	}
	return nil
}

// outdated returns the parts of a collection's guard that its description does
// not install again, and a table among theirs on which it installs nothing.
func (c *Collection) outdated(t *tx) (list []installed, elsewhere string, err error) {
	list, err = t.installed(c.db.engine, c.name)
	text := c.GuardSQL()
	list = slices.DeleteFunc(list, func(x installed) bool {
		switch {
		case x.table == "":
			return strings.Contains(text, x.text)
		case x.table != c.s.rows.place && x.table != c.s.contents.place:
			elsewhere = x.table
			return false
		}
		return strings.Contains(text, "CREATE TRIGGER "+x.text)
	})
	return list, elsewhere, err
}

// unguarded describes what is installed instead of the guard; empty if it is
// the guard.
func (c *Collection) unguarded(ctx context.Context) (what string, err error) {
	err = c.read(ctx, "look for the guard", func(t *tx) error {
		what = ""
		if guarded, err := c.db.engine.guarded(t, c); err != nil || guarded {
			return err
		}
		list, err := t.installed(c.db.engine, c.name)
		if err != nil {
			return err
		}
		_, elsewhere, err := c.outdated(t)
		switch {
		case len(list) == 0 || list[0].table == "":
			what = "its guard is not installed"
		case elsewhere != "":
			what = "its guard is on " + elsewhere + ", which this description does not name: install it here, which removes it there"
		default:
			what = "the guard on its tables is that of another description (of other columns, templates or, where rows own objects, another grace.unreferenced) or of another version of lethe, or one of its triggers is disabled or gone, also on a partition, or a trigger of the application has come after it, or row-level security hides rows from who installed it: install this one in its place, as a user who may see them (BYPASSRLS)"
		}
		return err
	})
	return what, err
}

// otherGuards finds guards of other collections on the tables: of a description of the same
// objects, or of one that the collection was renamed from.
func (c *Collection) otherGuards(ctx context.Context) (out []adopt.Finding, err error) {
	err = c.read(ctx, "look for other guards", func(t *tx) error {
		list, err := t.installed(c.db.engine, "")
		if err != nil {
			return err
		}
		var names []string
		for _, x := range list {
			here := x.table != "" && (x.table == c.s.rows.place || x.table == c.s.contents.place)
			if here && x.collection != c.name && !slices.Contains(names, x.collection) {
				names = append(names, x.collection)
			}
		}
		out = nil
		if len(names) > 0 {
			out = []adopt.Finding{{What: "its tables have the guard of another collection as well: " + strings.Join(names, ", "),
				Do: "describe the same objects once; with the file that names the other one: lethe adopt guard remove"}}
		}
		return nil
	})
	return out, err
}

const standing = `SELECT count(*), coalesce(max(CASE WHEN d.state = 3 THEN d.due_at ELSE 0 END), 0) FROM {lethe}condemned d
	WHERE d.collection = ?1 AND d.state IN (2, 3) AND NOT (d.state = 3 AND d.due_at <= ?2)`

// quiet returns an error while objects of a collection may yet be deleted:
// after a change of the guard a row could name one of them.
func (t *tx) quiet(e engine, collection string) error {
	if there, err := e.has(t, "condemned"); err != nil || !there {
		return err
	}
	var n int
	var until lethe.Time
	if err := t.row(standing, collection, t.now).Scan(&n, &until); err != nil || n == 0 {
		return err
	}
	after := ""
	if until > 0 {
		after = " after " + until.String()
	}
	are, them := "contents of "+collection+" are", "them"
	if n == 1 {
		are, them = "content of "+collection+" is", "it"
	}
	return fmt.Errorf("%d %s being deleted, and the guard keeps references from %s: let \"lethe adopt run\" end %s, and try again%s", n, are, them, them, after)
}

// withdrawGuards removes the guards of collections without a description:
// without Lethe's tables their triggers would fail every statement of the
// application.
func (t *tx) withdrawGuards(e engine) error {
	list, err := t.installed(e, "")
	if err != nil {
		return err
	}
	for _, x := range list {
		if err := t.quiet(e, x.collection); err != nil {
			return fmt.Errorf("%w; its description is to name the collection again for that", err)
		}
	}
	return t.drop(list)
}
