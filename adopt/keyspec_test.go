package adopt_test

import (
	"strings"
	"testing"
)

func TestWrongDescriptionsOfKeys(t *testing.T) {
	const files = `
database: postgres://db/app
buckets: {main: {bucket: b}}
collections:
  files:
    kind: keys
    bucket: main
    prefix: files/
    keys:
      query: SELECT object_key FROM files
      hook: [/usr/local/bin/missing, -v]
`
	if _, err := parse(t, files, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"SELECT object_key", "SELECT 1; SELECT object_key", "keys.query: write one SELECT"},
		{"/usr/local/bin/missing", `""`, "keys.hook: names no program"},
		{"[/usr/local/bin/missing, -v]", "{a: b}", "keys.hook"},
		{"prefix: files/", "prefix: files/\n    guard: trigger", "belong to a collection of keys"},
	} {
		if _, err := parse(t, strings.Replace(files, c.old, c.new, 1), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}
