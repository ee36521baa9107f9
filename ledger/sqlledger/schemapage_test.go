package sqlledger

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// onPage are the tables and views that a page describes, and the names that it gives
// with each.
func onPage(page string) map[string][]string {
	quoted := regexp.MustCompile("`(\\w+)`")
	out := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` (.*)$").FindAllStringSubmatch(page, -1) {
		out[m[1]] = []string{}
		for _, name := range quoted.FindAllStringSubmatch(m[2], -1) {
			out[m[1]] = append(out[m[1]], name[1])
		}
	}
	return out
}

// TestSchemaPage: the page describes every table and view and no other, and names only
// columns that exist.
func TestSchemaPage(t *testing.T) {
	text, err := os.ReadFile("../schema.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 9000 {
		t.Errorf("the page has %d bytes, want 9,000 at most", len(text))
	}
	const inDatabase = `SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type IN ('table', 'view') AND m.name <> 'sqlite_sequence'`
	columns := map[string][]string{}
	db := openTest(t, Memory, ledger.Options{})
	if err := db.read(t.Context(), "columns", func(tx *tx) error {
		list, err := all(tx, sqldb.One[string], inDatabase)
		for _, c := range list {
			table, column, _ := strings.Cut(c, ".")
			columns[table] = append(columns[table], column)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	page := onPage(string(text))
	for table := range columns {
		if page[table] == nil {
			t.Errorf("the page lacks %s", table)
		}
	}
	for table, names := range page {
		if columns[table] == nil {
			t.Errorf("the page describes %s, which is not there", table)
		}
		for _, name := range names {
			if !slices.Contains(columns[table], name) {
				t.Errorf("%s has no column %s", table, name)
			}
		}
	}
}
