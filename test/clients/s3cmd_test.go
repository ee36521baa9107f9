package clients

import (
	"fmt"
	"strings"
	"testing"
)

func TestS3cmd(t *testing.T) {
	scenario(t, s3cmd, func(c *session) {
		info := c.do([]string{"info", at("lasting")})
		if !strings.Contains(info, "x-amz-meta-ttl: 1h") {
			c.Errorf("s3cmd info shows no time to live:\n%s", info)
		}
	})
}

func s3cmd(s *server) dialect {
	host := strings.TrimPrefix(s.s3, "http://")
	config := s.file("s3cfg", fmt.Appendf(nil, `[default]
access_key = %s
secret_key = %s
host_base = %s
host_bucket = %s
bucket_location = us-east-1
use_https = False
signature_v2 = False
multipart_chunk_size_mb = 5
progress_meter = False
max_retries = 2
`, s.access, s.secret, host, host))
	run := []string{program(s.T, "s3cmd"), "--config", config}
	return dialect{
		run:        run,
		makeBucket: func() []string { return []string{"mb", at("")} },
		put:        func(file, key string) []string { return []string{"put", file, at(key)} },
		putTTL: func(file, key, ttl string) []string {
			return []string{"put", "--add-header=x-amz-meta-ttl:" + ttl, file, at(key)}
		},
		get:  func(key, file string) []string { return []string{"get", "--force", at(key), file} },
		list: func(prefix string) []string { return []string{"ls", "--recursive", at(prefix)} },
		keyOf: func(line string) (string, bool) {
			_, key, ok := strings.Cut(line, at(""))
			return key, ok
		},
		syncUp: func(folder, prefix string) []string {
			return []string{"sync", "--delete-removed", folder + "/", at(prefix + "/")}
		},
		syncDown:     func(prefix, folder string) []string { return []string{"sync", at(prefix + "/"), folder + "/"} },
		copy:         func(from, to string) []string { return []string{"cp", at(from), at(to)} },
		remove:       func(key string) []string { return []string{"del", at(key)} },
		removeAll:    func() []string { return []string{"del", "--recursive", "--force", at("")} },
		removeBucket: func() []string { return []string{"rb", at("")} },
	}
}
