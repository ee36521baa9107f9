package sqladopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
)

// shape is the tables of a collection.
type shape struct {
	rows, contents relation
	end, initiated instants
	// others are the foreign keys to contents besides that of the rows.
	others []reference
}

// Collection reads the tables of a collection and prepares its statements. Its
// error names every column that is missing or of the wrong type.
func (db *DB) Collection(ctx context.Context, name string, c adopt.Collection) (*Collection, error) {
	var s shape
	var w words
	m := prepared{c: c}
	err := db.readOn(ctx, db.runner, "look at the tables of "+name, func(t *tx) (err error) {
		// Before all else: a change in between is seen later.
		if m.fingerprint, err = db.engine.fingerprint(t, c); err != nil {
			return err
		}
		if s, err = db.shape(t, c); err == nil {
			w, err = db.wordsOf(c, &s)
		}
		return err
	})
	if wrong := new(misfit); errors.As(err, wrong) {
		err = *wrong
	}
	if err != nil {
		return nil, fmt.Errorf("collection %s: %w", name, db.withGrants(ctx, needsOf(c), err))
	}
	own := db.scope(name, c, w)
	own.place, own.key = s.rows.place, c.Rows.Key
	own.prepared = &m
	for _, r := range s.others {
		own.needs.tables = append(own.needs.tables, need{r.name(), changed[:1]})
	}
	return &Collection{own, c, &s, ""}, nil
}

// misfit is an error that says by itself what of the description does not fit the
// tables.
type misfit struct{ error }

// Unwrap implements errors.Is.
func (m misfit) Unwrap() error { return m.error }

// noTable is the misfit of a description that names a table which does not exist.
func noTable(format string, args ...any) error { return misfit{fmt.Errorf(format, args...)} }

// shape reads the tables of a collection, and refuses what cannot be adopted.
func (db *DB) shape(t *tx, c adopt.Collection) (s shape, err error) {
	if s.rows, err = db.engine.look(t, c.Rows.Table); err != nil {
		return s, err
	}
	if c.Contents != nil {
		if s.contents, err = db.engine.look(t, c.Contents.Table); err != nil {
			return s, err
		}
		columns, err := db.engine.references(t, c)
		if err != nil {
			return s, err
		}
		s.others = others(c, columns)
	}
	if err := cmp.Or(missing(c, &s), unfit(c, &s)); err != nil {
		return s, misfit{err}
	}
	if err := cascading(t, c, &s); err != nil {
		return s, err
	}
	if s.end, err = db.engine.instants(t, c.Rows.Table, s.rows.columns[c.Rows.End], c.Rows); err == nil && c.Rows.Status != nil {
		s.initiated, err = db.engine.instants(t, c.Rows.Table, s.rows.columns[c.Rows.Initiated], c.Rows)
	}
	if err != nil {
		return s, misfit{err}
	}
	return s, nil
}

// cascading returns an error if contents go with rows by a foreign key: nothing would name
// their objects then.
func cascading(t *tx, c adopt.Collection, s *shape) error {
	if c.Contents == nil || c.Rows.Status != nil && c.Rows.Status.Deleted != "" {
		return nil
	}
	below, err := tablesBelow(t, s.rows.place)
	if err == nil && slices.ContainsFunc(below, func(place string) bool { return strings.EqualFold(place, s.contents.place) }) {
		err = misfit{fmt.Errorf("rows of %s go with those of %s by a foreign key with ON DELETE CASCADE, and their objects would be forgotten: make it SET NULL or RESTRICT, or let %[1]s be rows with objects",
			c.Contents.Table, c.Rows.Table)}
	}
	return err
}

// missing returns an error with the missing columns.
func missing(c adopt.Collection, s *shape) error {
	var errs []error
	need := func(table string, have map[string]column, names ...string) {
		for _, n := range names {
			if _, ok := have[n]; n != "" && !ok {
				errs = append(errs, fmt.Errorf("table %s has no column %s: it has %s", table, n, strings.Join(slices.Sorted(maps.Keys(have)), ", ")))
			}
		}
	}
	need(c.Rows.Table, s.rows.columns, c.Rows.Key, c.Rows.End, c.Rows.Initiated, c.Rows.Content)
	if c.Rows.Status != nil {
		need(c.Rows.Table, s.rows.columns, c.Rows.Status.Column)
	}
	for _, text := range slices.Concat(c.Cache, c.Rows.Objects) {
		if t, err := adopt.ParseTemplate(text); err == nil {
			need(c.Rows.Table, s.rows.columns, t.Columns()...)
		}
	}
	if c.Contents != nil {
		need(c.Contents.Table, s.contents.columns, c.Contents.Key, c.Contents.Count)
		if t, err := adopt.ParseTemplate(c.Contents.Object); err == nil {
			need(c.Contents.Table, s.contents.columns, t.Columns()...)
		}
	}
	return errors.Join(errs...)
}

