package adopt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

const recordings = `
database: postgres://u@127.0.0.1/x
buckets: {main: {bucket: b}}
collections:
  topics:
    kind: folders
    bucket: main
    prefix: sequences/
    folders:
      live: {table: topics, name: "{sequence}/topics/{name}"}
`

func parse(t *testing.T, text string, env map[string]string) (*adopt.Description, error) {
	t.Helper()
	return adopt.Parse([]byte(text), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
}

// The environment sets the times of all folders; Lethe's variables take
// precedence over Mosaico's.
func TestTimesOfFoldersByTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		env                 map[string]string
		interval, retention time.Duration
	}{
		{nil, time.Hour, 7 * 24 * time.Hour},
		{map[string]string{"MOSAICOD_CLEANUP_TIME_INTERVAL": "24h", "MOSAICOD_CLEANUP_RETENTION_DURATION": "48h"}, 24 * time.Hour, 48 * time.Hour},
		{map[string]string{"MOSAICOD_CLEANUP_TIME_INTERVAL": "24h", "LETHE_CLEANUP_TIME_INTERVAL": "2h",
			"MOSAICOD_CLEANUP_RETENTION_DURATION": "24h", "LETHE_CLEANUP_RETENTION_DURATION": "30d"}, 2 * time.Hour, 30 * 24 * time.Hour},
	} {
		d, err := parse(t, recordings, c.env)
		if err != nil {
			t.Fatal(err)
		}
		if r := d.Collections["topics"].Folders.Rules(); r.Interval != c.interval || r.Retention != c.retention || r.Depth != 3 {
			t.Errorf("%v: %+v", c.env, r)
		}
	}
	for _, wrong := range []string{"soon", "", "0s"} { // the file's own interval is valid
		_, err := parse(t, recordings, map[string]string{"MOSAICOD_CLEANUP_TIME_INTERVAL": wrong})
		if err == nil || !strings.Contains(err.Error(), "MOSAICOD_CLEANUP_TIME_INTERVAL") || strings.Contains(err.Error(), "interval:") {
			t.Errorf("a variable of %q: %v", wrong, err)
		}
	}
}

// Two collections must not overlap, whatever names buckets have in the file.
func TestFoldersThatOverlap(t *testing.T) {
	text := strings.Replace(recordings, "buckets: {main: {bucket: b}}", "buckets: {main: {bucket: b}, again: {bucket: b}}", 1) + `
  parts:
    kind: folders
    bucket: again
    prefix: sequences/a/
    folders: {depth: 1, live: {query: SELECT name FROM parts}}
`
	if _, err := parse(t, text, nil); err == nil || !strings.Contains(err.Error(), "contain each other") {
		t.Errorf("one bucket by two names: %v", err)
	}
	if _, err := parse(t, strings.Replace(text, "sequences/a/", "parts/", 1), nil); err != nil {
		t.Errorf("prefixes apart: %v", err)
	}
}

// An invalid description gets an error with its place.
func TestWrongDescriptionsOfFolders(t *testing.T) {
	const live = `live: {table: topics, name: "{sequence}/topics/{name}"}`
	for _, c := range []struct{ old, new, want string }{
		{"kind: folders", "kind: heaps", `"heaps" is not known`},
		{"kind: folders", "mode: report", "kind: folders"},
		{"bucket: main", "bucket: other", "not among the buckets"},
		{"prefix: sequences/", "prefix: sequences", "slash"},
		{"prefix: sequences/", "cache: [x]", "belong to records"},
		{live, "depth: 1", "either a query"},
		{live, "live: {query: SELECT name FROM topics}", "how many segments"},
		{live, "depth: 1\n      live: {query: SELECT name FROM topics; DROP TABLE topics}", "semicolon"},
		{live, "depth: 1\n      live: {query: SELECT name FROM topics WHERE x = $1}", "parameters"},
		{live, "live: {table: topics, name: x}", "no column"},
		{live, live + "\n      depth: 2", "have 3 segments"},
		{live, live + "\n      retention: 0", "above 0"},
		{live, live + "\n      least: 2", "between 0 and 1"},
	} {
		_, err := parse(t, strings.Replace(recordings, c.old, c.new, 1), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}
