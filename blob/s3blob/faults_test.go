package s3blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/test/servers"
)

// network is a transport with the faults that a test sets. Without any, requests
// pass.
type network struct {
	mu    sync.Mutex
	fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)
	seen  map[string]int // requests by operation
}

func (n *network) set(fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fault, n.seen = fault, map[string]int{}
}

func (n *network) count(op string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen[op]
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	fault := n.fault
	if n.seen == nil {
		n.seen = map[string]int{}
	}
	n.seen[operation(r)]++
	n.mu.Unlock()
	pass := func() (*http.Response, error) { return http.DefaultTransport.RoundTrip(r) }
	if fault == nil {
		return pass()
	}
	return fault(r, pass)
}

// operation is the operation of a request, in one word.
func operation(r *http.Request) string {
	q := r.URL.Query()
	for _, o := range []struct{ method, parameter, name string }{
		{"POST", "delete", "delete-objects"}, {"POST", "uploads", "create"}, {"POST", "uploadId", "complete"},
		{"PUT", "uploadId", "part"}, {"DELETE", "uploadId", "abort"}, {"GET", "uploads", "list-uploads"}, {"GET", "uploadId", "list-parts"},
		{"GET", "list-type", "list"}, {"GET", "versioning", "versioning"}, {"GET", "object-lock", "lock"}, {"GET", "lifecycle", "lifecycle"},
		{"GET", "tagging", "tags"},
	} {
		if r.Method == o.method && q.Has(o.parameter) {
			return o.name
		}
	}
	return strings.ToLower(r.Method)
}

// on applies a fault to one operation.
func on(op string, fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if operation(r) != op {
			return pass()
		}
		return fault(r, pass)
	}
}

// says makes a response without the service.
func says(r *http.Request, status int, body string, header ...string) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	h := http.Header{"Content-Type": {"application/xml"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// s3Error is an error response of S3.
func s3Error(status int, code string, header ...string) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return says(r, status, "<Error><Code>"+code+"</Code><Message>so it is</Message></Error>", header...)
	}
}

// lost has the effect, and loses the response.
func lost(err error) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, passed := pass()
		if passed == nil {
			_ = answer.Body.Close()
		}
		return nil, err
	}
}

// dial is the error of a connection that was refused.
var errDial = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}

// faulty opens a store on an empty bucket, with a network that can be disturbed.
func faulty(t *testing.T, change ...func(*Options)) (*Store, *network) {
	t.Helper()
	at := servers.GoFakeS3(t)
	n := &network{}
	o := optionsOf(at, at.Bucket(t))
	o.Transport, o.PartSize, o.smallParts, o.Timeout = n, 1000, true, 20*time.Second
	for _, c := range change {
		c(&o)
	}
	return openBucket(t, o), n
}

func put(s *Store, key string, n int) error {
	return s.Put(context.Background(), key, bytes.NewReader(make([]byte, n)), int64(n))
}

func size(t *testing.T, s *Store, key string) int64 {
	t.Helper()
	info, err := s.Stat(context.Background(), key)
	if errors.Is(err, blob.ErrNotExist) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size
}

// want checks which of the kinds an error is, and that it is no other of them.
func want(t *testing.T, what string, err error, kinds ...error) {
	t.Helper()
	for _, kind := range []error{blob.ErrNotDone, blob.ErrUnknown, blob.ErrDown, blob.ErrFull, blob.ErrUnfit, blob.ErrExist, blob.ErrNotExist, context.DeadlineExceeded} {
		is := false
		for _, k := range kinds {
			is = is || k == kind
		}
		if errors.Is(err, kind) != is {
			t.Errorf("%s: %v: it is %q: %v; want %v", what, err, kind, !is, is)
		}
	}
}

