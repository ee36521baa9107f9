package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// cached is a bucket that bazel-remote uses, on a server whose clock a test moves.
type cached struct {
	*server
	clock  *clocktest.Ahead
	app    *app.App
	remote string // the URL of a bazel-remote
	log    string // its file
	starts int
	sent   int // entries that it was to send on
}

// serveCached serves from this process a bucket with settings of "buckets set".
func serveCached(t *testing.T, settings ...string) *cached {
	t.Helper()
	s := &server{T: t, home: t.TempDir()}
	s.data = s.path("data")
	c := &cached{server: s, clock: &clocktest.Ahead{}}
	s.must(os.WriteFile(s.path("lethe.yaml"), []byte(configuration), 0o600))
	conf, err := config.Load(s.path("lethe.yaml"), nil, "data_dir="+s.data, "store.head_counts=true")
	s.must(err)
	c.app, err = app.New(t.Context(), conf, app.Options{Log: slog.New(slog.NewJSONHandler(s, nil)), Clock: c.clock, Version: "test"})
	s.must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := c.app.Close(); err != nil {
			t.Error(err)
		}
	})
	<-c.app.Ready()
	s.s3 = c.app.Addresses().S3
	s.credentials()
	s.curl("", "-X", "PUT")
	s.lethe(append([]string{"buckets", "set", bucket, "--yes"}, settings...)...)
	return c
}

// fresh starts a bazel-remote with an empty disk, so that it has to ask the bucket for everything.
func (c *cached) fresh() {
	c.Helper()
	c.starts++
	at := freePort(c.T)
	cmd := exec.Command(program(c.T, "bazel-remote"), "--dir", c.path(fmt.Sprintf("bazel-%d", c.starts)), "--max_size", "1", "--storage_mode", "uncompressed",
		"--http_address", at, "--grpc_address", "none", "--s3.endpoint", strings.TrimPrefix(c.s3, "http://"), "--s3.bucket", bucket, "--s3.disable_ssl",
		"--s3.auth_method", "access_key", "--s3.access_key_id", c.access, "--s3.secret_access_key", c.secret)
	cmd.Env = environment(c.home)
	c.log, c.sent = c.path(fmt.Sprintf("bazel-%d.log", c.starts)), 0
	log, err := os.Create(c.log)
	c.must(err)
	cmd.Stdout, cmd.Stderr = log, log
	c.must(cmd.Start())
	c.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
	})
	c.remote = "http://" + at
	c.eventually("bazel-remote does not answer", func() bool {
		res, err := http.Get(c.remote + "/status")
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
}

// ask sends a request about an entry of the cache to bazel-remote, and returns the status and the
// body of the answer.
func (c *cached) ask(method string, entry []byte) (int, []byte) {
	sum := sha256.Sum256(entry)
	var body io.Reader
	if method == http.MethodPut {
		body = strings.NewReader(string(entry))
	}
	req, err := http.NewRequestWithContext(c.Context(), method, c.remote+"/cas/"+hex.EncodeToString(sum[:]), body)
	if err != nil {
		c.Error(err)
		return 0, nil
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Error(err)
		return 0, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.Error(err)
	}
	return res.StatusCode, data
}

// all asks for each of many entries at a time, and returns how many it found.
func (c *cached) all(method string, entries [][]byte) int {
	c.Helper()
	var group sync.WaitGroup
	next := make(chan []byte)
	found := make(chan int, 8)
	for range cap(found) {
		group.Go(func() {
			n := 0
			for e := range next {
				switch code, data := c.ask(method, e); {
				case code == http.StatusOK && method == http.MethodGet && string(data) != string(e):
					c.Errorf("%d bytes came back of an entry of %d, or others", len(data), len(e))
				case code == http.StatusOK:
					n++
				case code != http.StatusNotFound:
					c.Errorf("%s: %d %s", method, code, data)
				}
			}
			found <- n
		})
	}
	for _, e := range entries {
		next <- e
	}
	close(next)
	group.Wait()
	close(found)
	sum := 0
	for n := range found {
		sum += n
	}
	return sum
}

// puts stores entries, and waits until bazel-remote has sent them on, which it does later.
func (c *cached) puts(entries [][]byte) {
	c.Helper()
	if n := c.all(http.MethodPut, entries); n != len(entries) {
		c.Fatalf("%d of %d entries were taken", n, len(entries))
	}
	c.sent += len(entries)
	c.eventually("entries are not in the bucket", func() bool {
		log, err := os.ReadFile(c.log)
		c.must(err)
		tried, done := uploads.FindAll(log, -1), 0
		for _, line := range tried {
			if strings.HasSuffix(string(line), " OK") {
				done++
			}
		}
		if done < len(tried) {
			c.Fatalf("uploads failed:\n%s", bytes.Join(tried, []byte("\n")))
		}
		return done == c.sent
	})
}

// uploads are lines of bazel-remote's log.
var uploads = regexp.MustCompile(`(?m)^.* S3 UPLOAD .*$`)

// entries returns some that are unlike all others.
func entries(n, seed int) (list [][]byte) {
	for i := range n {
		list = append(list, noise(500+i*700, uint64(seed*1000+i)))
	}
	return list
}

// ended fails unless all went, with a receipt, and the counters are exact.
func (c *cached) ended() {
	c.Helper()
	c.eventually("something is left", func() bool {
		c.lethe("reclaim", "--once", "--yes", "--only", "expire,clean,receipts")
		return backlog(c.status()) == 0
	})
	c.empty()
}

// TestBazelRemote: a build cache keeps what builds use, by GET and by HEAD, and forgets the rest.
func TestBazelRemote(t *testing.T) {
	begin(t)
	c := serveCached(t, "--default-idle", "1h")
	read, looked, unread := entries(20, 1), entries(10, 2), entries(20, 3)
	c.fresh()
	for _, list := range [][][]byte{read, looked, unread} {
		c.puts(list)
	}
	const builds = 5
	for build := range builds {
		c.clock.Advance(25 * time.Minute)
		c.fresh()
		c.puts(entries(10, 10+build))
		if n, m := c.all(http.MethodGet, read), c.all(http.MethodHead, looked); n != len(read) || m != len(looked) {
			t.Fatalf("build %d found %d of %d by GET, %d of %d by HEAD", build, n, len(read), m, len(looked))
		}
		c.must(c.app.Objects.NoteReads(t.Context()))
		c.lethe("reclaim", "--once", "--yes", "--only", "expire,clean")
	}
	if n := c.all(http.MethodGet, unread); n != 0 {
		t.Errorf("%d of %d entries that nobody read are there", n, len(unread))
	}
	// An hour, a tenth and a minute before, two builds had not stored theirs yet.
	if n, want := c.status().Objects, int64(len(read)+len(looked)+3*10); n != want {
		t.Errorf("%d objects are there, want %d", n, want)
	}
	asked := builds*(len(read)+len(looked)) + len(unread)
	if text, want := c.lethe("usage", "s3://"+bucket), fmt.Sprintf("88 %% of %d found", asked); !strings.Contains(text, want) {
		t.Errorf("it does not say %q:\n%s", want, text)
	}
	c.clock.Advance(90 * time.Minute)
	c.ended()
}