// unfit returns an error with what columns lack. A key that is not unique would
// remove live rows as well.
func unfit(c adopt.Collection, s *shape) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	key := func(table string, k column) {
		switch {
		case k.noKey != "":
			bad("column %s of %s is of type %s: keys are %s", k.name, table, k.kind, k.noKey)
		case k.folding:
			bad("column %s of %s has a collation to which different texts are equal: a key needs one that is deterministic", k.name, table)
		case !k.unique || !k.notNull:
			bad("column %s of %s is no key: it needs NOT NULL, and a unique index of its own without a condition, which is not DEFERRABLE", k.name, table)
		}
	}
	key(c.Rows.Table, s.rows.columns[c.Rows.Key])
	if k := s.rows.columns[c.Rows.Initiated]; k.coarse {
		bad("column %s is a %s, which is too coarse for the time of a claim: make it a timestamp", k.name, k.kind)
	}
	for _, k := range s.rows.columns {
		if k.cascades && len(c.Rows.Objects) > 0 {
			bad("the foreign key of %s.%s changes or removes rows past every trigger (CASCADE or SET NULL), and what they own would be forgotten: make it RESTRICT", c.Rows.Table, k.name)
		}
	}
	for _, text := range c.Rows.Objects {
		errs = append(errs, fickle(c.Rows.Table, text, s.rows)...)
	}
	if c.Contents != nil {
		k, named := s.contents.columns[c.Contents.Key], s.rows.columns[c.Rows.Content]
		key(c.Contents.Table, k)
		if named.folding || named.base != k.base {
			bad("column %s of %s is not of the type of %s, which it names: %s and %s, with collations that are deterministic",
				named.name, c.Rows.Table, k.name, named.kind, k.kind)
		}
		if st := c.Rows.Status; st != nil && st.Deleted != "" && named.notNull {
			bad("column %s of %s is NOT NULL: a row that is kept as %s cannot let go of its content", named.name, c.Rows.Table, st.Deleted)
		}
	}
	return errors.Join(append(errs, unfitContents(c, s)...)...)
}

// fickle returns an error for each column of a template whose text may be another to a guard
// than to Lethe.
func fickle(table, template string, of relation) (errs []error) {
	t, _ := adopt.ParseTemplate(template) // Parse has refused it
	for _, name := range t.Columns() {
		if k := of.columns[name]; k.fickle {
			errs = append(errs, fmt.Errorf("column %s of %s is of type %s, whose text depends on settings of the session: keys of objects need a column of text", name, table, k.kind))
		}
	}
	return errs
}

// unfitContents returns an error for what would let two contents share an
// object, or a reference be overlooked: an object in use would be deleted.
func unfitContents(c adopt.Collection, s *shape) (errs []error) {
	if c.Contents == nil {
		return nil
	}
	t, err := adopt.ParseTemplate(c.Contents.Object)
	if err != nil {
		return nil // Parse has refused it
	}
	unique := false
	for _, name := range t.Columns() {
		col := s.contents.columns[name]
		unique = unique || col.unique && !col.folding
		if !col.notNull {
			errs = append(errs, fmt.Errorf("column %s of %s may be NULL, and names the object: it needs NOT NULL", name, c.Contents.Table))
		}
	}
	for _, l := range t.Literals()[1:len(t.Columns())] {
		unique = unique && l != "" // {a}{b} are equal for "x", "yz" and "xy", "z"
	}
	if !unique {
		errs = append(errs, fmt.Errorf("two rows of %s may have the object %s: a column in it needs a unique index, or the object of one would go with the other",
			c.Contents.Table, c.Contents.Object))
	}
	errs = append(errs, fickle(c.Contents.Table, c.Contents.Object, s.contents)...)
	return append(errs, unfitReferences(c, s)...)
}
