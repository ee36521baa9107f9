package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
)

// column is a column of the application's.
type column struct {
	name    string
	kind    string // as the database writes its type
	notNull bool
}

// shape is the columns of a collection's tables, by name.
type shape struct {
	rows, contents map[string]column
	// place is the table of contents with its schema.
	place string
}

const tableColumns = `SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull
	FROM pg_attribute a WHERE a.attrelid = to_regclass(?1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

const qualified = `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c
	JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(?1)`

func (t *tx) columns(name string) (map[string]column, error) {
	list, err := all(t, func(r *sql.Rows) (c column, err error) {
		err = r.Scan(&c.name, &c.kind, &c.notNull)
		return c, err
	}, tableColumns, table(name))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no table %s, or its user may not see it", name)
	}
	out := make(map[string]column, len(list))
	for _, c := range list {
		out[c.name] = c
	}
	return out, nil
}

// Collection looks at the tables of a collection and prepares its statements. Its
// error names every column that is missing or of the wrong type.
func (db *DB) Collection(ctx context.Context, name string, c adopt.Collection) (*Collection, error) {
	var s shape
	err := db.read(ctx, "look at the tables of "+name, func(t *tx) (err error) {
		if s.rows, err = t.columns(c.Rows.Table); err != nil {
			return err
		}
		if c.Contents != nil {
			if s.contents, err = t.columns(c.Contents.Table); err != nil {
				return err
			}
			err = t.row(qualified, table(c.Contents.Table)).Scan(&s.place)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := missing(c, &s); err != nil {
		return nil, fmt.Errorf("collection %s: %w", name, err)
	}
	w, err := wordsOf(c, &s)
	if err != nil {
		return nil, fmt.Errorf("collection %s: %w", name, err)
	}
	out := &Collection{name: name, c: c, grace: c.Graces(), db: db}
	runner := *db.runner
	runner.Dialect = db.dialect(w)
	out.runner = &runner
	return out, nil
}

// missing names the columns that are not there.
func missing(c adopt.Collection, s *shape) error {
	var errs []error
	need := func(table string, have map[string]column, names ...string) {
		for _, n := range names {
			if _, ok := have[n]; n != "" && !ok {
				errs = append(errs, fmt.Errorf("table %s has no column %s: it has %s", table, n, strings.Join(slices.Sorted(maps.Keys(have)), ", ")))
			}
		}
	}
	need(c.Rows.Table, s.rows, c.Rows.Key, c.Rows.End, c.Rows.Initiated, c.Rows.Content)
	if c.Rows.Status != nil {
		need(c.Rows.Table, s.rows, c.Rows.Status.Column)
	}
	for _, text := range c.Cache {
		if t, err := adopt.ParseTemplate(text); err == nil {
			need(c.Rows.Table, s.rows, t.Columns()...)
		}
	}
	if c.Contents != nil {
		need(c.Contents.Table, s.contents, c.Contents.Key, c.Contents.Count)
		if t, err := adopt.ParseTemplate(c.Contents.Object); err == nil {
			need(c.Contents.Table, s.contents, t.Columns()...)
		}
	}
	return errors.Join(errs...)
}
