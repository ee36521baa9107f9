package adopt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

const described = `database: postgres://u@127.0.0.1/x
receipts: 90d
buckets:
  main: {bucket: b}
collections:
  pastes:
    mode: report
    bucket: main
    prefix: content/
    guard: trigger
    batch: 100
    rows:
      table: pastes
      key: id
      end: expires_at
      keep: 30d
      zone: UTC
      content: hash
    contents:
      table: content
      key: hash
      object: "content/{hash}"
    grace: {watchdog: 2h, late: 15m}
    schedule: {cron: "0 0 * * *"}
  links:
    rows: {table: links, key: id, end: deleted_at}
`

// An error has the line, the column and the key, and what to write instead.
func TestErrorsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"keep: 30d", "keep: 30x", `16:13: collections.pastes.rows.keep: invalid time to live: "30x" has the unknown unit "x"; use a number with a unit, such as 90s`},
		{"keep: 30d", "kept: 30d", `16:7: collections.pastes.rows.kept: there is no such key; did you mean key?`},
		{"receipts: 90d", "receipts: 90", `2:11: receipts: `},
		{"batch: 100", "batch: many", `11:12: collections.pastes.batch: "many" is not a whole number`},
		{"batch: 100", "batch: 20000", `11:12: collections.pastes.batch: 20000 does not lie between 1 and 10000`},
		{"batch: 100", "batch:", `collections.pastes.batch: has no value; write one`},
		{"mode: report", "mode: delete", `7:11: collections.pastes.mode: "delete" is not known: write report or reclaim`},
		{"bucket: main", "bucket: mian", `8:13: collections.pastes.bucket: "mian" is not among the buckets of the file: it has main`},
		{"prefix: content/", "prefix: content", `9:13: collections.pastes.prefix: "content" does not end in a slash`},
		{"prefix: content/", `prefix: ""`, `9:13: collections.pastes.prefix: is missing`},
		{"prefix: content/", "prefix: /x/", `9:13: collections.pastes.prefix: invalid blob key: "/x/" has the segment ""`},
		{"{bucket: b}\ncollections:\n  pastes:\n    mode: report\n    bucket: main\n    prefix: content/", "{path: /srv}\ncollections:\n  pastes:\n    mode: report\n    bucket: main\n    prefix: /",
			`9:13: collections.pastes.prefix: "/" is for buckets of S3 services: shorten the path by its last folder`},
		{"  links:", "  whole:\n    {bucket: main, prefix: /, rows: {table: other, key: id, end: deleted_at, objects: ['{key}']}}\n  links:",
			`collections.whole.prefix: "/" overlaps "content/" of collection pastes in the same bucket`},
		{"guard: trigger", "guard: triggers", `10:12: collections.pastes.guard: "triggers" is not known: write none, trigger or quarantine`},
		{"end: expires_at", "# no end", `12:5: collections.pastes.rows.end: is missing: write the column of the instant at which a row ends`},
		{"zone: UTC", "zone: Mars/X", `17:13: collections.pastes.rows.zone: "Mars/X" is no time zone: write one such as Europe/Berlin, UTC or +02:00`},
		{"zone: UTC", "unit: h", `17:13: collections.pastes.rows.unit: "h" is not known: write s, ms or us`},
		{"content/{hash}", "content/hash", `22:15: collections.pastes.contents.object: the template "content/hash" names no column`},
		{"content/{hash}", "other/{hash}", `22:15: collections.pastes.contents.object: all keys of "other/{hash}" lie outside of the prefix "content/"`},
		{"content/{hash}", "content/?1/{hash}", `22:15: collections.pastes.contents.object: "content/?1/{hash}" has a question mark before a digit`},
		{"watchdog: 2h", "watchdog: 0s", `23:23: collections.pastes.grace.watchdog: has to be above 0`},
		{"late: 15m", "late: soon", `collections.pastes.grace.late: invalid time to live`},
		{`cron: "0 0 * * *"`, `cron: "99 0 * * *"`, `collections.pastes.schedule: `},
		{"links:", "Links:", `25:3: collections.Links: a name has 1 to 40 lower-case letters`},
		{"end: deleted_at}", "end: deleted_at, initiated: since, status: {column: state, live: A, claimed: B, deleted: A}}", `26:70: collections.links.rows.status: live, claimed and deleted have to differ`},
		{"end: deleted_at}", "end: deleted_at, initiated: since, status: {column: state, live: A, claimed: A}}", `live, claimed and deleted have to differ`},
		{"key: id, end: deleted_at", "key: id", `collections.links.rows.end: is missing`},
		{"main: {bucket: b}", "main: {path: media}", `4:16: buckets.main.path: "media" is no whole path`},
		{"main: {bucket: b}", "main: {}", `4:3: buckets.main: neither bucket nor path is named`},
		{"main: {bucket: b}", "main: {bucket: '${NONE}'}", `4:18: buckets.main.bucket: the environment has no variable NONE`},
		{"buckets:", "buckets: [main]\nbucket:", `buckets: is not a section`},
		{"collections:", "collections: none\nmore:", `collections: is not a section`},
		{"contents:", "contents: content\n    more:", `collections.pastes.contents: is not a section`},
		{"collections:", "x: 1\ncollections:", "x: there is no such key; possible here: database, schema, receipts, audit, tracing, redis, buckets, collections\n"},
		{"  links:", "  pastes:", `mapping key "pastes" already defined`},
	} {
		path := filepath.Join(t.TempDir(), "adopt.yaml")
		if err := os.WriteFile(path, []byte(strings.Replace(described, c.old, c.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := adopt.Load(path, func(string) (string, bool) { return "", false })
		if err == nil || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.new, err, c.want)
		}
	}
	if _, err := parse(t, described, nil); err != nil {
		t.Errorf("what they are changes of: %v", err)
	}
}

// A slash alone is the whole bucket: keys begin with nothing then, and no quarantine lies outside.
func TestWholeBucket(t *testing.T) {
	whole := strings.Replace(described, "prefix: content/", "prefix: /", 1)
	d, err := parse(t, whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Collections["pastes"]; c.Prefix != "" || c.Bucket != "main" {
		t.Errorf("the prefix is %q in bucket %q", c.Prefix, c.Bucket)
	}
	_, err = parse(t, strings.Replace(whole, "guard: trigger", "guard: quarantine\n    quarantine: {prefix: old/}", 1), nil)
	if err == nil || !strings.Contains(err.Error(), `quarantine.prefix: "old/" and the prefix of the objects, "/", contain each other`) {
		t.Error(err)
	}
}

// A line that may hold a secret is not shown.
func TestErrorsShowNoSecret(t *testing.T) {
	_, err := parse(t, strings.Replace(described, "main: {bucket: b}", "main: {secret_key: hush, bukket: b}", 1), nil)
	if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "4:28: buckets.main.bukket") {
		t.Errorf("%v", err)
	}
}
