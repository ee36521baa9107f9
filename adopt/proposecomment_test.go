package adopt_test

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// A line break in a name ends no comment of a proposal.
func TestProposalOfNamesWithLineBreaks(t *testing.T) {
	const bad = "a\nBROKEN: x"
	id := adopt.ColumnInfo{Name: "id", Kind: "bigint"}
	end := adopt.ColumnInfo{Name: "expires_at", Kind: "timestamp with time zone"}
	keys := adopt.ColumnInfo{Name: bad, Kind: "text", Values: []string{"files/one.txt", "files/two.txt", "files/three.txt"}}
	folders := adopt.ColumnInfo{Name: bad, Kind: "text", Values: []string{"first", "second", "third"}}
	key := []string{"id"}
	for name, tables := range map[string][]adopt.TableInfo{
		"left out":    {{Name: bad, Key: key, Columns: []adopt.ColumnInfo{id}}, {Name: bad + "2", Columns: []adopt.ColumnInfo{end}}, {Name: bad + "3", Unread: bad}},
		"contents":    {{Name: "pastes", Key: key, Columns: []adopt.ColumnInfo{id, end, {Name: "of"}}, Refers: map[string]string{"of": bad}}, {Name: bad, Key: []string{bad}, Columns: []adopt.ColumnInfo{keys, {Name: "refs", Kind: "bigint"}}}},
		"a claim":     {{Name: bad, Key: key, Columns: []adopt.ColumnInfo{id, end}, Unread: bad}},
		"own objects": {{Name: bad, Key: key, Columns: []adopt.ColumnInfo{id, end, keys}}},
		"shared":      {{Name: "pastes", Key: key, Columns: []adopt.ColumnInfo{id, end, keys}}, {Name: bad, Key: key, Columns: []adopt.ColumnInfo{id, keys}}},
		"keys":        {{Name: bad, Key: key, Columns: []adopt.ColumnInfo{id, keys}}},
		"folders":     {{Name: bad, Key: key, Columns: []adopt.ColumnInfo{id, folders}}, {Name: bad + "2", Key: []string{bad}, Columns: []adopt.ColumnInfo{folders}}},
	} {
		text := adopt.Propose(tables, adopt.ProposeOptions{
			Objects:      []string{"files/one.txt", "files/two.txt", "files/three.txt", "trees/first/x", "trees/second/x", "trees/third/x"},
			ClaimColumns: func(of adopt.TableInfo, _ string) []string { return []string{"ALTER TABLE " + of.Name} },
		})
		if strings.Contains(text, "\nBROKEN") || !strings.Contains(text, `a\nBROKEN`) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
