package clients

import (
	"strings"
	"testing"
)

func TestS5cmd(t *testing.T) {
	scenario(t, s5cmd, func(c *session) {
		got := c.do([]string{"cat", at("small")})
		if got != string(noise(2000, 2)) {
			c.Errorf("cat answers %d bytes, want 2000, or others", len(got))
		}
	})
}

func s5cmd(s *server) dialect {
	return dialect{
		run: []string{program(s.T, "s5cmd"), "--endpoint-url", s.s3, "--retry-count", "1", "--numworkers", "8"},
		env: []string{
			"AWS_ACCESS_KEY_ID=" + s.access, "AWS_SECRET_ACCESS_KEY=" + s.secret, "AWS_REGION=us-east-1",
		},
		makeBucket: func() []string { return []string{"mb", at("")} },
		put:        func(file, key string) []string { return []string{"cp", "--part-size", "5", file, at(key)} },
		putTTL:     func(file, key, ttl string) []string { return []string{"cp", "--metadata", "ttl=" + ttl, file, at(key)} },
		get:        func(key, file string) []string { return []string{"cp", "--part-size", "5", at(key), file} },
		list: func(prefix string) []string {
			if prefix != "" {
				prefix += "/"
			}
			return []string{"ls", "--show-fullpath", at(prefix + "*")}
		},
		keyOf: func(line string) (string, bool) { return strings.CutPrefix(line, at("")) },
		syncUp: func(folder, prefix string) []string {
			return []string{"sync", "--delete", folder + "/", at(prefix + "/")}
		},
		syncDown:     func(prefix, folder string) []string { return []string{"sync", at(prefix + "/*"), folder + "/"} },
		copy:         func(from, to string) []string { return []string{"cp", at(from), at(to)} },
		remove:       func(key string) []string { return []string{"rm", at(key)} },
		removeAll:    func() []string { return []string{"rm", at("*")} },
		removeBucket: func() []string { return []string{"rb", at("")} },
	}
}
