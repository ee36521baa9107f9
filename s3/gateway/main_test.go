package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/gateway"
	"github.com/lethe-storage/lethe/test/clocktest"
)

const (
	region  = "us-east-1"
	domain  = "s3.test"
	minPart = 1 << 10 // lowered, so that uploads of many parts are cheap

	accountBuckets = 20 // likewise
)

var root = gateway.Credentials{Access: "rootkey", Secret: "rootsecret-rootsecret"}

// world is the one server of this package's tests, with a real ledger.
type world struct {
	server *gateway.Server
	db     *sqlledger.DB
	disk   *memblob.Store
	store  *object.Store
	clock  *clocktest.Ahead
	addr   string

	mu       sync.Mutex
	requests []s3.RequestEvent
	failures []s3.Failure
	rotten   sync.Map // buckets whose bytes are damaged on purpose, and what takes their failures

	beforeChange atomic.Pointer[func()] // of bucket documents; see interposed
	heads        atomic.Int64           // look-ups of objects
}

var w *world

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	// Some machines export a bundle, which clients then trust exclusively.
	if err := os.Unsetenv("AWS_CA_BUNDLE"); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "lethe-s3-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if w, err = newWorld(dir); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done, err := w.serve(ctx)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	cancel()
	return code, errors.Join(<-done, w.settled(), w.db.Close())
}

func newWorld(dir string) (*world, error) {
	w := &world{disk: memblob.New(memblob.Options{}), clock: &clocktest.Ahead{}}
	ctx := context.Background()
	var err error
	w.db, err = sqlledger.Open(ctx, dir+"/ledger.db", ledger.Options{Clock: w.clock})
	if err != nil {
		return nil, err
	}
	if _, err := w.db.AddBackend(ctx, ledger.Backend{ID: "disk"}); err != nil {
		return nil, err
	}
	who, err := w.db.Identity(ctx)
	if err != nil {
		return nil, err
	}
	w.store, err = object.New(object.Options{
		Ledger: ledgertest.ForObjects(w.db), Backends: map[string]blob.Store{"disk": w.disk}, StoreID: who.ID,
		Clock: w.clock, MinPart: minPart, Small: 64 << 10, Background: true,
	})
	return w, err
}

// storeOf returns the parts of a store.
func storeOf(s *object.Store, db *sqlledger.DB) s3.Store {
	return s3.Store{Buckets: s, Documents: s, Rules: s, Objects: s, Uploads: s, Holds: s, Notifications: notified{db}}
}

// notified are the notification rules of buckets, which may name one target.
type notified struct{ *sqlledger.DB }

// MayUse implements s3.NotificationStore.
func (notified) MayUse(_, target string) error {
	if target != "app" {
		return notification.ErrNoTarget
	}
	return nil
}

func (w *world) serve(ctx context.Context) (<-chan error, error) {
	ready := make(chan string, 1)
	server, err := gateway.New(gateway.Options{
		Store: interpose(storeOf(w.store, w.db), &w.beforeChange, &w.heads), Keys: w.db, Root: root, Region: region, Domain: domain,
		Listen: []string{"127.0.0.1:0"}, Clock: w.clock, MinPart: minPart, AccountBuckets: accountBuckets,
		HeaderTimeout: 5 * time.Second, IdleTimeout: 10 * time.Second, Drain: 5 * time.Second,
		Events: s3.Events{Request: w.request, Failure: w.failure},
		Ready:  func(a []net.Addr) { ready <- a[0].String() },
	})
	if err != nil {
		return nil, err
	}
	w.server = server
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	select {
	case w.addr = <-ready:
		return done, nil
	case err := <-done:
		return nil, err
	}
}

func (w *world) request(r s3.RequestEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, r)
}

func (w *world) failure(f s3.Failure) {
	if take, ok := w.rotten.Load(f.Bucket); ok && errors.Is(f.Err, lethe.ErrCorrupt) {
		take.(func(s3.Failure))(f)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, f)
}

