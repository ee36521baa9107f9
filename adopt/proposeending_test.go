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

// Where rows without an end refer to others, the end of those may be that of what they stand for:
// a poll ends, and its votes stay to be counted. Rows that something with an end of its own refers
// to, or with a soft delete, are not asked about.
func TestProposalOfEndsThatMayBeOfSomethingElse(t *testing.T) {
	id, end := adopt.ColumnInfo{Name: "id", Kind: "bigint"}, adopt.ColumnInfo{Name: "expires_at", Kind: "timestamp with time zone"}
	deleted := adopt.ColumnInfo{Name: "deleted_at", Kind: "timestamp with time zone"}
	of := adopt.ColumnInfo{Name: "poll_id", Kind: "bigint"}
	for name, c := range map[string]struct {
		polls, votes []adopt.ColumnInfo
		want         bool
	}{
		"votes without an end": {[]adopt.ColumnInfo{id, end}, []adopt.ColumnInfo{id, of}, true},
		"votes with an end":    {[]adopt.ColumnInfo{id, end}, []adopt.ColumnInfo{id, of, end}, false},
		"a soft delete":        {[]adopt.ColumnInfo{id, deleted}, []adopt.ColumnInfo{id, of}, false},
	} {
		text := proposed(adopt.ProposeOptions{},
			adopt.TableInfo{Name: "polls", Key: []string{"id"}, Columns: c.polls},
			adopt.TableInfo{Name: "poll_votes", Key: []string{"id"}, Columns: c.votes, Refers: map[string]string{"poll_id": "polls"}})
		if got := strings.Contains(text, "# Rows of poll_votes refer to these, and have no end of their own"); got != c.want {
			t.Errorf("%s: asked %t, want %t:\n%s", name, got, c.want, text)
		}
	}
}
