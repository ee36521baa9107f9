package adopt

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// spread is how keys that end in a column's values are spread over folders: where each row has
// another folder, the sampled ones are none of a template's.
type spread struct {
	of     map[int][]string // by the depth: what each segment is, a text or a column in braces
	unlike map[int]bool     // the depths at which a segment differs, and no column has it
	such   []string         // keys of those
}

// mostFolders is how many folders of one depth are taken for those of kinds of objects, such as
// originals and thumbnails, where no column has them.
const mostFolders = 3

// spread looks for the columns that have the folders of keys that end in a column's values.
func (x objectIndex) spread(t TableInfo, c ColumnInfo) spread {
	folders := map[int]map[string]string{} // by the depth, with a key of each
	for _, v := range c.Values {
		for _, key := range x[v] {
			if before, _, ok := cutLast(key, v); ok && before != "" {
				depth := strings.Count(before, "/")
				if folders[depth] == nil {
					folders[depth] = map[string]string{}
				}
				folders[depth][before] = key
			}
		}
	}
	out := spread{map[int][]string{}, map[int]bool{}, nil}
	for _, depth := range slices.Sorted(maps.Keys(folders)) {
		at := folders[depth]
		for i := range depth {
			segments := map[string]bool{}
			for folder := range at {
				segments[strings.Split(folder, "/")[i]] = true
			}
			column, candidates := t.segment(segments, c.Name)
			if len(segments) > 1 && (candidates > 1 || candidates == 0 && len(at) > mostFolders) {
				out.unlike[depth] = true
			}
			out.of[depth] = append(out.of[depth], column)
		}
		if out.unlike[depth] {
			for _, folder := range slices.Sorted(maps.Keys(at)) {
				out.such = append(out.such, at[folder])
			}
		}
	}
	return out
}

// referring matches columns that are numbers of rows by their names.
var referring = regexp.MustCompile(`(^(?i:id)|_(?i:id)|[a-z]I[dD])$`)

// refers reports whether a column has the numbers of rows, by more than its values: small numbers
// occur everywhere.
func (t TableInfo) refers(column string) bool {
	return t.Refers[column] != "" || slices.Contains(t.Key, column) || referring.MatchString(column)
}

// unsure asks about the columns of a template, besides one, that are in it by their values alone.
func (t TableInfo) unsure(template, besides string) (text string) {
	of, err := ParseTemplate(template)
	if err != nil {
		return ""
	}
	for _, name := range of.Columns() {
		if name != besides && !t.refers(name) && !endingNames.MatchString(name) {
			text += ", with " + name + " by its values alone: is it right?"
		}
	}
	return text
}

// segment returns the column in braces that has at least half of the segments at one place of keys,
// and how many columns do: which is meant is known only of one. Those that refer to rows come first.
func (t TableInfo) segment(segments map[string]bool, besides string) (column string, candidates int) {
	if len(segments) < 2 {
		return "", 0
	}
	var sure, others []string
	for _, c := range t.Columns {
		n := 0
		for v := range set(c.Values) {
			if segments[v] {
				n++
			}
		}
		switch {
		case c.Name == besides || n < 2 || n*2 < len(segments) || hasHole(c.Name):
		case t.refers(c.Name):
			sure = append(sure, c.Name)
		default:
			others = append(others, c.Name)
		}
	}
	if len(sure) == 0 {
		sure = others
	}
	if len(sure) == 1 {
		column = "{" + sure[0] + "}"
	}
	return column, len(sure)
}

// template returns what precedes a column's value in a template; known is false if that is one
// row's alone.
func (s spread) template(before string) (template string, known bool) {
	depth := strings.Count(before, "/")
	if s.unlike[depth] {
		return "", false
	}
	segments := strings.Split(before, "/")
	for i, column := range s.of[depth] {
		if column != "" {
			segments[i] = column
		}
	}
	return strings.Join(segments, "/"), true
}

// hiddenColumn is a column whose values are a part of keys that no template has, or have keys
// inside of them.
type hiddenColumn struct {
	column     string // with its table
	says, hint string
	keys       []string
	spread     bool // the keys end in its values
}

// hiddenColumns returns those columns of a table.
func (x objectIndex) hiddenColumns(t TableInfo) (out []hiddenColumn) {
	for _, c := range t.Columns {
		name := t.Name + "." + c.Name
		if such := x.spread(t, c).such; len(such) > 0 && len(x.forms(t, c, noFolder)) == 0 {
			out = append(out, hiddenColumn{name, "Keys end in values of " + comment(name) + ", in folders that no column has",
				"A generated column can have the whole key, or a query of kind keys (docs/adopting-keys.md).", such, true})
		} else if inside := x.inside(c); len(inside) > 0 {
			out = append(out, hiddenColumn{name, "Values of " + comment(name) + " have keys inside of them",
				"A generated column can have one key, and a query of kind keys all of them (docs/adopting-keys.md).", inside, false})
		}
	}
	return out
}

// hiddenIn returns comments on the hidden columns of a table that no collection has mentioned.
func (p proposal) hiddenIn(t TableInfo, indent string) string {
	text := ""
	for _, h := range p.index.hiddenColumns(t) {
		if !p.hidden[h.column] {
			text += fmt.Sprintf("%s# %s (%s).\n%[1]s# %[4]s\n", indent, h.says, comment(h.keys[0]), h.hint)
		}
	}
	return text
}

// inside returns keys that stand in quotes, braces or a URL in sampled values, none if less than
// two of them have one.
func (x objectIndex) inside(c ColumnInfo) (keys []string) {
	found := 0
	for _, v := range c.Values {
		if len(x[v]) > 0 {
			return nil // the column has keys themselves
		}
		before := len(keys)
		for _, part := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("\"'{}[],", r) }) {
			if key := x.keyIn(part); key != "" {
				keys = append(keys, key)
			}
		}
		if len(keys) > before {
			found++
		}
	}
	if found < 2 {
		return nil
	}
	return keys
}

// keyIn returns the key that is a text, or the path of a URL or the end of it.
func (x objectIndex) keyIn(text string) string {
	if at, err := url.Parse(text); err == nil && at.Host != "" {
		text = strings.TrimPrefix(at.Path, "/")
	}
	for {
		if slices.Contains(x[text], text) {
			return text
		}
		_, rest, more := strings.Cut(text, "/")
		if !more {
			return ""
		}
		text = rest
	}
}
