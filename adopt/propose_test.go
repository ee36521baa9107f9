package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

func proposed(s adopt.ProposeOptions, tables ...adopt.TableInfo) string {
	s.ClaimColumns = func(adopt.TableInfo, string) []string { return nil }
	return adopt.Propose(tables, s)
}

// A proposal names the tables that it does not describe, and why.
func TestProposalNamesWhatItLeavesOut(t *testing.T) {
	end := adopt.ColumnInfo{Name: "retain_until", Kind: "timestamp with time zone"}
	id := adopt.ColumnInfo{Name: "id", Kind: "bigint"}
	text := proposed(adopt.ProposeOptions{},
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

// Several times in one column are no end.
func TestProposalOfArrays(t *testing.T) {
	text := proposed(adopt.ProposeOptions{}, adopt.TableInfo{Name: "events", Key: []string{"id"}, Columns: []adopt.ColumnInfo{
		{Name: "id", Kind: "bigint"}, {Name: "expires_at", Kind: "timestamp with time zone[]"}, {Name: "deleted_at", Kind: "timestamp with time zone"}}})
	if !strings.Contains(text, "end: deleted_at") {
		t.Errorf("an array is an end:\n%s", text)
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
		text := proposed(adopt.ProposeOptions{Redis: "${REDIS_URL}", Copies: keys}, table)
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
	objects := []string{"media/aaaaaaaa", "media/bbbbbbbb", "media/small/aaaaaaaa.png", "media/small/1/cccccccc", "shared/aaaaaaaa", "shared/bbbbbbbb", "shared/dddddddd"}
	got := proposed(adopt.ProposeOptions{Objects: objects},
		table("uploads", text("object_key", "media/aaaaaaaa", "media/bbbbbbbb")),
		table("Thumbs", text("File", "media/small/aaaaaaaa.png")), table("settings", text("key", "theme", "size")),
		expiring, table("copies", text("hash", "dddddddd")))
	for _, want := range []string{
		"prefix: media/ ", `query: SELECT object_key FROM uploads UNION ALL SELECT "File" FROM "Thumbs"` + "\n",
		"uploads.object_key: 2 of 2 sampled values", "# copies.hash: 1 of 1 sampled values name keys in the bucket. They lie below shared/",
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
	got = proposed(adopt.ProposeOptions{Objects: []string{"media/aaaaaaaa.png", "media/bbbbbbbb.png"}}, table("uploads", text("hash", "aaaaaaaa", "bbbbbbbb")))
	if want := "query: SELECT 'media/' || hash || '.png' FROM uploads\n"; !strings.Contains(got, want) {
		t.Errorf("without %q:\n%s", want, got)
	}
}

// Objects that another table names as well do not go with the rows that end: they live as long
// as any row names them. A key of a row, to which others refer, is no object's.
func TestProposalOfSharedObjects(t *testing.T) {
	table := func(name, column string, values ...string) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: []adopt.ColumnInfo{{Name: "id", Kind: "bigint"}, {Name: column, Kind: "text", Values: values}}}
	}
	ends := func(t adopt.TableInfo) adopt.TableInfo {
		t.Columns = append(t.Columns, adopt.ColumnInfo{Name: "expires_at", Kind: "timestamp with time zone"})
		return t
	}
	objects := []string{"up/aaaaaaaa", "up/bbbbbbbb"}
	for name, c := range map[string]struct {
		tables []adopt.TableInfo
		owned  bool
	}{
		"of a table without an end": {[]adopt.TableInfo{ends(table("links", "file", "up/aaaaaaaa")), table("uploads", "object_key", objects...)}, false},
		"of another that ends":      {[]adopt.TableInfo{ends(table("links", "file", "up/aaaaaaaa")), ends(table("uploads", "object_key", objects...))}, false},
		"beside others of a folder": {[]adopt.TableInfo{ends(table("links", "file", "up/aaaaaaaa")), table("uploads", "object_key", "up/bbbbbbbb")}, false},
		"by a part of the key":      {[]adopt.TableInfo{ends(table("links", "file", "up/aaaaaaaa")), table("visits", "of", "aaaaaaaa")}, true},
	} {
		got := proposed(adopt.ProposeOptions{Objects: objects}, c.tables...)
		d, err := adopt.Parse([]byte(got), func(name string) (string, bool) { return "x", !strings.Contains(name, "_CLEANUP_") })
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, got)
		}
		for collection, x := range d.Collections {
			if x.Kind == "" && (len(x.Rows.Objects) > 0) != c.owned {
				t.Errorf("%s: %s has the objects %q\n%s", name, collection, x.Rows.Objects, got)
			}
		}
		if keys := d.Collections["uploads"].Keys; !c.owned && name != "of another that ends" && (keys == nil || !strings.Contains(keys.Query, "FROM links UNION ALL")) {
			t.Errorf("%s: no collection of keys has both:\n%s", name, got)
		}
	}
}

