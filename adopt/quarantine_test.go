package adopt_test

import (
	"fmt"
	"strings"
	"testing"
)

// Where objects are moved overlaps nothing that is described.
func TestQuarantineSpecs(t *testing.T) {
	const records = `kind: records, rows: {table: r, key: k, end: e, content: c}, contents: {table: t, key: c, object: "{o}"}`
	for _, c := range []struct{ a, b, want string }{
		{records + `, guard: quarantine, quarantine: {prefix: kept/}`, ``, ``},
		{records + `, guard: quarantine`, ``, "where objects are moved"},
		{records + `, guard: trigger, quarantine: {prefix: kept/}`, ``, "with guard: quarantine"},
		{records + `, guard: quarantine, quarantine: {prefix: a/kept/}`, ``, "contain each other"},
		{records + `, guard: quarantine, quarantine: {prefix: kept}`, ``, "slash"},
		{records + `, guard: quarantine, quarantine: {prefix: kept/, retention: 0s}`, ``, "retention"},
		{`rows: {table: r, key: k, end: e, objects: ["{o}"]}, guard: quarantine, quarantine: {prefix: kept/}`, ``, "kind keys"},
		{`kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: kept/}`, `kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: kept/}`, ``},
		{`kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: b/kept/}`, `kind: keys, keys: {query: SELECT k FROM t}`, "overlap"},
		{`kind: keys, keys: {query: SELECT k FROM t}`, `kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: a/kept/}`, "overlap"},
		{`kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: kept/}`, `kind: keys, keys: {query: SELECT k FROM t}, quarantine: {prefix: kept/b/}`, "quarantines"},
		{`kind: folders, folders: {depth: 1, live: {query: SELECT n FROM t}}, quarantine: {prefix: kept/}`, ``, "belong to records"},
	} {
		text := fmt.Sprintf("database: postgres://x/y\nbuckets: {b: {bucket: b}}\ncollections:\n  a: {bucket: b, prefix: a/, %s}\n", c.a)
		if c.b != "" {
			text += fmt.Sprintf("  b: {bucket: b, prefix: b/, %s}\n", c.b)
		}
		_, err := parse(t, text, nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", text, err, c.want)
		}
	}
}
