package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// TestAWS2 runs version 2 of the aws command, which is what Debian has.
func TestAWS2(t *testing.T) {
	scenario(t, func(s *server) dialect { return aws(s, awsTwo(s.T)) }, awsRanges, awsRefusesRot, awsDeletesMany, awsChangesTTL, awsPresigns, awsReadsOnce, awsTells)
}

// TestAWS1 runs version 1 where some Python has it: its library sends newer
// checksums than Debian's version 2.
func TestAWS1(t *testing.T) {
	out, err := exec.Command("python3", "-c", "import sys, awscli; print(sys.executable)").Output()
	if err != nil {
		t.Skip("version 1 of the aws command is not installed (python3 has no awscli); it is optional")
	}
	run := []string{strings.TrimSpace(string(out)), "-m", "awscli"}
	scenario(t, func(s *server) dialect { return aws(s, run) }, awsDeletesMany)
}

// awsTwo finds version 2, whichever version PATH has first.
func awsTwo(t *testing.T) []string {
	for _, name := range []string{"aws", "/usr/bin/aws"} {
		if out, err := exec.Command(name, "--version").Output(); err == nil && strings.HasPrefix(string(out), "aws-cli/2") {
			return []string{name}
		}
	}
	missing(t, "version 2 of aws")
	return nil
}

func at(key string) string { return "s3://" + bucket + "/" + key }

func aws(s *server, run []string) dialect {
	s3 := func(args ...string) []string { return append([]string{"--endpoint-url", s.s3, "s3"}, args...) }
	quiet := func(args ...string) []string { return s3(append(args, "--only-show-errors")...) }
	return dialect{
		run: run,
		env: []string{
			"AWS_ACCESS_KEY_ID=" + s.access, "AWS_SECRET_ACCESS_KEY=" + s.secret, "AWS_DEFAULT_REGION=us-east-1",
			"AWS_MAX_ATTEMPTS=2", "AWS_PAGER=",
		},
		makeBucket: func() []string { return s3("mb", at("")) },
		put:        func(file, key string) []string { return quiet("cp", file, at(key)) },
		putTTL: func(file, key, ttl string) []string {
			return quiet("cp", file, at(key), "--metadata", "ttl="+ttl)
		},
		get:  func(key, file string) []string { return quiet("cp", at(key), file) },
		list: func(prefix string) []string { return s3("ls", "--recursive", at(prefix)) },
		keyOf: func(line string) (string, bool) {
			// Date, time and size stand before the key.
			const before = len("2006-01-02 15:04:05 1234567890 ")
			return line[min(len(line), before):], len(line) > before
		},
		syncUp:       func(folder, prefix string) []string { return quiet("sync", "--delete", folder, at(prefix)) },
		syncDown:     func(prefix, folder string) []string { return quiet("sync", at(prefix), folder) },
		copy:         func(from, to string) []string { return quiet("cp", at(from), at(to)) },
		remove:       func(key string) []string { return quiet("rm", at(key)) },
		removeAll:    func() []string { return quiet("rm", "--recursive", at("")) },
		removeBucket: func() []string { return s3("rb", at("")) },
	}
}

// api runs an operation of S3 by its name and reads the answer into into.
func (c *session) api(into any, operation string, args ...string) {
	c.Helper()
	out := c.do(append([]string{"--endpoint-url", c.s3, "s3api", operation, "--bucket", bucket, "--output", "json"}, args...))
	if into != nil {
		c.must(json.Unmarshal([]byte(out), into))
	}
}

func awsRanges(c *session) {
	data := noise(10_000, 70)
	c.do(c.put(c.file("up", data), "ranged"))
	for spec, want := range map[string][]byte{"bytes=0-0": data[:1], "bytes=5-104": data[5:105], "bytes=9990-": data[9990:], "bytes=-7": data[9993:]} {
		c.api(nil, "get-object", "--key", "ranged", "--range", spec, c.path("range"))
		c.equal(c.path("range"), want)
	}
	if out, err := c.try([]string{
		"--endpoint-url", c.s3, "s3api", "get-object", "--bucket", bucket, "--key", "ranged", "--range", "bytes=10000-", c.path("range"),
	}); err == nil || !strings.Contains(err.Error(), "InvalidRange") {
		c.Errorf("a range beyond the end: %s, %v", out, err)
	}
}