// What a query leaves out is deleted in the end: it has every table that names objects
// below the prefix, each ending of their keys, and prefixes that meet are one.
func TestProposedKeysLeaveNothingOut(t *testing.T) {
	text := func(name string, values ...string) adopt.ColumnInfo {
		return adopt.ColumnInfo{Name: name, Kind: "text", Values: values}
	}
	table := func(name string, columns ...adopt.ColumnInfo) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: columns}
	}
	end := adopt.ColumnInfo{Name: "expires_at", Kind: "timestamp with time zone"}
	sessions := table("sessions", end)
	sessions.Refers = map[string]string{"user_id": "users"}
	parts := table("parts", text("path", "up/p1"), end)
	parts.Key = []string{"id", "part"}
	for name, c := range map[string]struct {
		objects []string
		tables  []adopt.TableInfo
		query   string
	}{
		"a table that rows with an end refer to": {[]string{"up/a", "up/b"}, []adopt.TableInfo{table("posts", text("image", "up/a")), table("users", text("avatar", "up/b")), sessions},
			"SELECT image FROM posts UNION ALL SELECT avatar FROM users"},
		"a table with an end and a compound key": {[]string{"up/a", "up/p1"}, []adopt.TableInfo{parts, table("posts", text("image", "up/a"))},
			"SELECT path FROM parts UNION ALL SELECT image FROM posts"},
		"a column of which few are there": {[]string{"up/a", "up/b"}, []adopt.TableInfo{table("posts", text("image", "up/a"), text("small", "up/b", "other/1", "other/2"))},
			"SELECT image FROM posts UNION ALL SELECT small FROM posts WHERE substr(small, 1, 3) = 'up/'"},
		"binary values of MariaDB": {[]string{"up/0123abcd.pdf", "up/b"}, []adopt.TableInfo{table("posts", adopt.ColumnInfo{Name: "id", Kind: "binary", Values: []string{"0123abcd"}}, text("image", "up/b"))},
			"SELECT image FROM posts UNION ALL SELECT 'up/' || lower(hex(id)) || '.pdf' FROM posts"},
		"a second ending": {[]string{"up/aaaaaaaa.jpg", "up/bbbbbbbb.jpg", "up/cccccccc.png"}, []adopt.TableInfo{table("posts", text("hash", "aaaaaaaa", "bbbbbbbb", "cccccccc"))},
			"SELECT 'up/' || hash || '.jpg' FROM posts UNION ALL SELECT 'up/' || hash || '.png' FROM posts"},
		"a prefix that has two others": {[]string{"up/x/1", "up/y/1", "up/1"}, []adopt.TableInfo{table("xs", text("path", "up/x/1")), table("ys", text("path", "up/y/1")), table("zs", text("path", "up/1"))},
			"SELECT path FROM xs UNION ALL SELECT path FROM ys UNION ALL SELECT path FROM zs"},
		"keys of several folders": {[]string{"up/a", "docs/b"}, []adopt.TableInfo{table("posts", text("image", "up/a")), table("papers", text("path", "up/a", "docs/b"))},
			"SELECT image FROM posts UNION ALL SELECT path FROM papers WHERE substr(path, 1, 3) = 'up/'"},
	} {
		got := proposed(adopt.ProposeOptions{Objects: c.objects}, c.tables...)
		if !strings.Contains(got, "prefix: up/ ") || !strings.Contains(got, "query: "+c.query+"\n") {
			t.Errorf("%s: without %s\n%s", name, c.query, got)
		}
	}
}

