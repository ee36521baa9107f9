package adopt_test

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

func proposed(s adopt.Surroundings, tables ...adopt.TableInfo) string {
	s.ClaimColumns = func(string, string) []string { return nil }
	return adopt.Propose(tables, s)
}

// A proposal names the tables that it does not describe, and why.
func TestProposalNamesWhatItLeavesOut(t *testing.T) {
	end := adopt.ColumnInfo{Name: "retain_until", Kind: "timestamp with time zone"}
	id := adopt.ColumnInfo{Name: "id", Kind: "bigint"}
	text := proposed(adopt.Surroundings{},
		adopt.TableInfo{Name: "invoices", Key: []string{"id"}, Columns: []adopt.ColumnInfo{id, end, {Name: "file", Kind: "bigint"}}, Refers: map[string]string{"file": "files"}},
		adopt.TableInfo{Name: "files", Key: []string{"id"}, Columns: []adopt.ColumnInfo{id, {Name: "refs", Kind: "integer"}}},
		adopt.TableInfo{Name: "customers", Key: []string{"id"}, Columns: []adopt.ColumnInfo{id}},
		adopt.TableInfo{Name: "parts", Key: []string{"id", "part"}, Columns: []adopt.ColumnInfo{id, end}},
	)
	for _, want := range []string{"end: retain_until", "looks like an end: customers.\n", "not one column: parts.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
}

// Keys of the cache that hold values of rows give templates; values that are only a part
// of a name there, and few, do not.
func TestProposalOfCopies(t *testing.T) {
	table := adopt.TableInfo{Name: "invoices", Key: []string{"id"}, Columns: []adopt.ColumnInfo{
		{Name: "id", Kind: "bigint", Values: []string{"1", "2", "3", "4"}},
		{Name: "number", Kind: "text", Values: []string{"INV-1", "INV-2", "INV-3", "INV-4"}},
		{Name: "expires_at", Kind: "timestamp with time zone", Values: []string{"2026-01-01"}},
	}}
	for want, keys := range map[string][]string{
		`cache: ["invoice:{number}"]  #`:                 {"invoice:INV-1", "invoice:INV-2", "invoice:INV-4", "session:1"},
		`cache: ["invoice:{number}", "sum:{id}:eur"]  #`: {"invoice:INV-1", "invoice:INV-2", "invoice:INV-3", "sum:1:eur", "sum:2:eur", "sum:3:eur"},
		"rows go, and nothing of a bucket":               {"page1", "page2", "page3", "a:1", "b:2", "c:3", "x{1}", "x{2}", "x{3}"},
	} {
		text := proposed(adopt.Surroundings{Redis: "${REDIS_URL}", Copies: keys}, table)
		if !strings.Contains(text, want) || strings.Contains(text, "cache: [") != strings.HasPrefix(want, "cache: [") {
			t.Errorf("of %v, want %s:\n%s", keys, want, text)
		}
	}
}
