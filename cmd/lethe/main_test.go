package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// asCommand makes the test binary the command itself, for tests that need a
// process: its arguments, one per line.
const asCommand = "LETHETEST_COMMAND"

func TestMain(m *testing.M) {
	if args := os.Getenv(asCommand); args != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(run(ctx, strings.Split(args, "\n"), streams{os.Stdin, os.Stdout, os.Stderr}))
	}
	os.Exit(m.Run())
}

// tail is an output that can be read while it is written.
type tail struct {
	mu    sync.Mutex
	cond  *sync.Cond
	text  bytes.Buffer
	ended bool
}

func newTail() *tail {
	t := &tail{}
	t.cond = sync.NewCond(&t.mu)
	return t
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cond.Broadcast()
	return t.text.Write(p)
}

// end marks the end of the output.
func (t *tail) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.cond.Broadcast()
}

// await waits until the text contains what, or has ended.
func (t *tail) await(what string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !strings.Contains(t.text.String(), what) && !t.ended {
		t.cond.Wait()
	}
	return t.text.String(), strings.Contains(t.text.String(), what)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// quietTime is how long a server that was started on a store deletes nothing.
const quietTime = 90 * time.Second

// world is a data folder, with or without a running server.
type world struct {
	t        *testing.T
	dir      string
	settings []string // key=value
	clock    *clocktest.Ahead
	app      *app.App
	log      *tail
	spans    sdktrace.SpanExporter // nil if none
	// stopwatch measures durations, for tests that control it.
	stopwatch *clocktest.Clock
	metrics   string // addresses, kept after the server was stopped
	stop      func()
}

func newWorld(t *testing.T, settings ...string) *world {
	base := []string{
		"server.s3.listen=127.0.0.1:0", "server.paste.listen=127.0.0.1:0", "server.metrics.listen=127.0.0.1:0", "server.console.listen=127.0.0.1:0",
		"log.format=json", "reclaim.grace.read_grace=1m",
		"store.inline=none", // small bodies stand for large ones
	}
	// Tests run the routines.
	for _, r := range config.Default().Reclaim.Routines() {
		base = append(base, "reclaim."+r.Name+".enabled=false")
	}
	return &world{t: t, dir: t.TempDir() + "/d", settings: append(base, settings...), clock: &clocktest.Ahead{}}
}

// args appends the world's settings to a command.
func (w *world) args(command ...string) []string {
	args := append([]string{}, command...)
	// A command with exclusive use of the folder watches for another ledger
	// first.
	args = append(args, "--data-dir", w.dir, "--set", "reclaim.grace.heartbeat=10ms")
	for _, s := range w.settings {
		args = append(args, "--set", s)
	}
	return args
}

// start runs a server on the folder until stop, or the end of the test.
func (w *world) start() *world {
	w.t.Helper()
	if err := w.tryStart(); err != nil {
		w.t.Fatal(err)
	}
	return w
}

func (w *world) tryStart() error { return w.tryStartOn(newTail()) }

// tryStartOn starts with a log that can be read while it runs.
func (w *world) tryStartOn(log *tail) error {
	conf, err := config.Load("", nil, append(w.settings, "data_dir="+w.dir)...)
	if err != nil {
		return err
	}
	_, none := os.Stat(app.LedgerPath(w.dir))
	known := none == nil
	w.log = log
	o := app.Options{
		Log: app.NewLogger(conf.Log, w.log, newLevel()), Clock: w.clock, Version: "test", Spans: w.spans,
		Reload: func() (*config.Config, error) { return config.Load("", nil, append(w.settings, "data_dir="+w.dir)...) },
	}
	if w.stopwatch != nil {
		o.Stopwatch = w.stopwatch
	}
	a, err := app.New(context.Background(), conf, o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
		if err := a.Close(); err != nil {
			w.t.Error(err)
		}
		w.app = nil
	})
	w.t.Cleanup(w.stop)
	select {
	case <-a.Ready():
	case err := <-ended:
		ended <- nil
		return err
	}
	w.app, w.metrics = a, a.Addresses().Metrics+"/metrics"
	if known {
		w.clock.Advance(quietTime)
	}
	return nil
}

// lethe runs a command on the folder, with --yes if it asks.
func (w *world) lethe(command ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), w.args(withYes(command)...), streams{strings.NewReader(""), &stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

// ok runs a command that has to succeed, and returns its output. Status may find something: its
// code is the severity.
func (w *world) ok(command ...string) string {
	w.t.Helper()
	code, out, errs := w.lethe(command...)
	if code != 0 && (command[0] != "status" || code == exitUnknown) {
		w.t.Fatalf("lethe %s: exit code %d\n%s%s", strings.Join(command, " "), code, out, errs)
	}
	return out
}

// fails runs a command that has to fail with an error that contains want.
func (w *world) fails(want string, command ...string) {
	w.t.Helper()
	code, out, errs := w.lethe(command...)
	if code == 0 || !strings.Contains(errs, want) {
		w.t.Fatalf("lethe %s: exit code %d, wanted an error with %q\n%s%s", strings.Join(command, " "), code, want, out, errs)
	}
}

// asked runs a command that prints JSON, and decodes it.
func asked[T any](w *world, command ...string) (v T) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.ok(append(command, "--json")...)), &v); err != nil {
		w.t.Fatal(err)
	}
	return v
}

// oneRequest closes each connection after its request. Clients that keep theirs would add up
// to what the server accepts from one address.
var oneRequest = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// s3 returns a client with the key; the root's if it is empty.
func (w *world) s3(access, secret string) *awss3.Client {
	if access == "" {
		access, secret = w.app.Root.Access, w.app.Root.Secret.Reveal()
	}
	return s3At(w.app.Addresses().S3, access, secret)
}

// s3At returns a client of an endpoint.
func s3At(endpoint, access, secret string) *awss3.Client {
	return awss3.New(awss3.Options{
		BaseEndpoint: aws.String(endpoint), Region: "us-east-1", UsePathStyle: true, RetryMaxAttempts: 1,
		HTTPClient: oneRequest,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: access, SecretAccessKey: secret}, nil
		}),
	})
}

// bucket makes a bucket.
func (w *world) bucket(name string) {
	w.t.Helper()
	if _, err := w.s3("", "").CreateBucket(context.Background(), &awss3.CreateBucketInput{Bucket: &name}); err != nil {
		w.t.Fatal(err)
	}
}

// put stores an object; ttl may be empty.
func (w *world) put(bucket, key, body, ttl string) {
	w.t.Helper()
	in := &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(body)}
	if ttl != "" {
		in.Metadata = map[string]string{"ttl": ttl}
	}
	if _, err := w.s3("", "").PutObject(context.Background(), in); err != nil {
		w.t.Fatal(err)
	}
}

// remove deletes an object.
func (w *world) remove(bucket, key string) {
	w.t.Helper()
	if _, err := w.s3("", "").DeleteObject(context.Background(), &awss3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
		w.t.Fatal(err)
	}
}
