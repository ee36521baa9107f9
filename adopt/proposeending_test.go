package adopt_test

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// Where a column has the extension of keys, the query takes it from there: objects with another one than those
// that were sampled would be orphans. A column that happens to have that value is none.
func TestProposalOfExtensions(t *testing.T) {
	for column, want := range map[string]string{
		"extension png":  `query: SELECT 'original/' || sha1 || '.' || extension FROM uploads`,
		"ext .png":       `query: SELECT 'original/' || sha1 || ext FROM uploads`,
		"extension jpg":  `query: SELECT 'original/' || sha1 || '.png' FROM uploads`,
		"format jpg png": `query: SELECT 'original/' || sha1 || '.png' FROM uploads`, // of other files
		"label png":      `query: SELECT 'original/' || sha1 || '.png' FROM uploads`,
	} {
		name, value, _ := strings.Cut(column, " ")
		text := proposed(adopt.ProposeOptions{Objects: []string{"original/0123456789.png", "original/abcdefghij.png"}}, adopt.TableInfo{
			Name: "uploads", Key: []string{"id"}, Columns: []adopt.ColumnInfo{
				{Name: "id", Kind: "bigint", Values: []string{"1", "2"}},
				{Name: "sha1", Kind: "text", Values: []string{"0123456789", "abcdefghij"}},
				{Name: name, Kind: "text", Values: strings.Fields(value)},
			}})
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s: without %q:\n%s", column, want, text)
		}
	}
}
