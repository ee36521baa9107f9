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
	base    string // its type without length and domain
	// unique: an index holds each value once. folding: values that are equal need not be
	// written alike.
	unique, folding bool
}

// shape is the columns of a collection's tables, by name.
type shape struct {
	rows, contents map[string]column
	// place is the table of contents with its schema.
	place string
	// others are the columns, with their tables, that refer to contents beside rows'.
	others []string
}

const tableColumns = `SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
		format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL),
		EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid
			AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
		EXISTS (SELECT 1 FROM pg_collation l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic)
	FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = to_regclass(?1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// otherReferences are foreign keys to the contents that the description does not name.
const otherReferences = `SELECT CAST(CAST(k.conrelid AS regclass) AS TEXT) || '.' || a.attname FROM pg_constraint k
	JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
	WHERE k.contype = 'f' AND k.confrelid = to_regclass(?1) AND NOT (k.conrelid = to_regclass(?2) AND a.attname = ?3)
	AND k.conparentid = 0 ORDER BY 1`

const qualified = `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c
	JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(?1)`

// relatives tells whether a table is a part of another, and whether other tables inherit
// from it that are no partitions: its triggers and unique indexes do not hold for those.
const relatives = `SELECT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(?1)),
	EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class k ON k.oid = i.inhrelid WHERE i.inhparent = to_regclass(?1) AND NOT k.relispartition)`

func (t *tx) columns(name string) (map[string]column, error) {
	list, err := all(t, func(r *sql.Rows) (c column, err error) {
		err = r.Scan(&c.name, &c.kind, &c.notNull, &c.base, &c.unique, &c.folding)
		return c, err
	}, tableColumns, table(name))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no table %s, or its user may not see it", name)
	}
	var part, parent bool
	switch err := t.row(relatives, table(name)).Scan(&part, &parent); {
	case err != nil:
		return nil, err
	case part:
		return nil, fmt.Errorf("table %s is a part of another, whose other parts may refer to the same objects: name the whole", name)
	case parent:
		return nil, fmt.Errorf("other tables inherit from %s: its keys are not unique among their rows, and a guard does not see those; only partitions can be adopted", name)
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
			if s.others, err = all(t, text, otherReferences, table(c.Contents.Table), table(c.Rows.Table), c.Rows.Content); err != nil {
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
	if err := unfit(c, &s); err != nil {
		return nil, fmt.Errorf("collection %s: %w", name, err)
	}
	w, err := wordsOf(c, &s)
	if err != nil {
		return nil, fmt.Errorf("collection %s: %w", name, err)
	}
	return &Collection{db.scope(name, c.Prefix, w), c, c.Graces()}, nil
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
	for _, text := range slices.Concat(c.Cache, c.Rows.Objects) {
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

// keyTypes are those whose values are equal only if their texts are.
var keyTypes = []string{"text", "character varying", "character", "uuid", "smallint", "integer", "bigint", "bytea"}

// sessionTypes are those whose values one session writes unlike another.
var sessionTypes = []string{"date", "timestamp without time zone", "timestamp with time zone", "time with time zone",
	"interval", "money", "real", "double precision"}

// unfit names what the columns do not have that has to be there. A key that is not
// unique would take rows along that have not ended.
func unfit(c adopt.Collection, s *shape) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	key := func(table string, k column) {
		switch {
		case !slices.Contains(keyTypes, k.base):
			bad("column %s of %s is of type %s: keys are %s", k.name, table, k.kind, strings.Join(keyTypes, ", "))
		case k.folding:
			bad("column %s of %s has a collation to which different texts are equal: a key needs one that is deterministic", k.name, table)
		case !k.unique || !k.notNull:
			bad("column %s of %s is no key: it needs NOT NULL, and a unique index of its own without a condition", k.name, table)
		}
	}
	key(c.Rows.Table, s.rows[c.Rows.Key])
	for _, text := range c.Rows.Objects {
		t, _ := adopt.ParseTemplate(text) // Parse has refused it
		for _, name := range t.Columns() {
			if k := s.rows[name]; slices.Contains(sessionTypes, k.base) {
				bad("column %s of %s is of type %s, whose text depends on settings of the session: keys of objects need a column of text", name, c.Rows.Table, k.kind)
			}
		}
	}
	if c.Contents != nil {
		k, named := s.contents[c.Contents.Key], s.rows[c.Rows.Content]
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

// unfitContents names what would let two contents have one object, or a reference be
// overlooked: the object of a content that is still used would be deleted.
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
		col := s.contents[name]
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
	if c.Contents.Count == "" && len(s.others) > 0 {
		errs = append(errs, fmt.Errorf("%s refers to %s as well, and without a count nobody would look there", strings.Join(s.others, ", "), c.Contents.Table))
	}
	return errs
}