func TestPutSaysWhatIsKnown(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)
		kinds []error
		there bool
	}{
		{"refused connection", func(*http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errDial }, []error{blob.ErrNotDone, blob.ErrDown}, false},
		{"no such host", func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "s3.example.org"}
		}, []error{blob.ErrNotDone, blob.ErrDown}, false},
		{"reset after the effect", lost(errReset), []error{blob.ErrUnknown, blob.ErrDown}, true},
		{"end after the effect", lost(io.EOF), []error{blob.ErrUnknown, blob.ErrDown}, true},
		{"timeout after the effect", lost(context.DeadlineExceeded), []error{blob.ErrUnknown, blob.ErrDown, context.DeadlineExceeded}, true},
		{"slow down", s3Error(503, "SlowDown"), []error{blob.ErrUnknown, blob.ErrDown}, false},
		{"too many requests", s3Error(429, "TooManyRequests"), []error{blob.ErrNotDone, blob.ErrDown}, false},
		{"internal error", s3Error(500, "InternalError"), []error{blob.ErrUnknown}, false},
		{"bad gateway", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
			return says(r, 502, "<html><body>no</body></html>")
		}, []error{blob.ErrUnknown, blob.ErrDown}, false},
		{"proxy says no", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
			return says(r, 400, "<html><body>no</body></html>")
		}, []error{blob.ErrUnknown}, false},
		{"bad digest", s3Error(400, "BadDigest"), []error{blob.ErrNotDone}, false},
		{"request timeout of S3", s3Error(400, "RequestTimeout"), []error{blob.ErrNotDone, blob.ErrDown}, false},
		{"access denied", s3Error(403, "AccessDenied"), []error{blob.ErrNotDone, blob.ErrDown}, false},
		{"no such bucket", s3Error(404, "NoSuchBucket"), []error{blob.ErrNotDone, blob.ErrDown}, false},
		{"another region", s3Error(301, "PermanentRedirect", "X-Amz-Bucket-Region", "eu-west-3"), []error{blob.ErrNotDone, blob.ErrDown}, false},
		{"quota", s3Error(403, "QuotaExceeded"), []error{blob.ErrNotDone, blob.ErrFull}, false},
		{"disk full", s3Error(507, "XMinioStorageFull"), []error{blob.ErrUnknown, blob.ErrFull}, false},
		{"exists", s3Error(412, "PreconditionFailed"), []error{blob.ErrExist}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, n := faulty(t)
			n.set(on("put", test.fault))
			err := put(s, "a", 100)
			want(t, "put", err, test.kinds...)
			if got := n.count("put"); got != 1 {
				t.Errorf("it was sent %d times", got)
			}
			if strings.Contains(err.Error(), s.o.SecretKey) {
				t.Errorf("the error holds the secret: %v", err)
			}
			n.set(nil)
			if there := size(t, s, "a") == 100; there != test.there {
				t.Errorf("the blob is there: %v; want %v", there, test.there)
			}
		})
	}
}

// A PUT that was refused because another one was in flight had no effect, and is
// repeated.
func TestPutAgainAfterConflict(t *testing.T) {
	s, n := faulty(t)
	n.set(on("put", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if n.count("put") < 3 {
			return s3Error(409, "ConditionalRequestConflict")(r, pass)
		}
		return pass()
	}))
	if err := put(s, "a", 10); err != nil || n.count("put") != 3 {
		t.Errorf("after %d: %v", n.count("put"), err)
	}
	n.set(on("put", s3Error(409, "ConditionalRequestConflict")))
	want(t, "always in conflict", put(s, "b", 10), blob.ErrNotDone)
}

func TestPutThatTakesTooLong(t *testing.T) {
	s, n := faulty(t, func(o *Options) { o.Timeout = 300 * time.Millisecond })
	n.set(on("put", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}))
	want(t, "put", put(s, "a", 10), blob.ErrUnknown, blob.ErrDown, context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(t.Context())
	n.set(on("put", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}))
	err := s.Put(ctx, "a", strings.NewReader("x"), 1)
	want(t, "cancelled under way", err, blob.ErrUnknown)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestStatProvesOnlyWhatItKnows(t *testing.T) {
	s, n := faulty(t)
	page := func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return says(r, 404, "<html><head><title>Not found</title></head></html>")
	}
	for _, test := range []struct {
		name  string
		fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)
		kinds []error
	}{
		{"no such bucket", s3Error(404, "NoSuchBucket"), []error{blob.ErrDown}},
		{"no S3", page, []error{blob.ErrDown}},
		{"not allowed", s3Error(403, "AccessDenied"), []error{blob.ErrDown}},
		{"refused", func(*http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errDial }, []error{blob.ErrDown}},
		{"slow", s3Error(503, "SlowDown"), []error{blob.ErrDown}},
		{"broken", s3Error(500, "InternalError"), nil},
	} {
		n.set(test.fault)
		_, err := s.Stat(t.Context(), "a")
		want(t, test.name+": stat", err, test.kinds...)
		for _, length := range []int64{-1, 0, 5} {
			_, err = s.Get(t.Context(), "a", 3, length)
			want(t, test.name+": get", err, test.kinds...)
		}
		if err == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
}

// Credentials that are not available: nothing was sent.
func TestPutWithoutCredentials(t *testing.T) {
	s, n := faulty(t)
	o := s.client.Options()
	o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the machine has no role")
	})
	s.client = s3.New(o)
	n.set(nil)
	err := put(s, "a", 10)
	want(t, "put", err, blob.ErrNotDone, blob.ErrDown)
	if n.count("put") != 0 || !strings.Contains(err.Error(), "the machine has no role") {
		t.Errorf("sent %d times: %v", n.count("put"), err)
	}
}

// What the store would have to be told to do differently.
func TestAdvice(t *testing.T) {
	s, n := faulty(t)
	for code, words := range map[string]string{
		"NoSuchBucket": "create it", "SignatureDoesNotMatch": "secret key", "AccessDenied": "allow it s3:", "RequestTimeTooSkewed": "clock", "AuthorizationHeaderMalformed": "region",
	} {
		n.set(s3Error(400, code))
		if err := s.Probe(t.Context()); err == nil || !strings.Contains(err.Error(), words) || !errors.Is(err, blob.ErrDown) {
			t.Errorf("%s: %v; want %q", code, err, words)
		}
		if c := s.Capabilities(); !strings.Contains(c.LastError, words) {
			t.Errorf("%s is not shown: %+v", code, c)
		}
	}
}
