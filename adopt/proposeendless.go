package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// layout is how rows of a table name folders.
type layout struct {
	table        TableInfo
	prefix, name string // a template of names below the prefix
	depth        int
	columns      []string
	reason       string
}

// byKey reports whether the columns are those of the table's primary key.
func (l layout) byKey() bool {
	return slices.Equal(slices.Sorted(slices.Values(l.columns)), slices.Sorted(slices.Values(l.table.Key)))
}

// mayReferTo reports whether the columns refer to rows of another layout, or may: they have no
// sampled value that its own have not.
func (l layout) mayReferTo(of layout) bool {
	if len(l.columns) != len(of.columns) {
		return false
	}
	for i, name := range l.columns {
		if l.table.Refers[name] != of.table.Name && slices.ContainsFunc(l.table.values(name), func(v string) bool {
			return !slices.Contains(of.table.values(of.columns[i]), v)
		}) {
			return false
		}
	}
	return true
}

// names reports whether a key lies in a folder of a sampled row, by each column alone.
func (l layout) names(key string) bool {
	rest, ok := strings.CutPrefix(key, l.prefix)
	parts, name := strings.Split(rest, "/"), strings.Split(l.name, "/")
	if !ok || len(parts) <= len(name) {
		return false
	}
	for i, part := range name {
		column, ends := strings.CutPrefix(part, "{")
		if !ends && part != parts[i] || ends && !slices.Contains(l.table.values(strings.TrimSuffix(column, "}")), parts[i]) {
			return false
		}
	}
	return true
}

// values returns the sampled values of a column.
func (t TableInfo) values(column string) []string {
	for _, c := range t.Columns {
		if c.Name == column {
			return c.Values
		}
	}
	return nil
}

// endless describes tables without an end whose rows name folders or objects:
// these live as long as the rows. It returns the described tables.
func (p proposal) endless(tables []TableInfo) (text string, described []string) {
	var rest []TableInfo
	contents := map[string]bool{}
	for _, t := range tables {
		if t.end() != "" {
			for _, to := range t.Refers {
				contents[to] = true
			}
		}
	}
	for _, t := range tables {
		if t.end() == "" && !contents[t.Name] {
			rest = append(rest, t)
		}
	}
	var layouts, every []layout
	for _, t := range tables {
		found := p.layouts(t)
		every = append(every, found...)
		if t.end() == "" && !contents[t.Name] {
			layouts = append(layouts, found...)
		}
	}
	slices.SortStableFunc(layouts, func(a, b layout) int {
		if a.byKey() != b.byKey() {
			return map[bool]int{true: -1, false: 1}[a.byKey()]
		}
		return b.depth - a.depth
	})
	for _, l := range layouts {
		if slices.Contains(described, l.table.Name) || p.collectionAt(l.prefix) != "" {
			continue
		}
		list := []layout{l}
		for _, o := range every {
			if o.table.Name != l.table.Name && o.prefix == l.prefix && o.depth == l.depth && (o.byKey() || !o.mayReferTo(l)) {
				list = append(list, o)
			}
		}
		text += p.folder(list, tables)
		for _, o := range list {
			described = append(described, o.table.Name)
		}
	}
	more, also := p.named(slices.DeleteFunc(rest, func(t TableInfo) bool { return slices.Contains(described, t.Name) }), tables)
	return text + more, append(described, also...)
}

// collectionAt returns the described collection whose prefix meets a prefix, empty if there is
// none.
func (p proposal) collectionAt(prefix string) string {
	if prefix == "" || prefix == noFolder {
		return ""
	}
	for _, other := range slices.Sorted(maps.Keys(p.prefixes)) {
		if nested(other, prefix) {
			return p.prefixes[other]
		}
	}
	return ""
}

// layouts finds segments of keys in columns of a table, in each top folder.
func (p proposal) layouts(t TableInfo) (out []layout) {
	tops := map[string][][]string{}
	for _, key := range p.options.Objects {
		if parts := strings.Split(key, "/"); len(parts) > 2 && !hasHole(key) {
			tops[parts[0]] = append(tops[parts[0]], parts)
		}
	}
	for _, top := range slices.Sorted(maps.Keys(tops)) {
		if l, ok := layoutOf(t, tops[top]); ok {
			out = append(out, l)
		}
	}
	return out
}

