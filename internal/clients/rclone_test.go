package clients

import (
	"fmt"
	"testing"
)

func TestRclone(t *testing.T) {
	scenario(t, rclone, func(c *session) {
		data := noise(10_000, 70)
		c.do(c.put(c.file("up", data), "ranged"))
		if got := c.do([]string{"cat", "--offset", "5", "--count", "100", on("ranged")}); got != string(data[5:105]) {
			c.Errorf("a range came back with %d bytes, want 100, or others", len(got))
		}
		c.do([]string{"check", "--download", c.path("tree"), on("tree")})
	})
}

func on(key string) string { return "store:" + bucket + "/" + key }

func rclone(s *server) dialect {
	config := s.file("rclone.conf", fmt.Appendf(nil, `[store]
type = s3
provider = Other
access_key_id = %s
secret_access_key = %s
endpoint = %s
region = us-east-1
upload_cutoff = 5M
chunk_size = 5M
`, s.access, s.secret, s.s3))
	return dialect{
		run:        []string{program(s.T, "rclone"), "--config", config, "--retries", "1", "--low-level-retries", "2", "--checksum"},
		makeBucket: func() []string { return []string{"mkdir", on("")} },
		put:        func(file, key string) []string { return []string{"copyto", file, on(key)} },
		putTTL: func(file, key, ttl string) []string {
			return []string{"copyto", "--header-upload", "x-amz-meta-ttl: " + ttl, file, on(key)}
		},
		get:          func(key, file string) []string { return []string{"copyto", on(key), file} },
		list:         func(prefix string) []string { return []string{"lsf", "--recursive", "--files-only", on(prefix)} },
		keyOf:        func(line string) (string, bool) { return line, true },
		syncUp:       func(folder, prefix string) []string { return []string{"sync", folder, on(prefix)} },
		syncDown:     func(prefix, folder string) []string { return []string{"sync", on(prefix), folder} },
		copy:         func(from, to string) []string { return []string{"copyto", on(from), on(to)} },
		remove:       func(key string) []string { return []string{"deletefile", on(key)} },
		removeAll:    func() []string { return []string{"delete", on("")} },
		removeBucket: func() []string { return []string{"rmdir", on("")} },
	}
}
