package adopt

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// SampledRows is how many rows of a table are sampled.
const SampledRows = 50

// shortest is the least length of a value that is recognised inside a longer
// key. Shorter ones, such as small numbers, occur by chance.
const shortest = 8

// keysOf describes how a column of sampled rows names keys in the bucket.
type keysOf struct {
	column, template string
	reason           string
	objects          []string // that the values name
}

// objectIndex finds keys of a bucket by the part of them that a column may
// hold.
type objectIndex map[string][]string

// indexed indexes sampled keys by themselves, by what follows each slash in them, and by their last
// segments without an extension.
func indexed(objects []string) objectIndex {
	out := objectIndex{}
	for _, key := range objects {
		base := path.Base(key)
		stem := strings.TrimSuffix(base, path.Ext(base))
		names := []string{key}
		for i := range key {
			if key[i] == '/' && len(key)-i-1 >= shortest {
				names = append(names, key[i+1:])
			}
		}
		if len(stem) >= shortest {
			names = append(names, stem)
		}
		for _, name := range slices.Compact(names) {
			if !slices.Contains(out[name], key) {
				out[name] = append(out[name], key)
			}
		}
	}
	return out
}

// named counts the values that name a key.
func (x objectIndex) named(values []string) (n int) {
	for _, v := range values {
		if len(x[v]) > 0 {
			n++
		}
	}
	return n
}

// forms returns the keys below a prefix that sampled values of a table's column name, by
// templates of keys; all of them for noFolder.
func (x objectIndex) forms(t TableInfo, c ColumnInfo, prefix string) map[string][]string {
	byTemplate, endings, spread := map[string][]string{}, x.endings(c), x.spread(t, c)
	for _, v := range c.Values {
		for _, key := range x[v] {
			before, after, _ := cutLast(key, v)
			if prefix != noFolder && !strings.HasPrefix(key, prefix) || hasHole(before+c.Name+after) {
				continue
			}
			folder, known := spread.template(before)
			if !known {
				continue
			}
			template := folder + "{" + c.Name + "}" + t.ending(after, endings)
			byTemplate[template] = append(byTemplate[template], key)
		}
	}
	return byTemplate
}

// cutLast cuts a key around the last place of a value.
func cutLast(key, v string) (before, after string, found bool) {
	i := strings.LastIndex(key, v)
	if i < 0 {
		return key, "", false
	}
	return key[:i], key[i+len(v):], true
}

var endingNames = regexp.MustCompile(`(?i)(^|_)(ext|extension|suffix|format)$`)

// endings returns what follows the last dot of the keys that values of a column name.
func (x objectIndex) endings(c ColumnInfo) map[string]bool {
	out := map[string]bool{}
	for _, v := range c.Values {
		for _, key := range x[v] {
			out[strings.TrimPrefix(path.Ext(key), ".")] = true
		}
	}
	return out
}

// ending returns the template of what follows a value in a key. Where a column has the extension
// a fixed one would leave out all objects with others. A column is of other files if it has
// extensions that no key has.
func (t TableInfo) ending(after string, endings map[string]bool) string {
	if !strings.HasPrefix(after, ".") {
		return after
	}
	for _, c := range t.Columns {
		others := func(v string) bool { return !endings[strings.TrimPrefix(v, ".")] }
		switch {
		case !endingNames.MatchString(c.Name) || hasHole(c.Name) || slices.ContainsFunc(c.Values, others):
		case slices.Contains(c.Values, after[1:]):
			return ".{" + c.Name + "}"
		case slices.Contains(c.Values, after):
			return "{" + c.Name + "}"
		}
	}
	return after
}

// columns returns the columns of a table of whose sampled values at least half
// name a key. Whole keys come first, and of two columns for the same objects
// only one is returned.
func (x objectIndex) columns(t TableInfo) (out []keysOf) {
	for _, c := range t.Columns {
		best := keysOf{column: c.Name}
		for template, keys := range x.forms(t, c, noFolder) {
			if n := len(keys) - len(best.objects); n > 0 || n == 0 && template < best.template {
				best.template, best.objects = template, keys
			}
		}
		if n := len(best.objects); n > 0 && n*2 >= len(c.Values) {
			best.reason = fmt.Sprintf("%d of %d sampled values name keys in the bucket%s", n, len(c.Values), t.unsure(best.template, c.Name))
			out = append(out, best)
		}
	}
	slices.SortStableFunc(out, func(a, b keysOf) int { return len(a.template) - len(a.column) - len(b.template) + len(b.column) })
	var distinct []keysOf
	for _, k := range out {
		same := func(other keysOf) bool {
			return slices.Contains(k.objects, other.objects[0]) || slices.Contains(other.objects, k.objects[0])
		}
		if !slices.ContainsFunc(distinct, same) {
			distinct = append(distinct, k)
		}
	}
	return distinct
}