// Numbers are folders of any table whose keys they are: all of them keep theirs.
func TestProposedFoldersOfTwoTables(t *testing.T) {
	table := func(name string, ids ...string) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: []adopt.ColumnInfo{{Name: "id", Kind: "bigint", Values: ids}}}
	}
	got := proposed(adopt.ProposeOptions{Objects: []string{"up/1/a", "up/2/a", "up/3/a"}}, table("accounts", "1", "2"), table("recordings", "1", "2", "3"))
	for _, want := range []string{"depth: 1\n", "query: SELECT '' || id FROM accounts UNION ALL SELECT '' || id FROM recordings\n", "# recordings: 3 of 3"} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
	if _, err := adopt.Parse([]byte(got), func(string) (string, bool) { return "1h", true }); err != nil {
		t.Errorf("it is not valid: %v\n%s", err, got)
	}
}

// PostgreSQL takes user for its own user, and every row of the query would name that one's
// object: the others would count as orphans.
func TestProposedQueriesQuoteWords(t *testing.T) {
	table := func(name, column string, values ...string) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: []adopt.ColumnInfo{{Name: column, Kind: "text", Values: values}}}
	}
	got := proposed(adopt.ProposeOptions{Objects: []string{"up/annabella", "up/benedictus", "up/1"}},
		table("order", "user", "annabella", "benedictus"), table("posts", "image", "up/1"))
	if want := `query: SELECT image FROM posts UNION ALL SELECT 'up/' || "user" FROM "order" WHERE "user" <> ''` + "\n"; !strings.Contains(got, want) {
		t.Errorf("without %q:\n%s", want, got)
	}
}

// A proposal is a valid file whatever names tables and columns have.
func TestProposalOfOddNames(t *testing.T) {
	var tables []adopt.TableInfo
	names := []string{"a.uploads", "b.uploads", "uploads", "2020-logs", "Team A.My Files", "a: b #c", "yes", "null", "ä", strings.Repeat("n", 60), strings.Repeat("n", 61), `"`}
	for _, name := range names {
		tables = append(tables, adopt.TableInfo{Name: name, Key: []string{"null"}, Columns: []adopt.ColumnInfo{{Name: "null", Kind: "bigint"}, {Name: "expires_at", Kind: "timestamp with time zone"}}})
	}
	objects := []string{"up/x", "up/{y}", "docs/{id}/aaaaaaaa"}
	tables = append(tables, adopt.TableInfo{Name: "posts", Key: []string{"id"}, Columns: []adopt.ColumnInfo{
		{Name: "id", Kind: "text", Values: []string{"aaaaaaaa"}}, {Name: "a}b", Kind: "text", Values: []string{"up/x"}}, {Name: "p: q #r", Kind: "text", Values: []string{"up/x", "up/{y}"}}}})
	got := proposed(adopt.ProposeOptions{Objects: objects}, tables...)
	d, err := adopt.Parse([]byte(got), func(name string) (string, bool) { return "x", !strings.Contains(name, "_CLEANUP_") })
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	described := map[string]bool{}
	for _, c := range d.Collections {
		described[c.Rows.Table] = true
		if c.Kind == adopt.OfKeys && c.Keys.Query != `SELECT "p: q #r" FROM posts` {
			t.Errorf("the query is %s", c.Keys.Query)
		} else if c.Kind == "" && c.Rows.Key != "null" {
			t.Errorf("the key of %s is %q", c.Rows.Table, c.Rows.Key)
		}
	}
	for _, name := range names {
		if !described[name] {
			t.Errorf("no collection has %s:\n%s", name, got)
		}
	}
	if len(d.Collections) != len(names)+1 {
		t.Errorf("%d collections, want %d:\n%s", len(d.Collections), len(names)+1, got)
	}
}