// layoutOf returns how a table names the folders of keys that begin alike. A
// segment is a column, or the same in all keys.
func layoutOf(t TableInfo, keys [][]string) (l layout, ok bool) {
	l.table = t
	parts, first, last := []string{keys[0][0]}, 0, 0
	var reasons []string
	for i := 1; ; i++ {
		at := map[string]bool{}
		for _, key := range keys {
			if len(key) > i+1 {
				at[key[i]] = true
			}
		}
		column, matched, of := segmentColumn(t, segments{at, dated(keys, i-1)}, l.columns)
		if column == "" && len(at) != 1 {
			break
		}
		if column == "" {
			parts = append(parts, slices.Collect(maps.Keys(at))[0])
			continue
		}
		parts, l.columns, last = append(parts, "{"+column+"}"), append(l.columns, column), i
		first = cmp.Or(first, i)
		reasons = append(reasons, fmt.Sprintf("%d of %d sampled values of %s are folders there", matched, of, column))
	}
	if last == 0 {
		return l, false
	}
	l.prefix, l.name = strings.Join(parts[:first], "/")+"/", strings.Join(parts[first:last+1], "/")
	l.depth, l.reason = last+1-first, strings.Join(reasons, ", ")
	return l, true
}

// segments are what keys have at one place. dated: below a year or a month.
type segments struct {
	of    map[string]bool
	dated bool
}

var dateParts = regexp.MustCompile(`^((19|20)[0-9]{2}|0?[1-9]|1[0-2])$`)

// dated reports whether a segment of all keys looks like a year or a month.
func dated(keys [][]string, at int) bool {
	return !slices.ContainsFunc(keys, func(key []string) bool { return len(key) > at+1 && !dateParts.MatchString(key[at]) })
}

// days reports whether the segments are months or days of a date rather than numbers of rows.
func (s segments) days() bool {
	for segment := range s.of {
		if n, err := strconv.Atoi(segment); err != nil || n > 31 {
			return false
		}
	}
	return s.dated
}

// segmentColumn returns the column most of whose values are segments.
func segmentColumn(t TableInfo, at segments, used []string) (column string, matched, of int) {
	for _, c := range t.Columns {
		values := set(c.Values)
		n := 0
		for v := range values {
			if at.of[v] {
				n++
			}
		}
		if n*2 < len(values) || n == 0 || byChance(values, at, n) || slices.Contains(used, c.Name) || hasHole(c.Name) {
			continue
		}
		if column == "" || n*of > matched*len(values) {
			column, matched, of = c.Name, n, len(values)
		}
	}
	return column, matched, of
}

// byChance reports whether n of a column's values may be segments by chance: a single short one,
// numbers among the parts of hashes by which keys are spread over folders, or those of dates. Where
// numbers of a place have zeros before them, those of rows have them, too.
func byChance(values map[string]bool, at segments, n int) bool {
	numbers, filled, ownFilled := 0, false, false
	for segment := range at.of {
		if wholeNumber.MatchString(segment) {
			numbers++
		}
		zero := len(segment) > 1 && segment[0] == '0'
		filled, ownFilled = filled || zero, ownFilled || zero && values[segment]
	}
	ofRows := numbers*10 >= len(at.of)*9 && !at.days() && (!filled || ownFilled)
	for v := range values {
		switch {
		case n == 1 && (len(values) > 1 || len(v) < 4):
			return true
		case at.of[v] && (!wholeNumber.MatchString(v) || ofRows):
			return false
		}
	}
	return true
}

var wholeNumber = regexp.MustCompile(`^[0-9]+$`)

// alive begins the description of objects that live as long as rows.
func (p proposal) alive(table, kind, prefix string) string {
	name := p.collection(table)
	return fmt.Sprintf("  %s:\n    kind: %s\n    mode: report                 # then reclaim\n    bucket: main\n%s    %[2]s:\n",
		name, kind, p.prefix(name, prefix, "nothing outside of it is looked at"))
}

