package adopt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// column returns a column of n sampled values.
func column(name, kind string, n int, value func(i int) string) adopt.ColumnInfo {
	c := adopt.ColumnInfo{Name: name, Kind: kind}
	for i := range n {
		c.Values = append(c.Values, value(i))
	}
	return c
}

// The folder of a row's object is a column of the row, or nobody can tell: the folders of the
// sampled rows in a template would be those of others, and in a query they would leave out the rest.
func TestProposalOfFoldersOfRows(t *testing.T) {
	user := func(i int) string { return fmt.Sprint(100 + i%5) }
	file := func(i int) string { return fmt.Sprintf("report%04d.pdf", i) }
	uuid := func(i int) string { return fmt.Sprintf("%x%x%010d", i%16, i*7%16, i) }
	whole := func(i int) string { return fmt.Sprintf("up/%d/image.png", i) }
	users, files := column("user_id", "bigint", 20, user), column("file", "text", 20, file)
	end := adopt.ColumnInfo{Name: "expires_at", Kind: "timestamp with time zone"}
	uuids := column("uuid", "text", 20, uuid)
	for name, c := range map[string]struct {
		key     func(i int) string
		columns []adopt.ColumnInfo
		want    string
		not     string
	}{
		"a column has it": {func(i int) string { return "up/" + user(i) + "/" + file(i) }, []adopt.ColumnInfo{users, files, end},
			`objects: ["up/{user_id}/{file}"]`, "Keys end in"},
		"two columns may have it": {func(i int) string { return "up/" + user(i) + "/" + file(i) }, []adopt.ColumnInfo{users, column("owner_id", "bigint", 20, user), files, end},
			"      # Keys end in values of uploads.file, in folders that no column has (up/100/report", "objects: [\"up"},
		"another may have it by chance": {func(i int) string { return "up/" + user(i) + "/" + file(i) }, []adopt.ColumnInfo{column("likes", "bigint", 20, user), users, files, end},
			`objects: ["up/{user_id}/{file}"]`, "by its values alone"},
		"only another may have it": {func(i int) string { return "up/" + user(i) + "/" + file(i) }, []adopt.ColumnInfo{column("likes", "bigint", 20, user), files, end},
			"file: 20 of 20 sampled values name keys in the bucket, with likes by its values alone: is it right?", "Keys end in"},
		"spread by the first characters": {func(i int) string { return "up/" + uuid(i)[:1] + "/" + uuid(i)[1:2] + "/" + uuid(i) }, []adopt.ColumnInfo{uuids},
			"# Keys end in values of uploads.uuid, in folders that no column has (up/0/0/", "kind: keys"},
		"beside a column of whole keys": {whole, []adopt.ColumnInfo{column("path", "text", 20, whole), column("name", "text", 20, func(int) string { return "image.png" })},
			"query: SELECT path FROM uploads\n", "|| name"},
		"below a folder that is of the bucket": {func(i int) string { return "media/" + whole(i) }, []adopt.ColumnInfo{column("file", "text", 20, whole)},
			"query: SELECT 'media/' || file FROM uploads WHERE file <> ''\n", "Keys end in"},
		"keys in JSON": {whole, []adopt.ColumnInfo{column("files", "jsonb", 20, func(i int) string { return `[{"key": "` + whole(i) + `", "n": 1}]` })},
			"# Values of uploads.files have keys inside of them (up/", "kind: keys"},
		"keys in URLs": {func(i int) string { return fmt.Sprintf("up/a b%d", i) }, []adopt.ColumnInfo{column("url", "text", 20, func(i int) string { return fmt.Sprintf("https://cdn.example.org/app/up/a%%20b%d?v=1", i) })},
			"# Values of uploads.url have keys inside of them (up/a b", "kind: keys"},
	} {
		var objects []string
		for i := range 20 {
			objects = append(objects, c.key(i))
		}
		got := proposed(adopt.ProposeOptions{Objects: objects}, adopt.TableInfo{Name: "uploads", Key: []string{"id"}, Columns: c.columns})
		if !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s: without %q, or with %q:\n%s", name, c.want, c.not, got)
		}
		if strings.Contains(got, "\n  {}\n") {
			continue // nothing is described
		}
		if _, err := adopt.Parse([]byte(got), func(string) (string, bool) { return "1h", true }); err != nil {
			t.Errorf("%s: it is not valid: %v\n%s", name, err, got)
		}
	}
}

// Keys that begin with a date have no folder in common: a row has all of its objects there, as
// the prefix is that of the bucket.
func TestProposalOfKeysWithoutAFolder(t *testing.T) {
	path := func(i int) string { return fmt.Sprintf("202601%02d/%d/a.png", i, i) }
	thumb := func(i int) string { return fmt.Sprintf("202601%02d/%d/a_thumb.png", i, i) }
	var objects []string
	for i := range 20 {
		objects = append(objects, path(i), thumb(i))
	}
	got := proposed(adopt.ProposeOptions{Objects: objects}, adopt.TableInfo{Name: "files", Key: []string{"id"}, Columns: []adopt.ColumnInfo{
		column("path", "text", 20, path), column("thumb", "text", 20, thumb), {Name: "expires_at", Kind: "timestamp with time zone"}}})
	if want := `objects: ["{path}", "{thumb}"]`; !strings.Contains(got, want) {
		t.Errorf("without %q:\n%s", want, got)
	}
}

