package sqladopt

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// reference is a foreign key to contents.
type reference struct {
	table string // quoted
	pairs []pair
	// above are the tables that it inherits from: a query of one reads its rows as well.
	above []string
	// part: it refers to a partition of the contents.
	part bool
}

// pair is a column of a foreign key and the one that it refers to.
type pair struct{ column, to string }

// keyColumn is a pair of a foreign key in the catalog. key identifies the foreign key in
// its table.
type keyColumn struct {
	reference
	whose, key string
}

// scanKeyColumn scans whose table it is ("rows", "contents" or ""), the table, the foreign
// key, the pair, whether it refers to a partition, and a JSON list of the tables above.
func scanKeyColumn(r *sql.Rows) (k keyColumn, err error) {
	var p pair
	var above string
	if err := r.Scan(&k.whose, &k.table, &k.key, &p.column, &p.to, &k.part, &above); err != nil {
		return k, err
	}
	k.pairs = []pair{p}
	return k, json.Unmarshal([]byte(above), &k.above)
}

// own is the reference that the description names.
func own(c adopt.Collection) reference {
	return reference{table: table(c.Rows.Table), pairs: []pair{{c.Rows.Content, c.Contents.Key}}}
}

// references are all by which something refers to contents: whatever a count says, what one
// of them names stays.
func (s *shape) references(c adopt.Collection) []reference {
	return append([]reference{own(c)}, s.others...)
}

// others returns the foreign keys to contents by which references besides that of the rows
// are counted, from their columns in the order of tables, foreign keys and columns.
func others(c adopt.Collection, columns []keyColumn) []reference {
	var keys []reference
	for i, k := range columns {
		switch k.whose {
		case "rows":
			k.table = table(c.Rows.Table)
		case "contents":
			k.table = table(c.Contents.Table)
		}
		if i > 0 && columns[i-1].key == k.key && keys[len(keys)-1].table == k.table {
			last := &keys[len(keys)-1]
			last.pairs = append(last.pairs, k.pairs...)
			continue
		}
		keys = append(keys, k.reference)
	}
	// One that covers another comes before it.
	slices.SortStableFunc(keys, func(a, b reference) int {
		return cmp.Or(cmp.Compare(len(a.pairs), len(b.pairs)), cmp.Compare(len(a.above), len(b.above)))
	})
	kept := []reference{own(c)}
	for _, k := range keys {
		if !slices.ContainsFunc(kept, func(r reference) bool { return r.covers(k) }) {
			kept = append(kept, k)
		}
	}
	return kept[1:]
}

// covers reports whether each row that refers to a content by another foreign key does so
// by this one: it is of the same table, or of one above, and all its columns are among the
// other's.
func (r reference) covers(other reference) bool {
	return (r.table == other.table || slices.Contains(other.above, r.table)) &&
		!slices.ContainsFunc(r.pairs, func(p pair) bool { return !slices.Contains(other.pairs, p) })
}

// names returns the condition that the row r refers to the content c. A content
// that refers to itself keeps no object.
func (r reference) names(c adopt.Collection) string {
	var parts []string
	for _, p := range r.pairs {
		parts = append(parts, fmt.Sprintf("c.%s = r.%s", sqldb.Quoted(p.to), sqldb.Quoted(p.column)))
	}
	if key := sqldb.Quoted(c.Contents.Key); r.table == table(c.Contents.Table) {
		parts = append(parts, fmt.Sprintf("c.%s <> r.%s", key, key))
	}
	return strings.Join(parts, " AND ")
}

// exists returns the condition that a row refers to the content c.
func (r reference) exists(c adopt.Collection) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s r WHERE %s)", r.table, r.names(c))
}

// columns returns the columns, quoted.
func (r reference) columns() string {
	var names []string
	for _, p := range r.pairs {
		names = append(names, sqldb.Quoted(p.column))
	}
	return strings.Join(names, ", ")
}

// name returns the name of the table.
func (r reference) name() string { return strings.ReplaceAll(r.table, `"`, "") }

// String implements fmt.Stringer.
func (r reference) String() string {
	columns := strings.ReplaceAll(r.columns(), `"`, "")
	if len(r.pairs) > 1 {
		return r.name() + " (" + columns + ")"
	}
	return r.name() + "." + columns
}

// joined lists references.
func joined(list []reference) string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.String()
	}
	return strings.Join(names, ", ")
}

// unfitReferences returns an error for foreign keys that contradict the description, or by
// which references cannot be looked up.
func unfitReferences(c adopt.Collection, s *shape) (errs []error) {
	for _, r := range s.others {
		for _, p := range r.pairs {
			if r.table == table(c.Rows.Table) && p.column == c.Rows.Content {
				errs = append(errs, fmt.Errorf("column %s of %s refers to %s of %s by a foreign key, and contents.key is %s: correct contents.key, or rows.content",
					p.column, c.Rows.Table, p.to, c.Contents.Table, c.Contents.Key))
			}
		}
		if r.part && !slices.ContainsFunc(r.pairs, func(p pair) bool { return p.to == c.Contents.Key }) {
			errs = append(errs, fmt.Errorf("%s refers to one partition of %s, by columns that need not be unique in others: let the foreign key name %s, or its column %s",
				r, c.Contents.Table, c.Contents.Table, c.Contents.Key))
		}
	}
	if c.Contents.Count == "" && len(s.others) > 0 {
		refers := "refers"
		if len(s.others) > 1 {
			refers = "refer"
		}
		errs = append(errs, fmt.Errorf("%s %s to %s as well, and without a count nobody would look there", joined(s.others), refers, c.Contents.Table))
	}
	return errs
}
