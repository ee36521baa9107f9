package adopt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// aTable returns a table whose rows expire, with these columns.
func aTable(name string, columns ...ColumnInfo) TableInfo {
	columns = append(columns, ColumnInfo{Name: "id", Kind: "uuid"}, ColumnInfo{Name: "expires_at", Kind: "timestamp with time zone"})
	return TableInfo{Name: name, Key: []string{"id"}, Columns: columns}
}

// values returns n values of a form.
func values(form string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(form, i))
	}
	return out
}

// proposed returns the proposal for tables and some keys.
func proposed(t *testing.T, s ProposeOptions, tables ...TableInfo) (*Description, string) {
	t.Helper()
	s.ClaimColumns = func(TableInfo, string) []string { return nil }
	text := Propose(tables, s)
	d, err := Parse([]byte(text), func(name string) (string, bool) { return "x", !strings.Contains(name, "_CLEANUP_") })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d, text
}

// The values of rows decide which column names objects, not its name.
func TestProposeBySamples(t *testing.T) {
	keys := slices.Concat(values("files/%d.pdf", 9), values("pages/%08d.html", 9), values("thumbs/%d.png", 9))
	for name, c := range map[string]struct {
		table   TableInfo
		objects []string
		prefix  string
	}{
		"any name":         {aTable("a", ColumnInfo{Name: "file", Kind: "text", Values: values("files/%d.pdf", 5)}), []string{"{file}"}, "files/"},
		"some are missing": {aTable("a", ColumnInfo{Name: "url", Kind: "text", Values: values("files/%d.pdf", 18)}), []string{"{url}"}, "files/"},
		"most are missing": {aTable("a", ColumnInfo{Name: "url", Kind: "text", Values: values("files/%d.pdf", 19)}), nil, ""},
		"a part of a key":  {aTable("a", ColumnInfo{Name: "ref", Kind: "text", Values: values("%08d", 5)}), []string{"pages/{ref}.html"}, "pages/"},
		"a small number":   {aTable("a", ColumnInfo{Name: "size", Kind: "bigint", Values: values("%d", 5)}), nil, ""},
		"two ways to say one": {aTable("a", ColumnInfo{Name: "ref", Kind: "text", Values: values("%08d", 5)},
			ColumnInfo{Name: "page", Kind: "text", Values: values("pages/%08d.html", 5)}), []string{"{page}"}, "pages/"},
		"another prefix": {aTable("a", ColumnInfo{Name: "file", Kind: "text", Values: values("files/%d.pdf", 5)},
			ColumnInfo{Name: "thumb", Kind: "text", Values: values("thumbs/%d.png", 5)}), []string{"{file}"}, "files/"},
	} {
		d, text := proposed(t, ProposeOptions{Objects: keys}, c.table)
		if got := d.Collections["a"]; !slices.Equal(got.Rows.Objects, c.objects) || got.Prefix != c.prefix {
			t.Errorf("%s: proposed are %q below %q:\n%s", name, got.Rows.Objects, got.Prefix, text)
		}
		if c.objects == nil && !strings.Contains(text, "rows go, and nothing of a bucket") {
			t.Errorf("%s: no warning that only rows go:\n%s", name, text)
		}
		if name == "another prefix" && !strings.Contains(text, "# thumb names objects below thumbs/") {
			t.Errorf("nothing is said of thumb:\n%s", text)
		}
	}
}

// Contents without a count are recognised by their values as well.
func TestProposeContentsBySamples(t *testing.T) {
	rows := aTable("a", ColumnInfo{Name: "body", Kind: "text"})
	rows.Refers = map[string]string{"body": "blobs"}
	blobs := TableInfo{Name: "blobs", Key: []string{"sha"}, Columns: []ColumnInfo{{Name: "sha", Kind: "text", Values: values("%09d", 5)}, {Name: "location", Kind: "text", Values: values("b/%09d", 5)}}}
	d, text := proposed(t, ProposeOptions{Objects: values("b/%09d", 5)}, rows, blobs)
	if c := d.Collections["a"]; c.Contents == nil || c.Contents.Object != "{location}" || c.Prefix != "b/" || c.Rows.Content != "body" {
		t.Errorf("proposed:\n%s", text)
	}
}

// The file describes where the URL of the database belongs.
func TestProposeNamesTheVariable(t *testing.T) {
	if _, text := proposed(t, ProposeOptions{Variable: "APP_URL"}, aTable("a")); !strings.Contains(text, "database: ${APP_URL}\n") {
		t.Errorf("proposed:\n%s", text)
	}
	if _, text := proposed(t, ProposeOptions{}, aTable("a")); !strings.Contains(text, "set it to the URL that you gave") {
		t.Errorf("nothing is said of the URL that was given:\n%s", text)
	}
}