const endlessTimes = "      min_age: 1d                # longer than any upload takes until its row commits\n" +
	"      retention: 7d              # how long it is known to have no row before it goes\n"

// folder describes folders that live as long as a row of the first table, or of
// others whose keys name folders there as well: any of them may be the one.
func (p proposal) folder(list []layout, tables []TableInfo) string {
	l := list[0]
	live := fmt.Sprintf("        table: %s\n        name: %q\n", scalar(l.table.Name), l.name)
	depth := ""
	if len(list) > 1 {
		var queries []string
		live = ""
		for i, o := range list {
			queries = append(queries, strings.Replace(o.table.keyQuery(o.name), "SELECT ", "SELECT '' || ", 1)) // texts, whatever their types
			if i > 0 {
				live += fmt.Sprintf("        # %s: %s, too. Leave it out only if these are not folders of its rows.\n", comment(o.table.Name), comment(o.reason))
			}
		}
		live += "        query: " + scalar(strings.Join(queries, " UNION ALL ")) + "\n"
		depth = fmt.Sprintf("      depth: %d\n", l.depth)
	}
	leftOut := p.hiddenBelow(tables, func(h hiddenColumn) string {
		elsewhere, named := "", 0
		for _, key := range h.keys {
			switch {
			case slices.ContainsFunc(list, func(o layout) bool { return o.names(key) }):
				named++
			case strings.HasPrefix(key, l.prefix):
				elsewhere = cmp.Or(elsewhere, key)
			}
		}
		if h.spread && named*2 > len(h.keys) { // the rows that are not sampled have the folders of the others
			return ""
		}
		return elsewhere
	}, "no sampled row names their folders", "let a query return these, too, with the depth of their names (docs/adopting-folders.md)")
	of := "      live:\n" + live
	if leftOut != "" {
		of = "      # " + strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(of, "      "), "\n"), "\n      ", "\n      # ") + "\n"
	}
	return p.alive(l.table.Name, "folders", l.prefix) +
		fmt.Sprintf("      # %s has no end, and %s.\n      # A folder that no row names is marked, and removed after the retention.\n", comment(l.table.Name), comment(l.reason)) +
		leftOut + depth + of + endlessTimes
}

// naming is objects below a prefix that columns of tables name.
type naming struct {
	tables, reasons, objects []string
}

// grouped adds a naming to those of other prefixes, joined with each whose prefix
// meets its own.
func grouped(all []naming, n naming) []naming {
	for at := 0; at < len(all); {
		o := all[at]
		if !nested(commonFolder(o.objects), commonFolder(n.objects)) {
			at++
			continue
		}
		n = naming{slices.Concat(o.tables, n.tables), slices.Concat(o.reasons, n.reasons), slices.Concat(o.objects, n.objects)}
		all, at = slices.Delete(all, at, at+1), 0
	}
	return append(all, n)
}

// named describes objects that live as long as a row names them: one collection
// for all tables of rest whose objects have a prefix in common. Its query has what
// any table names there, as what it leaves out counts as an orphan.
func (p proposal) named(rest, tables []TableInfo) (text string, described []string) {
	var all []naming
	for _, t := range rest {
		for _, k := range p.index.columns(t) {
			all = grouped(all, naming{[]string{t.Name}, []string{comment(t.Name + "." + k.column + ": " + k.reason)}, k.objects})
		}
	}
	for _, n := range all {
		prefix := commonFolder(n.objects)
		described = append(described, n.tables...)
		if other := p.collectionAt(prefix); other != "" {
			text += fmt.Sprintf("  # %s. They lie below %s, beside or in what the collection\n  # of %s has: leave them to it if no row here needs what it deletes, or describe them by kind keys in a file of its own (docs/adopting-keys.md).\n",
				strings.Join(n.reasons, "; "), comment(prefix), other)
			continue
		}
		queries, reasons, seen := p.index.namers(tables, prefix)
		leftOut := p.hiddenBelow(tables, func(h hiddenColumn) string {
			for _, key := range h.keys { // what is named already is no reason to ask
				if !seen[key] && (prefix == noFolder || strings.HasPrefix(key, prefix)) {
					return key
				}
			}
			return ""
		}, "the query leaves these out", "add their keys before you use it (docs/adopting-keys.md)")
		line := "      query: "
		if leftOut != "" { // the file does not load before somebody has completed the query
			line = "      # query: "
		}
		text += p.alive(n.tables[0], "keys", prefix) +
			"      # No column says when these rows end: an object lives as long as a row names it.\n" +
			"      # " + strings.Join(reasons, "; ") + ".\n" +
			"      # What the query leaves out counts as an orphan: does another table name objects there, or a key have another ending?\n" +
			leftOut + line + scalar(strings.Join(queries, " UNION ALL ")) + "\n" + endlessTimes
	}
	return text, described
}