// settled returns an error for what a test run must not leave behind:
// unexpected errors, and inconsistent accounting.
func (w *world) settled() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	for _, f := range w.failures {
		err = errors.Join(err, fmt.Errorf("unforeseen in %s of %s/%s: %w", f.Operation, f.Bucket, f.Key, f.Err))
	}
	wrong, recountErr := w.db.Recount(context.Background())
	for _, d := range wrong {
		err = errors.Join(err, fmt.Errorf("books: %+v", d))
	}
	return errors.Join(err, recountErr)
}

// eventOf waits for the event of the last request to the key that matches.
func (w *world) eventOf(t *testing.T, matches func(s3.RequestEvent) bool) s3.RequestEvent {
	t.Helper()
	var found s3.RequestEvent
	eventually(t, "an event", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		i := slices.IndexFunc(w.requests, matches)
		if i >= 0 {
			found = w.requests[i]
		}
		return i >= 0
	})
	return found
}

// eventually polls a condition for up to 10 s.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// client returns an SDK client for the credentials, in path style unless change
// says otherwise.
func client(c gateway.Credentials, change func(*awss3.Options)) *awss3.Client {
	o := awss3.Options{
		Region: region, BaseEndpoint: aws.String("http://" + w.addr), UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: credentials(c), RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
	}
	if change != nil {
		change(&o)
	}
	return awss3.New(o)
}

func credentials(c gateway.Credentials) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: c.Access, SecretAccessKey: c.Secret}, nil
	})
}

// site is one test's bucket, with root's client.
type site struct {
	t      *testing.T
	ctx    context.Context
	bucket string
	addr   string // address for handmade requests
	*awss3.Client
}

// on returns the site on another server.
func (s *site) on(addr string) *site {
	c := *s
	c.addr = addr
	return &c
}

var sites atomic.Int64

// newSite makes a bucket of its own for a test.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, ctx: context.Background(), addr: w.addr, Client: client(root, nil)}
	s.bucket = fmt.Sprintf("bucket-%d", sites.Add(1))
	_, err := s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &s.bucket})
	s.must(err)
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// put stores an object with user metadata.
func (s *site) put(key, body string, user map[string]string) *awss3.PutObjectOutput {
	s.t.Helper()
	out, err := s.PutObject(s.ctx, &awss3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: strings.NewReader(body), Metadata: user,
	})
	s.must(err)
	return out
}

// get reads an object whole.
func (s *site) get(key string) (string, *awss3.GetObjectOutput) {
	s.t.Helper()
	out, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	s.must(err)
	return s.read(out.Body), out
}

func (s *site) read(body io.ReadCloser) string {
	s.t.Helper()
	data, err := io.ReadAll(body)
	s.must(errors.Join(err, body.Close()))
	return string(data)
}

// missing checks that the key does not exist.
func (s *site) missing(key string) {
	s.t.Helper()
	_, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	s.fails(err, 404, "NotFound")
	_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	s.fails(err, 404, "NoSuchKey")
}

// fails checks an error's status and code.
func (s *site) fails(err error, status int, code string) {
	s.t.Helper()
	gotStatus, gotCode := errorOf(err)
	if gotStatus != status || gotCode != code {
		s.t.Errorf("got %d %s, want %d %s (%v)", gotStatus, gotCode, status, code, err)
	}
}

func errorOf(err error) (status int, code string) {
	var resp *smithyhttp.ResponseError
	if errors.As(err, &resp) {
		status = resp.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	return status, code
}

// keys lists all keys of the bucket.
func (s *site) keys() []string {
	s.t.Helper()
	var out []string
	pages := awss3.NewListObjectsV2Paginator(s.Client, &awss3.ListObjectsV2Input{Bucket: &s.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.ctx)
		s.must(err)
		for _, o := range page.Contents {
			out = append(out, *o.Key)
		}
	}
	return out
}

// send sends a raw request and returns the status, the headers and the body.
func (s *site) send(r *http.Request) (int, http.Header, string) {
	s.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	return resp.StatusCode, resp.Header, s.read(resp.Body)
}

// pattern returns n bytes with a long period.
func pattern(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d,", i)
	}
	return b.Bytes()[:n]
}