// A query that leaves out keys which it has no way to name would delete their objects: it is not
// proposed as complete, and the tables are not said to name nothing.
func TestProposedKeysSayWhatTheyLeaveOut(t *testing.T) {
	uuid := func(i int) string { return fmt.Sprintf("%x%x%010d", i%16, i*7%16, i) }
	path := func(i int) string { return fmt.Sprintf("up/%010d.png", i) }
	spread := func(i int) string { return "up/" + uuid(i)[:1] + "/" + uuid(i)[1:2] + "/" + uuid(i) }
	inside := func(i int) string { return fmt.Sprintf("up/j/%010d", i) }
	elsewhere := func(i int) string { return fmt.Sprintf("other/%010d", i) }
	quoted := func(key func(int) string) func(int) string {
		return func(i int) string { return `[{"key": "` + key(i) + `"}]` }
	}
	var objects []string
	for i := range 20 {
		objects = append(objects, path(i), spread(i), inside(i), elsewhere(i))
	}
	table := func(name string, c adopt.ColumnInfo) adopt.TableInfo {
		return adopt.TableInfo{Name: name, Key: []string{"id"}, Columns: []adopt.ColumnInfo{c}}
	}
	albums := table("albums", column("path", "text", 20, path))
	also := table("mails", column("files", "jsonb", 20, quoted(elsewhere)))
	parse := func(text string) error {
		_, err := adopt.Parse([]byte(text), func(string) (string, bool) { return "1h", true })
		return err
	}
	got := proposed(adopt.ProposeOptions{Objects: objects}, albums, also,
		table("blobs", column("uuid", "text", 20, uuid)), table("posts", column("files", "jsonb", 20, quoted(inside))), table("settings", column("theme", "text", 2, func(i int) string { return fmt.Sprint(i) })))
	for _, want := range []string{"prefix: up/ ", "\n      # query: SELECT path FROM albums\n", "# Values of mails.files have keys inside of them (other/",
		"      # Keys end in values of blobs.uuid, in folders that no column has (up/0/0/", "      # Values of posts.files have keys inside of them (up/j/", "or names objects: settings.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
	if strings.Count(got, "posts.files") != 1 || parse(got) == nil {
		t.Errorf("it is named twice, or the file loads as it is:\n%s", got)
	}
	got = proposed(adopt.ProposeOptions{Objects: objects}, albums, also)
	if err := parse(got); err != nil {
		t.Errorf("keys elsewhere: %v\n%s", err, got)
	}
}

// Days and months are numbers of rows by chance: all other days would count as folders without a row.
func TestProposalOfDates(t *testing.T) {
	users := func(value func(i int) string) adopt.TableInfo {
		return adopt.TableInfo{Name: "users", Key: []string{"id"}, Columns: []adopt.ColumnInfo{column("id", "bigint", 40, value)}}
	}
	plain := func(i int) string { return fmt.Sprint(i + 1) }
	filled := func(i int) string { return fmt.Sprintf("%05d", i+1) }
	for name, c := range map[string]struct {
		key     string
		values  func(i int) string
		folders bool
	}{
		"days":             {"up/2026/01/%02d/a.png", plain, false},
		"days of a month":  {"up/2026/1/%d/a.png", plain, false},
		"years only":       {"up/2026/%d/a.png", plain, false},
		"numbers, filled":  {"up/%05d/a.png", plain, false},
		"both filled":      {"up/%05d/a.png", filled, true},
		"numbers":          {"up/%d/a.png", plain, true},
		"beside something": {"up/users/%d/a.png", plain, true},
	} {
		var objects []string
		for i := range 31 {
			objects = append(objects, fmt.Sprintf(c.key, i+1))
		}
		if got := proposed(adopt.ProposeOptions{Objects: objects}, users(c.values)); strings.Contains(got, "kind: folders") != c.folders {
			t.Errorf("%s: folders, or none:\n%s", name, got)
		}
	}
}

// Nor are folders that rows name proposed beside a column that has keys in others. One that has keys
// in their own folders is no reason to ask.
func TestProposedFoldersSayWhatTheyLeaveOut(t *testing.T) {
	id := func(i int) string { return fmt.Sprintf("rec%04d", i) }
	key := func(i int) string { return "rec/" + id(i) + "/data.bin" }
	other := func(i int) string { return "rec/" + fmt.Sprintf("old%04d", i) + "/data.bin" }
	quoted := func(key func(int) string) func(int) string {
		return func(i int) string { return `{"file": "` + key(i) + `"}` }
	}
	var objects []string
	for i := range 20 {
		objects = append(objects, key(i), other(i))
	}
	records := adopt.TableInfo{Name: "records", Key: []string{"id"}, Columns: []adopt.ColumnInfo{column("id", "text", 20, id), column("meta", "jsonb", 20, quoted(key))}}
	notes := adopt.TableInfo{Name: "notes", Key: []string{"id"}, Columns: []adopt.ColumnInfo{column("files", "jsonb", 20, quoted(other))}}
	for _, hidden := range []bool{true, false} {
		tables, comment := []adopt.TableInfo{records}, ""
		if hidden {
			tables, comment = append(tables, notes), "# "
		}
		got := proposed(adopt.ProposeOptions{Objects: objects}, tables...)
		if want := "      " + comment + "live:\n      " + comment + "  table: records\n      " + comment + `  name: "{id}"` + "\n      min_age"; !strings.Contains(got, want) ||
			strings.Contains(got, "      # Values of notes.files have keys inside of them (rec/old") != hidden || strings.Count(got, "notes.files") > 1 ||
			strings.Contains(got, "\n      # Values of records.meta") {
			t.Errorf("hidden %t, without %q:\n%s", hidden, want, got)
		}
		if _, err := adopt.Parse([]byte(got), func(string) (string, bool) { return "1h", true }); (err != nil) != hidden {
			t.Errorf("hidden %t: parsed: %v\n%s", hidden, err, got)
		}
	}
}