// hiddenBelow returns comments on columns that name keys, though nobody has found out how, of which
// lacking returns one that a description leaves out, with what it lacks and the remedy.
func (p proposal) hiddenBelow(tables []TableInfo, lacking func(hiddenColumn) string, lacks, remedy string) (text string) {
	for _, t := range tables {
		for _, h := range p.index.hiddenColumns(t) {
			key := lacking(h)
			if key == "" {
				continue
			}
			p.hidden[h.column] = true
			text += fmt.Sprintf("      # %s (%s): %s.\n", h.says, comment(key), lacks)
		}
	}
	if text != "" {
		text += "      # Their objects would be deleted: " + remedy + ".\n"
	}
	return text
}

// namers returns queries of all columns of which a sampled value names a key below
// a prefix, one for each form of the key, and the reasons. A part of a key is left
// out if others name the same keys. seen has those.
func (x objectIndex) namers(tables []TableInfo, prefix string) (queries, reasons []string, seen map[string]bool) {
	seen = map[string]bool{}
	for _, whole := range []bool{true, false} {
		for _, t := range tables {
			for _, c := range t.Columns {
				forms := x.forms(t, c, prefix)
				for _, form := range slices.Sorted(maps.Keys(forms)) {
					keys := forms[form]
					known := !slices.ContainsFunc(keys, func(key string) bool { return !seen[key] })
					if (form == "{"+c.Name+"}") != whole || !whole && known {
						continue
					}
					for _, key := range keys {
						seen[key] = true
					}
					query := t.keyQuery(form)
					if whole && prefix != noFolder && slices.ContainsFunc(c.Values, func(v string) bool { return !strings.HasPrefix(v, prefix) }) {
						query += fmt.Sprintf(" WHERE substr(%s, 1, %d) = %s", t.text(c.Name), utf8.RuneCountInString(prefix), literal(prefix))
					}
					if strings.HasSuffix(form, "/{"+c.Name+"}") && emptyKinds.MatchString(c.Kind) { // of no file, to many programs
						query += " WHERE " + t.text(c.Name) + " <> ''"
					}
					queries = append(queries, query)
					reasons = append(reasons, fmt.Sprintf("%s: %d of %d sampled values name keys in the bucket%s", comment(t.Name+"."+c.Name), len(keys), len(c.Values), comment(t.unsure(form, c.Name))))
				}
			}
		}
	}
	return queries, reasons, seen
}

// emptyKinds matches the types whose values may be empty.
var emptyKinds = regexp.MustCompile(`char|text`)

// keyQuery returns a query of the keys that a template gives.
func (t TableInfo) keyQuery(template string) string {
	of, err := ParseTemplate(template)
	if err != nil {
		return ""
	}
	var parts []string
	for i, l := range of.Literals() {
		if l != "" {
			parts = append(parts, literal(l))
		}
		if i < len(of.Columns()) {
			parts = append(parts, t.text(of.Columns()[i]))
		}
	}
	return "SELECT " + strings.Join(parts, " || ") + " FROM " + Identifier(strings.Split(t.Name, ".")...)
}

// text returns the expression of a column's values as they were sampled: MariaDB's binary ones,
// and SQLite's blobs, in hexadecimal.
func (t TableInfo) text(column string) string {
	binary := slices.ContainsFunc(t.Columns, func(c ColumnInfo) bool { return c.Name == column && strings.HasSuffix(c.Kind, "binary") })
	if binary {
		return "lower(hex(" + Identifier(column) + "))"
	}
	return Identifier(column)
}