// Collections whose prefixes meet are refused: a second table with objects in a folder is
// not described, and one whose folder is not known has one to fill in.
func TestProposedPrefixesAreApart(t *testing.T) {
	table := func(name string, values ...string) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: []adopt.ColumnInfo{{Name: "object_key", Kind: "text", Values: values}, {Name: "expires_at", Kind: "timestamp with time zone"}}}
	}
	for name, c := range map[string]struct {
		objects []string

		prefixes string
	}{
		"without a bucket": {nil, "FOLDER/drafts/ FOLDER/photos/ FOLDER/songs/"},
		"one folder":       {[]string{"up/a", "up/b", "up/x/b", "up/x/c"}, "FOLDER/drafts/ up/"},
		"a folder inside":  {[]string{"up/a", "up/x/b", "up/x/c", "other/d"}, "FOLDER/drafts/ up/"},
	} {
		got := proposed(adopt.ProposeOptions{Objects: c.objects}, table("photos", "up/a", "up/x/b"), table("songs", "up/b", "up/x/c"), table("drafts", "gone"))
		d, err := adopt.Parse([]byte(got), func(name string) (string, bool) { return "x", !strings.Contains(name, "_CLEANUP_") })
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, got)
			continue
		}
		var prefixes []string
		for _, x := range d.Collections {
			prefixes = append(prefixes, x.Prefix)
		}
		slices.Sort(prefixes)
		if strings.Contains(got, "prefix: / is the whole bucket") != (c.objects != nil) {
			t.Errorf("%s: the whole bucket is offered where no keys were looked at, or not elsewhere:\n%s", name, got)
		}
		if strings.Join(prefixes, " ") != c.prefixes || strings.Contains(got, "# songs is not described: its objects lie below up/") != (len(d.Collections) < 3) {
			t.Errorf("%s: the prefixes are %q:\n%s", name, prefixes, got)
		}
	}
}

// A folder may be that of any row whose column names it, also where that is not the key. A
// column that only has names of the other rows refers to those.
func TestProposedFoldersByOtherColumns(t *testing.T) {
	table := func(name string, slugs ...string) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: []adopt.ColumnInfo{{Name: "id", Kind: "bigint"}, {Name: "slug", Kind: "text", Values: slugs}}}
	}
	got := proposed(adopt.ProposeOptions{Objects: []string{"up/home/a", "up/about/a", "up/first/a"}},
		table("pages", "home", "about"), table("posts", "first"), table("visits", "about", "home"))
	if want := "query: SELECT '' || slug FROM pages UNION ALL SELECT '' || slug FROM posts\n"; !strings.Contains(got, want) {
		t.Errorf("without %q:\n%s", want, got)
	}
}

// Keys that are spread over folders by the first digits of a hash, or of a random name, have
// folders that numbers of rows name by chance: all others would count as folders without a row.
func TestProposalOfSpreadFolders(t *testing.T) {
	var objects, one, few []string
	for i := range 64 {
		hash := fmt.Sprintf("%02x%02xaaaaaaaa", i*4, i)
		objects = append(objects, "lfs/"+hash[:2]+"/"+hash[2:4]+"/"+hash, "up/"+hash[:1]+"/"+hash)
		one, few = append(one, "10"), append(few, fmt.Sprint(i%7))
	}
	table := func(name string, values []string) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: []adopt.ColumnInfo{{Name: "id", Kind: "bigint"}, {Name: "of", Kind: "bigint", Values: values}}}
	}
	for name, values := range map[string][]string{"one value again and again": one, "a few numbers": few} {
		if got := proposed(adopt.ProposeOptions{Objects: objects}, table("sizes", values)); strings.Contains(got, "kind: folders") {
			t.Errorf("%s: folders are proposed:\n%s", name, got)
		}
	}
}
