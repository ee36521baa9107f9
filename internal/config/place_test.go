package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Problems of Validate in a file have line and column, like those of the
// decoder; a value from elsewhere is not blamed on the file.
func TestValidateShowsThePlace(t *testing.T) {
	for _, c := range []struct {
		file, environ, setting string
		want                   []string
		not                    string
	}{
		{file: "server:\n  s3:\n    listen: nope\n", want: []string{"f.yaml:3:13: server.s3.listen: \"nope\"", "    3 |     listen: nope\n      |             ^"}},
		{file: "cache: {size: 1KiB}\nlog:\n  level: loud\n", want: []string{"f.yaml:1:15: cache.size: ", "f.yaml:3:10: log.level: "}},
		{file: "backends:\n  - {name: a, kind: dir, path: x}\n  - name: b\n    kind: dir\n", want: []string{"f.yaml:3:", "backends[1].path: is empty"}},
		{file: "backends: [{name: a, kind: dir, path: x}, {name: a, kind: dir, path: y}]", want: []string{"f.yaml:1:50: backends[1].name: "}},
		{file: "backends: []", want: []string{"f.yaml:1:11: backends: there is none"}},
		{file: "log:\n  level: loud\n", setting: "log.level=shrill", want: []string{": log.level: \"shrill\""}, not: "f.yaml:"},
		{file: "log:\n  level: loud\n", environ: "LETHE_LOG_LEVEL=shrill", want: []string{": log.level: \"shrill\""}, not: "f.yaml:"},
		{file: "root:\n  access_key: abcd\n  secret: hushhus\n", want: []string{"f.yaml:3:11: root.secret: "}, not: "hushhus"},
	} {
		path := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		settings := []string{}
		if c.setting != "" {
			settings = append(settings, c.setting)
		}
		_, err := Load(path, []string{c.environ}, settings...)
		if err == nil {
			t.Errorf("%q: accepted", c.file)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v\nlacks %q", c.file, err, want)
			}
		}
		if c.not != "" && strings.Contains(err.Error(), c.not) {
			t.Errorf("%q: %v\nholds %q", c.file, err, c.not)
		}
	}
}
