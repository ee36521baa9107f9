package adopt

import (
	"fmt"
	"slices"
	"strings"
)

// SampledCopies is how many keys of a cache are sampled.
const SampledCopies = 2000

// fewestCopies is how many keys of the cache have to hold values of a column in the same
// place, unless fewer rows were sampled: less occur by chance.
const fewestCopies = 3

// copies returns the line that describes the copies of a table's rows, "" if none of the
// sampled keys of the cache were recognised.
func (p proposal) copies(t TableInfo) string {
	found, rows := map[string]int{}, 1
	for _, c := range t.Columns {
		rows = max(rows, len(c.Values))
	}
	for _, key := range p.options.Copies {
		if template := t.template(key); template != "" {
			found[template]++
		}
	}
	var templates []string
	counted := 0
	for template, n := range found {
		if n >= min(fewestCopies, rows) {
			templates = append(templates, fmt.Sprintf("%q", template))
			counted += n
		}
	}
	if len(templates) == 0 {
		return ""
	}
	slices.Sort(templates)
	return fmt.Sprintf("    cache: [%s]  # %d of %d sampled keys of the cache hold sampled values there\n", strings.Join(templates, ", "), counted, len(p.options.Copies))
}

// template returns a key of the cache with the name of a column instead of its value, ""
// if the key holds no sampled value as a whole part. The longest value counts.
func (t TableInfo) template(key string) (template string) {
	if hasHole(key) {
		return ""
	}
	longest := 0
	for _, c := range t.Columns {
		for _, v := range c.Values {
			before, after, ok := strings.Cut(key, v)
			if ok && !hasHole(c.Name) && len(v) > longest && !endsInName(before) && !beginsWithName(after) {
				template, longest = before+"{"+c.Name+"}"+after, len(v)
			}
		}
	}
	return template
}

func endsInName(s string) bool { return s != "" && isName(s[len(s)-1]) }

func beginsWithName(s string) bool { return s != "" && isName(s[0]) }

// isName reports whether a byte is one of a name and separates none.
func isName(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
