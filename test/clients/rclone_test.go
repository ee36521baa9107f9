package clients

import (
	"fmt"
	"strings"
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
	}, rcloneMetadata, rcloneIdleTimes, rcloneUnderRules)
}

// rcloneMetadata sets a time to live by rclone's own metadata, reads it back, and
// keeps it through a change of the date, for which rclone copies the object onto
// itself.
func rcloneMetadata(c *session) {
	data := noise(3000, 71)
	c.do([]string{"copyto", "--metadata", "--metadata-set", "ttl=2h", c.file("up", data), on("described")})
	ends := c.header("described", "x-amz-expiration")
	if !strings.Contains(ends, `rule-id="ttl"`) {
		c.Errorf("x-amz-expiration is %q", ends)
	}
	for range 2 {
		if out := c.do([]string{"lsjson", "--metadata", on("described")}); !strings.Contains(out, `"ttl":"2h"`) {
			c.Errorf("the metadata is %s", out)
		}
		c.do([]string{"touch", "--timestamp", "2020-02-02T02:02:02", on("described")})
	}
	if got := c.header("described", "x-amz-expiration"); !strings.Contains(got, `rule-id="ttl"`) {
		c.Errorf("after a touch x-amz-expiration is %q, it was %q", got, ends)
	}
	c.holds("described", data)
}

// rcloneIdleTimes keeps objects after their last read, by a header and by rclone's own metadata.
func rcloneIdleTimes(c *session) {
	file := c.file("up", noise(3000, 74))
	c.do([]string{"copyto", "--header-upload", "x-amz-meta-idle-ttl: 7d", file, on("header")})
	c.do([]string{"copyto", "--metadata", "--metadata-set", "idle-ttl=7d", "--metadata-set", "ttl=1h", file, on("metadata")})
	if o := c.explained("header"); o.EndedBy != "idle" || o.Idle != "7d" {
		c.Errorf("with a header: %+v", o)
	}
	if o := c.explained("metadata"); o.EndedBy != "ttl" || o.Idle != "7d" {
		c.Errorf("with metadata: %+v", o)
	}
}

// rcloneUnderRules writes to a prefix that a lifecycle rule ends, and to one
// beside it.
func rcloneUnderRules(c *session) {
	rules := c.file("rules.json", []byte(`{"Rules":[{"ID":"scratch","Status":"Enabled","Filter":{"Prefix":"scratch/"},"Expiration":{"Date":"2020-01-01T00:00:00Z"}}]}`))
	c.lethe("lifecycle", "set", bucket, rules, "--yes")
	data := noise(7000, 72)
	c.do(c.put(c.file("up", data), "scratch/a"))
	c.do(c.put(c.file("up", noise(7001, 73)), "scratched/a"))
	c.eventually("what the rule ends is still there", func() bool {
		c.lethe("reclaim", "--once", "--yes")
		return len(c.keys("scratch/")) == 0 && !c.onDisk(data)
	})
	c.holds("scratched/a", noise(7001, 73))
	c.lethe("lifecycle", "rm", bucket, "--yes")
	c.do(c.put(c.file("up", data), "scratch/a"))
	c.lethe("reclaim", "--once", "--yes")
	c.holds("scratch/a", data)
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
