package twoledgers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/instance"
)

const (
	bucket = "things"
	access = "doubtroot"
	secret = "doubtsecret"

	requestTime = 30 * time.Second // after which a client gives up
)

// side is an instance of lethe on a ledger of its own.
type side struct {
	*testing.T
	name    string
	shelf   *shelf
	folder  string // the data folder
	config  string
	clock   string // a file that says by how much its clock is ahead; empty: none
	process *instance.Process
	s3      *s3.Client
	admin   *api.Client
	metrics string            // URL
	reached chan string       // failpoints
	lists   map[string]string // what its clients know: digests by key
}

// settings are what sides differ in.
type settings struct {
	database  string        // URL; empty: a file in the data folder
	heartbeat time.Duration // 0: short
}

// short is a heartbeat of which many pass in a test.
const short = time.Second

var configuration = template.Must(template.New("lethe.yaml").Parse(`
data_dir: {{.Folder}}
root: {access_key: {{.Access}}, secret: {{.Secret}}}
{{with .Database}}database: {url: "{{.}}", connections: 8, engine_connections: 4}{{end}}
server:
  s3: {listen: "127.0.0.1:0"}
  paste: {listen: "off"}
  metrics: {listen: "127.0.0.1:0"}
  console: {listen: "off"}
  drain_timeout: 5s
store: {memory_body: 64KiB}
cache: {size: none}
backends: [{{.Backend}}]
reclaim:
  expire: {schedule: "every 200ms"}
  clean: {schedule: "every 200ms"}
  verify: {enabled: false}
  grace: {heartbeat: {{.Heartbeat}}, min_age: 1m, late_window: 20ms, read_grace: 1ms, moved_grace: 1ms, claim_grace: 1s, backoff_min: 100ms, backoff_max: 1s}
log: {format: json, level: info}
`))

// newSide writes the configuration of a side that does not run yet.
func newSide(t *testing.T, name string, on *shelf, with settings) *side {
	t.Helper()
	s := &side{T: t, name: name, shelf: on, folder: filepath.Join(t.TempDir(), name), lists: map[string]string{}}
	s.config = s.folder + ".yaml"
	s.configure(with)
	return s
}

