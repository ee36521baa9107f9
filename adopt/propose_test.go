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
	for _, want := range []string{"end: retain_until", "looks like an end, or names objects: customers.\n", "not one column: parts.\n"} {
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

// Objects below one prefix are one collection, whichever tables name them; what the
// collection of another table has is not described twice, and numbers that occur
// among the segments by chance are no folders.
func TestProposalOfKeysWithoutAnEnd(t *testing.T) {
	text := func(name string, values ...string) adopt.ColumnInfo {
		return adopt.ColumnInfo{Name: name, Kind: "text", Values: values}
	}
	table := func(name string, columns ...adopt.ColumnInfo) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: append([]adopt.ColumnInfo{{Name: "id", Kind: "bigint", Values: []string{"1"}}}, columns...)}
	}
	expiring := table("shares", text("object_key", "shared/aaaaaaaa", "shared/bbbbbbbb"), adopt.ColumnInfo{Name: "expires_at", Kind: "timestamp with time zone"})
	objects := []string{"media/aaaaaaaa", "media/bbbbbbbb", "media/small/aaaaaaaa.png", "media/small/1/cccccccc", "shared/aaaaaaaa", "shared/bbbbbbbb"}
	got := proposed(adopt.Surroundings{Objects: objects},
		table("uploads", text("object_key", "media/aaaaaaaa", "media/bbbbbbbb")),
		table("Thumbs", text("File", "media/small/aaaaaaaa.png")), table("settings", text("key", "theme", "size")),
		expiring, table("copies", text("object_key", "shared/aaaaaaaa")))
	for _, want := range []string{
		"prefix: media/ ", `query: SELECT object_key FROM uploads UNION ALL SELECT "File" FROM "Thumbs"` + "\n",
		"uploads.object_key: 2 of 2 sampled values", "# copies.object_key: 1 of 1 sampled values name keys in the bucket. They lie below shared/",
		"or names objects: settings.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "kind: folders") || strings.Count(got, "kind: keys") != 1 {
		t.Errorf("other collections than one of keys:\n%s", got)
	}
	if _, err := adopt.Parse([]byte(got), func(string) (string, bool) { return "1h", true }); err != nil {
		t.Errorf("it is not valid: %v\n%s", err, got)
	}
	// A part of the key in a column gives an expression.
	got = proposed(adopt.Surroundings{Objects: []string{"media/aaaaaaaa.png", "media/bbbbbbbb.png"}}, table("uploads", text("hash", "aaaaaaaa", "bbbbbbbb")))
	if want := "query: SELECT 'media/' || hash || '.png' FROM uploads\n"; !strings.Contains(got, want) {
		t.Errorf("without %q:\n%s", want, got)
	}
}