// awsRefusesRot damages a file under an object of 24 MiB: the command downloads by
// parallel ranges, and must not call that a success.
func awsRefusesRot(c *session) {
	data := noise(24<<20, 71)
	others := c.files()
	c.do(c.put(c.file("up", data), "rotten"))
	c.do(c.get("rotten", c.path("sound")))
	c.equal(c.path("sound"), data)
	for _, part := range c.files() {
		if slices.Contains(others, part) {
			continue
		}
		file, err := os.OpenFile(part, os.O_RDWR, 0)
		c.must(err)
		_, err = file.WriteAt([]byte("rot"), 4<<20)
		c.must(err)
		c.must(file.Close())
	}
	if out, err := c.try(c.get("rotten", c.path("rotten"))); err == nil {
		c.Errorf("a damaged object was downloaded: %s", out)
	}
	if _, err := os.Stat(c.path("rotten")); err == nil {
		c.Error("a file was left of a damaged object")
	}
	c.do(c.remove("rotten"))
}

// awsDeletesMany names 300 objects in one request, of which half are missing.
func awsDeletesMany(c *session) {
	for i := range 150 {
		c.file(fmt.Sprintf("many/%03d", 2*i), noise(64, uint64(200+i)))
	}
	c.do(c.syncUp(c.path("many"), "many"))
	type item struct{ Key string }
	var request struct{ Objects []item }
	for i := range 300 {
		request.Objects = append(request.Objects, item{fmt.Sprintf("many/%03d", i)})
	}
	body, err := json.Marshal(request)
	c.must(err)
	var answer struct {
		Deleted []item
		Errors  []any
	}
	c.api(&answer, "delete-objects", "--delete", "file://"+c.file("delete.json", body))
	if len(answer.Deleted) != 300 || len(answer.Errors) != 0 {
		c.Errorf("%d of 300 were deleted, %d errors", len(answer.Deleted), len(answer.Errors))
	}
	if left := c.keys("many/"); len(left) != 0 {
		c.Errorf("left are %q", left)
	}
}

// awsChangesTTL gives an object another time to live without uploading again.
func awsChangesTTL(c *session) {
	c.do(c.put(c.file("up", noise(777, 80)), "changed"))
	c.api(nil, "copy-object", "--key", "changed", "--copy-source", bucket+"/changed", "--metadata-directive", "REPLACE", "--metadata", "ttl=12h")
	var head struct {
		Expiration string
		Metadata   map[string]string
	}
	c.api(&head, "head-object", "--key", "changed")
	var date, rule string
	_, err := fmt.Sscanf(head.Expiration, "expiry-date=%q, rule-id=%q", &date, &rule)
	c.must(err)
	due, err := time.Parse(time.RFC1123, date)
	c.must(err)
	if left := due.Sub(lethe.SystemClock{}.Now().Time()); rule != "ttl" || left < 11*time.Hour || left > 12*time.Hour {
		c.Errorf("the object ends in %v by rule %q, want 12h by its time to live", left, rule)
	}
}

// awsReadsOnce reads a secret that can be read once.
func awsReadsOnce(c *session) {
	data := noise(999, 82)
	c.do(append(c.put(c.file("up", data), "once"), "--metadata", "reads=1"))
	c.api(nil, "head-object", "--key", "once")
	c.do(c.get("once", c.path("down")))
	c.equal(c.path("down"), data)
	c.lacks("once")
}

func awsPresigns(c *session) {
	data := noise(888, 81)
	c.do(c.put(c.file("up", data), "presigned"))
	link := strings.TrimSpace(c.do([]string{"--endpoint-url", c.s3, "s3", "presign", at("presigned"), "--expires-in", "60"}))
	_, err := command{folder: c.home, env: environment(c.home), args: []string{
		program(c.T, "curl"), "-q", "-sSf", "--noproxy", "*", "--max-time", "30", "-o", "shared", link,
	}}.run()
	c.must(err)
	c.equal(c.path("shared"), data)
}