// configure writes the configuration for the next start.
func (s *side) configure(with settings) {
	s.Helper()
	if with.heartbeat == 0 {
		with.heartbeat = short
	}
	f, err := os.OpenFile(s.config, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	s.must(err)
	s.must(configuration.Execute(f, map[string]any{
		"Folder": s.folder, "Access": access, "Secret": secret, "Database": with.database, "Backend": s.shelf.yaml(), "Heartbeat": with.heartbeat,
	}))
	s.must(f.Close())
}

func (s *side) must(err error) {
	s.Helper()
	if err == nil {
		return
	}
	if s.process != nil {
		s.Logf("the log of the %s:\n%s", s.name, s.process.Tail())
	}
	s.Fatalf("the %s: %v", s.name, err)
}

// start runs the process until it serves, with a failpoint if one is named.
func (s *side) start(point string) {
	s.Helper()
	cmd := exec.Command(binary, "serve", "--config", s.config)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2", "LETHE_FAILPOINT="+point, "LETHE_CLOCK_AHEAD="+s.clock)
	serving := make(chan string, 1)
	s.reached = make(chan string, 1)
	p, err := instance.Start(cmd, func(line string) {
		var told struct{ Msg, Metrics string }
		if json.Unmarshal([]byte(line), &told) == nil && told.Msg == "serving" {
			serving <- told.Metrics
		}
		if point, ok := strings.CutPrefix(line, "failpoint "); ok {
			s.reached <- point
		}
	})
	s.must(err)
	s.process = p
	if p.Dead() {
		s.must(errors.New("it ended instead of serving"))
	}
	s.Cleanup(p.Kill)
	s.metrics = <-serving
	s.s3 = p.Client(aws.Credentials{AccessKeyID: access, SecretAccessKey: secret}, 4, requestTime)
	s.admin = &api.Client{Base: "http://lethe", HTTP: api.Unix(filepath.Join(s.folder, "admin.sock"))}
}

// from gives a side that runs on a fork of a ledger what the clients of that know.
func (s *side) from(other *side) { s.lists = maps.Clone(other.lists) }

// lethe runs a command of lethe.
func (s *side) lethe(args ...string) string {
	s.Helper()
	out, err := exec.CommandContext(s.Context(), binary, append(args, "--config", s.config)...).CombinedOutput()
	if found := new(exec.ExitError); args[0] == "status" && errors.As(err, &found) && found.ExitCode() < 3 {
		err = nil // the code is the severity of what it found
	}
	if err != nil {
		s.must(fmt.Errorf("lethe %s: %w: %s", strings.Join(args, " "), err, out))
	}
	return string(out)
}

func (s *side) makeBucket() {
	s.Helper()
	_, err := s.s3.CreateBucket(s.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	s.must(err)
}

// put stores an object of chance, with a time to live unless that is 0.
func (s *side) put(key string, ttl time.Duration) {
	s.Helper()
	body := make([]byte, 2000)
	_, _ = rand.Read(body) // never fails
	in := &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: bytes.NewReader(body)}
	if ttl > 0 {
		in.Metadata = map[string]string{"ttl": ttl.String()}
	}
	_, err := s.s3.PutObject(s.Context(), in)
	s.must(err)
	s.lists[key] = digest(body)
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func (s *side) remove(key string) {
	s.Helper()
	_, err := s.s3.DeleteObject(s.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key})
	s.must(err)
	delete(s.lists, key)
}

// lives gives an object another time to live.
func (s *side) lives(key string, ttl time.Duration) {
	s.Helper()
	_, err := api.Call[api.ObjectInfo](s.Context(), s.admin, "ttl/set", api.TTLRequest{
		ObjectName: api.ObjectName{Bucket: bucket, Key: key}, TTL: ttl.String(),
	})
	s.must(err)
}

// keys are what a list of the bucket names.
func (s *side) keys() (list []string) {
	s.Helper()
	out, err := s.s3.ListObjectsV2(s.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	s.must(err)
	for _, o := range out.Contents {
		list = append(list, *o.Key)
	}
	return list
}

// ended waits until clients do not see an object any more whose time to live ends.
func (s *side) ended(key string) {
	s.Helper()
	s.until(key+" ends", func() error {
		if slices.Contains(s.keys(), key) {
			return errors.New("it is still listed")
		}
		return nil
	})
	delete(s.lists, key)
}

// whole checks that every object is listed whose clients know of, no other, and that
// each reads back with its bytes.
func (s *side) whole(when string) {
	s.Helper()
	listed := s.keys()
	if want := slices.Sorted(maps.Keys(s.lists)); !slices.Equal(listed, want) {
		s.Errorf("%s the %s lists %v, not %v", when, s.name, listed, want)
	}
	for _, key := range listed {
		if body, err := s.get(key); err != nil || digest(body) != s.lists[key] {
			s.Errorf("%s %s, which the %s lists, is lost: %d bytes, %v", when, key, s.name, len(body), err)
		}
	}
}

func (s *side) get(key string) ([]byte, error) {
	out, err := s.s3.GetObject(s.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(out.Body)
	return body, errors.Join(err, out.Body.Close())
}

// reclaim runs what removes objects and bytes until nothing is left for it to do.
func (s *side) reclaim() {
	s.Helper()
	_, err := s.admin.Reclaim(s.Context(), api.ReclaimRequest{Only: []string{"expire", "clean"}}, func(api.Event) {})
	s.must(err)
}

// backlog is how many blobs wait to be deleted.
func (s *side) backlog() (n int64) {
	s.Helper()
	status, err := s.admin.Status(s.Context())
	s.must(err)
	for _, t := range status.Backends[0].States {
		if t.State != lethe.Live.String() {
			n += t.Blobs
		}
	}
	return n
}

// drained waits until nothing is left to be deleted.
func (s *side) drained() {
	s.Helper()
	s.until("deletes go on", func() error {
		if n := s.backlog(); n > 0 {
			return fmt.Errorf("%d blobs wait to be deleted", n)
		}
		return nil
	})
}

// until waits until something holds.
func (s *side) until(what string, holds func() error) {
	s.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			s.must(fmt.Errorf("%s: after %s %w", what, patience, err))
		}
	}
}

// held waits until deletes are stopped, which status, /readyz and the metric of the
// alert LetheBackendHeld have to say, with the reason, an expression, and what to do.
func (s *side) held(because string) {
	s.Helper()
	s.until("deletes are held", func() error {
		status, err := s.admin.Status(s.Context())
		s.must(err)
		if why := status.Backends[0].Held; why == "" || !regexp.MustCompile(because).MatchString(why) {
			return fmt.Errorf("they are held for %q, not because %q", why, because)
		}
		return nil
	})
	next := "lethe backend accept main"
	if text := s.lethe("status"); !strings.Contains(text, "deletes on backend main are stopped") || !regexp.MustCompile(because).MatchString(text) || !strings.Contains(text, next) {
		s.Errorf("status of the %s says\n%s", s.name, text)
	}
	if code, text := s.ask("/readyz"); code != http.StatusOK || !regexp.MustCompile(because).MatchString(text) || !strings.Contains(text, next) {
		s.Errorf("/readyz of the %s says %d %s", s.name, code, text)
	}
	s.tells(1)
}

// tells waits for the metric that says whether deletes are stopped: it may be some
// seconds old.
func (s *side) tells(held int) {
	s.Helper()
	line := fmt.Sprintf("\nlethe_backend_held{backend=\"main\"} %d\n", held)
	s.until("metrics", func() error {
		if _, text := s.ask("/metrics"); !strings.Contains(text, line) {
			return fmt.Errorf("there is no line %q", line)
		}
		return nil
	})
}

// goesOn checks that deletes are not stopped, and that nothing says so.
func (s *side) goesOn() {
	s.Helper()
	if text := s.lethe("status"); strings.Contains(text, "are stopped") {
		s.Errorf("status of the %s says\n%s", s.name, text)
	}
	if _, text := s.ask("/readyz"); text != "ok\n" {
		s.Errorf("/readyz of the %s says %s", s.name, text)
	}
	s.tells(0)
}

func (s *side) ask(path string) (int, string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.metrics, "/metrics")+path, nil)
	s.must(err)
	res, err := http.DefaultClient.Do(req)
	s.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	s.must(err)
	return res.StatusCode, string(text)
}
