package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
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
	var layouts []layout
	for _, t := range rest {
		layouts = append(layouts, p.layouts(t)...)
	}
	slices.SortStableFunc(layouts, func(a, b layout) int {
		if a.byKey() != b.byKey() {
			return map[bool]int{true: -1, false: 1}[a.byKey()]
		}
		return b.depth - a.depth
	})
	for _, l := range layouts {
		if slices.Contains(described, l.table.Name) || p.taken(l.prefix) != "" {
			continue
		}
		text += p.folder(l)
		described = append(described, l.table.Name)
	}
	more, also := p.named(slices.DeleteFunc(rest, func(t TableInfo) bool { return slices.Contains(described, t.Name) }))
	return text + more, append(described, also...)
}

// taken returns the prefix of a described collection that meets a prefix, empty
// if there is none.
func (p proposal) taken(prefix string) string {
	for other := range p.prefixes {
		if nested(other, prefix) {
			return other
		}
	}
	return ""
}

// layouts finds segments of keys in columns of a table, in each top folder.
func (p proposal) layouts(t TableInfo) (out []layout) {
	tops := map[string][][]string{}
	for _, key := range p.around.Objects {
		if parts := strings.Split(key, "/"); len(parts) > 2 {
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
		column, matched, of := segmentColumn(t, at, l.columns)
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

// segmentColumn returns the column most of whose values are segments.
func segmentColumn(t TableInfo, at map[string]bool, used []string) (column string, matched, of int) {
	for _, c := range t.Columns {
		n := 0
		for _, v := range c.Values {
			if at[v] {
				n++
			}
		}
		// A single short value, such as a number, is there by chance.
		chance := n == 1 && (len(c.Values) > 1 || len(c.Values[0]) < 4)
		if n*2 < len(c.Values) || n == 0 || chance || slices.Contains(used, c.Name) {
			continue
		}
		if column == "" || n*of > matched*len(c.Values) {
			column, matched, of = c.Name, n, len(c.Values)
		}
	}
	return column, matched, of
}

// collection begins the description of objects that live as long as rows.
func (p proposal) collection(table, kind, prefix string) string {
	if prefix != noFolder {
		p.prefixes[prefix] = true
	}
	return fmt.Sprintf("  %s:\n    kind: %s\n    mode: report                 # then reclaim\n    bucket: main\n    prefix: %-20s # nothing outside of it is looked at\n    %[2]s:\n",
		collectionOf(table), kind, prefix)
}

// collectionOf returns the name of a table's collection.
func collectionOf(table string) string {
	return strings.ToLower(table[strings.LastIndex(table, ".")+1:])
}

const endlessTimes = "      min_age: 1d                # longer than any upload takes until its row commits\n" +
	"      retention: 7d              # how long it is known to have no row before it goes\n"

// folder describes folders that live as long as a row.
func (p proposal) folder(l layout) string {
	return p.collection(l.table.Name, "folders", l.prefix) +
		fmt.Sprintf("      # %s has no end, and %s.\n      # A folder that no row names is marked, and removed after the retention.\n", l.table.Name, l.reason) +
		fmt.Sprintf("      live:\n        table: %s\n        name: %q\n", l.table.Name, l.name) + endlessTimes
}

// naming is columns of tables that name objects below a prefix.
type naming struct {
	tables, queries, reasons, objects []string
}

// named describes objects that live as long as a row names them: one collection
// for all tables whose objects have a prefix in common.
func (p proposal) named(tables []TableInfo) (text string, described []string) {
	var all []naming
	for _, t := range tables {
		for _, k := range p.index.columns(t) {
			n := naming{[]string{t.Name}, []string{keyQuery(t.Name, k.template)}, []string{t.Name + "." + k.column + ": " + k.reason}, k.objects}
			at := slices.IndexFunc(all, func(o naming) bool { return nested(commonFolder(o.objects), commonFolder(k.objects)) })
			if at < 0 {
				all = append(all, n)
				continue
			}
			o := &all[at]
			o.tables, o.queries = append(o.tables, n.tables...), append(o.queries, n.queries...)
			o.reasons, o.objects = append(o.reasons, n.reasons...), append(o.objects, n.objects...)
		}
	}
	for _, n := range all {
		prefix := commonFolder(n.objects)
		described = append(described, n.tables...)
		if other := p.taken(prefix); other != "" {
			text += fmt.Sprintf("  # %s. They lie below %s, beside or in what the collection\n  # of %s has: leave them to it, or describe them by kind keys in a file of its own (docs/adopting-keys.md).\n",
				strings.Join(n.reasons, "; "), prefix, other)
			continue
		}
		text += p.collection(n.tables[0], "keys", prefix) +
			"      # No column says when these rows end: an object lives as long as a row names it.\n" +
			"      # " + strings.Join(n.reasons, "; ") + ".\n" +
			"      # What the query leaves out counts as an orphan: does another table name objects there?\n" +
			"      query: " + strings.Join(n.queries, " UNION ALL ") + "\n" + endlessTimes
	}
	return text, described
}

// keyQuery returns a query of the keys that a template gives.
func keyQuery(table, template string) string {
	t, err := ParseTemplate(template)
	if err != nil {
		return ""
	}
	var parts []string
	for i, l := range t.Literals() {
		if l != "" {
			parts = append(parts, "'"+strings.ReplaceAll(l, "'", "''")+"'")
		}
		if i < len(t.Columns()) {
			parts = append(parts, identifier(t.Columns()[i]))
		}
	}
	return "SELECT " + strings.Join(parts, " || ") + " FROM " + identifier(strings.Split(table, ".")...)
}

var plainIdentifier = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// identifier returns a name as SQL has it.
func identifier(parts ...string) string {
	for i, p := range parts {
		if !plainIdentifier.MatchString(p) {
			parts[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
		}
	}
	return strings.Join(parts, ".")
}
