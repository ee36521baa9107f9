package incidents_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/test/servers"
)

// wire is what lies between the store and an S3 service: where a test says so,
// batch deletes are answered by somebody else, or their answers changed.
type wire struct {
	mu   sync.Mutex
	asks int // batch deletes
	// request, if set, may answer in place of the service; else nil.
	request func(r *http.Request, body string) *http.Response
	// answer, if set, changes what the service says.
	answer func(body string) string
	dead   bool // no upload in parts is completed or aborted any more
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.cuts(r) {
		return nil, errors.New("the process is dead")
	}
	if r.Method != http.MethodPost || !r.URL.Query().Has("delete") {
		return http.DefaultTransport.RoundTrip(r)
	}
	request, answer := w.asked()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if request != nil {
		if said := request(r, string(body)); said != nil {
			return said, nil
		}
	}
	said, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || answer == nil {
		return said, err
	}
	defer said.Body.Close()
	text, err := io.ReadAll(said.Body)
	if err != nil {
		return nil, err
	}
	return answered(r, said.StatusCode, answer(string(text))), nil
}

// asked counts a batch delete, and says what happens to it; the lock is not held
// meanwhile, for that may ask the service itself.
func (w *wire) asked() (request func(*http.Request, string) *http.Response, answer func(string) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks++
	return w.request, w.answer
}

// cuts says that the request is never sent.
func (w *wire) cuts(r *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead && r.URL.Query().Has("uploadId") && (r.Method == http.MethodPost || r.Method == http.MethodDelete)
}

func (w *wire) die(dead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = dead
}

// set says what happens from now on.
func (w *wire) set(request func(*http.Request, string) *http.Response, answer func(string) string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks, w.request, w.answer = 0, request, answer
}

func answered(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func refusal(r *http.Request, status int, code string) *http.Response {
	return answered(r, status, "<Error><Code>"+code+"</Code><Message>no</Message></Error>")
}

// service is a bucket of a real S3 server, and the wire to it.
type service struct {
	servers.S3
	*wire
	bucket string
	change func(*s3blob.Options)
}

// services run the incident on a bucket of each server; the ledger is the one in
// memory.
func services(t *testing.T, change func(*s3blob.Options), incident func(*world, *service)) {
	for name, start := range map[string]func(testing.TB) servers.S3{"gofakes3": servers.GoFakeS3, "versitygw": servers.VersityGW} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they pause between tries
			s := &service{S3: start(t), wire: &wire{}, change: change}
			s.bucket = s.Bucket(t)
			incident(setting{place: s.open}.inMemory(t), s)
		})
	}
}

func (s *service) open(t *testing.T) blob.Store {
	o := s3blob.Options{
		Endpoint: s.Endpoint, Region: s.Region, Bucket: s.bucket, PathStyle: true, AccessKey: s.Access, SecretKey: s.Secret, Transport: s.wire,
	}
	if s.change != nil {
		s.change(&o)
	}
	st, err := s3blob.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// condemned answers how many rows wait, and fails if any has used up an attempt.
func (w *world) condemned() int {
	w.Helper()
	waiting := w.blobs(lethe.Condemned)
	for _, b := range waiting {
		equal(w, "attempts of what waits", b.Attempts, 0)
	}
	return len(waiting)
}

// aws-sdk-go-v2 #3258: DeleteObjects came to be sent with a CRC32 and without
// Content-MD5, and services that demand it refused every deletion. Here it is sent.
func TestAWSSDKGoV23258_ServicesThatDemandMD5(t *testing.T) {
	services(t, nil, func(w *world, s *service) {
		w.condemnSome(5)
		demands := func(r *http.Request, _ string) *http.Response {
			if r.Header.Get("Content-Md5") == "" {
				return refusal(r, http.StatusBadRequest, "MissingContentMD5")
			}
			return nil
		}
		s.set(demands, nil)
		equal(w, "gone", w.pass(w.clean())["gone"], 5)
		if s.asks == 0 {
			w.Error("nothing was deleted by batches")
		}

		// The naive one is the library itself, as it comes.
		w.plantTheirs("theirs")
		client, key := s.Client(), "theirs"
		o := client.Options()
		o.HTTPClient = &http.Client{Transport: s.wire}
		_, err := s3.New(o).DeleteObjects(w.ctx, &s3.DeleteObjectsInput{
			Bucket: &s.bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: &key}}},
		})
		if err == nil {
			w.Error("the library's own deletion was taken: this scenario proves nothing")
		}
		w.ends(nil)
	})
}

// AutoMQ #1027, #1028 by a service: the answer to a batch names none of the keys that
// it deleted.
func TestAutoMQ1027_AServiceThatLeavesSuccessesOut(t *testing.T) {
	services(t, nil, func(w *world, s *service) {
		w.condemnSome(4)
		s.set(nil, func(string) string { return "<DeleteResult></DeleteResult>" })
		equal(w, "gone on no answer", w.pass(w.clean())["gone"], 0)
		equal(w, "keys left", len(w.keys()), 0)
		s.set(nil, nil)
		w.clock.Advance(w.safety.BackoffMin)
		equal(w, "gone when asked again", w.pass(w.clean())["gone"], 4)
		w.ends(nil)
	})
}

// s3fs #838, #1047, Opndrive #73 by a service: 200, and within it an error for some.
func TestS3FS838_AServiceThatErrsWithinASuccess(t *testing.T) {
	services(t, nil, func(w *world, s *service) {
		w.condemnSome(3)
		refused := w.keys()[1]
		s.set(func(r *http.Request, body string) *http.Response { // that key is not even asked for
			var said strings.Builder
			for _, key := range w.keys() {
				if key == refused || !strings.Contains(body, key) {
					continue
				}
				_, err := s.Client().DeleteObject(r.Context(), &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
				w.must(err)
				fmt.Fprintf(&said, "<Deleted><Key>%s</Key></Deleted>", key)
			}
			if strings.Contains(body, refused) {
				fmt.Fprintf(&said, "<Error><Key>%s</Key><Code>AccessDenied</Code></Error>", refused)
			}
			return answered(r, http.StatusOK, "<DeleteResult>"+said.String()+"</DeleteResult>")
		}, nil)
		counts := w.pass(w.clean())
		equal(w, "gone and to be tried again", fmt.Sprint(counts["gone"], counts["retried"]), "2 1")
		equal(w, "the key that is left is the one refused", slices.Equal(w.keys(), []string{refused}), true)
		s.set(nil, nil)
		w.ends(nil)
	})
}

// s5cmd #579, pgbackrest #1807, #1978, delta-rs #407, clickhouse-backup #1532: a
// thousand keys are more than some services stand: they refuse, or do not answer in
// time, or break the answer off, are asked again for just as many, and nothing is ever
// deleted. Here what a service stands is found out: batches shrink until it answers.
func TestS5cmd579_ServicesThatStandFewKeys(t *testing.T) {
	const keys, stands = 24, 7
	for name, too := range map[string]func(r *http.Request) *http.Response{
		"refused":     func(r *http.Request) *http.Response { return refusal(r, http.StatusBadRequest, "MalformedXML") },
		"out of time": func(r *http.Request) *http.Response { return refusal(r, http.StatusServiceUnavailable, "SlowDown") },
		"by a proxy": func(r *http.Request) *http.Response {
			return answered(r, http.StatusRequestEntityTooLarge, "Payload too large")
		},
		"broken off": func(r *http.Request) *http.Response { return answered(r, http.StatusOK, "<DeleteResult><Deleted>") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services(t, func(o *s3blob.Options) { o.Concurrency, o.MaxBatch = 1, 2*stands }, func(w *world, s *service) {
				w.condemnSome(keys)
				largest := 0
				s.set(func(r *http.Request, body string) *http.Response {
					n := strings.Count(body, "<Key>")
					largest = max(largest, n)
					if n > stands {
						return too(r)
					}
					return nil
				}, nil)
				clean := w.clean()
				clean.Limit = keys
				for range 3 {
					w.pass(clean)
					w.clock.Advance(w.safety.BackoffMax)
				}
				equal(w, "rows left", len(w.blobs()), 0)
				if largest <= stands {
					w.Errorf("no request had more than %d keys", largest)
				}
				w.ends(nil)
			})
		})
	}

	harmed(t, func(tooMany bool) bool {
		left := stands
		if tooMany {
			left = keys
		}
		for range 10 { // tries, each of all
			if left <= stands {
				left = 0
			}
		}
		return left > 0
	})
}

// JuiceFS #7043: the bucket keeps versions, so that what is deleted is covered by a
// marker and paid for, twice and more; the books say that it is gone. Here the marker
// gives it away: nothing is settled, what waits is counted where it lies, burns no
// attempts, and says what to do.
func TestJuiceFS7043_VersionsKeepTheBytes(t *testing.T) {
	s := &service{S3: servers.VersityGW(t), wire: &wire{}}
	s.bucket = s.Bucket(t)
	w := setting{place: s.open}.inMemory(t)
	w.condemnSome(4)
	_, err := s.Client().PutBucketVersioning(w.ctx, &s3.PutBucketVersioningInput{
		Bucket: &s.bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	w.must(err)
	for range 12 {
		w.must(w.engine())
		w.clock.Advance(w.safety.BackoffMax)
	}
	equal(w, "rows that wait", w.condemned(), 4)
	if err := w.tryPut("b/new", "written into a bucket that forgets nothing"); !errors.Is(err, lethe.ErrUnavailable) {
		w.Errorf("a write is answered with %v", err)
	}
	versions, err := s.Client().ListObjectVersions(w.ctx, &s3.ListObjectVersionsInput{Bucket: &s.bucket})
	w.must(err)
	if len(versions.Versions) < 4 {
		w.Errorf("%d versions lie there: this scenario proves nothing", len(versions.Versions))
	}
	wrong, err := w.ledger.Recount(w.ctx)
	w.must(err)
	equal(w, "books that are wrong", len(wrong), 0)
}

// Quay PROJQUAY-12557: parts of uploads that were begun and never ended are paid for,
// no listing shows them, and nobody looked for them. Here they are asked for by what
// they are, at every start and hourly, and given up once they are old; one that is
// under way goes on.
func TestQuay12557_PartsThatNoListingShows(t *testing.T) {
	const part = 5 << 20 // S3 takes no smaller ones
	services(t, func(o *s3blob.Options) { o.PartSize = part }, func(w *world, s *service) {
		body := strings.Repeat("0123456789abcdef", (2*part+small)/16)
		uploads := func() int {
			out, err := s.Client().ListMultipartUploads(w.ctx, &s3.ListMultipartUploadsInput{Bucket: &s.bucket})
			w.must(err)
			return len(out.Uploads)
		}
		sweep := func() int {
			n, _, err := w.bytes.(blob.Unfinished).SweepUnfinished(w.ctx, lethe.Time(math.MaxInt64))
			w.must(err)
			return n
		}
		s.die(true)
		if err := w.tryPut("b/large", body); err == nil {
			w.Error("an upload that was never completed was acknowledged")
		}
		s.die(false)
		for range 3 {
			w.clock.Advance(w.safety.LateWindow + time.Hour)
			w.must(w.engine())
		}
		equal(w, "rows, keys and uploads left", fmt.Sprint(len(w.blobs()), len(w.keys()), uploads()), "0 0 1")
		equal(w, "swept", sweep(), 1)
		equal(w, "uploads left", uploads(), 0)
		looked := 0
		during := func(int) {
			if uploads() == 1 {
				looked++
				equal(w, "swept of what is under way", sweep(), 0)
			}
		}
		_, err := w.objects.Put(w.ctx, w.request("b/large", slowly(body, part, during), len(body)))
		w.must(err)
		equal(w, "looks at what is under way", looked > 0, true)
		w.ends(map[string]string{"b/large": body})
		equal(w, "uploads in the end", uploads(), 0)
	})

	harmed(t, func(unlisted bool) bool {
		n, parts := newNaive(), map[string]string{"upload 1": "a part"} // beside what is listed
		if !unlisted {
			n.bytes = parts
		}
		sweep(n, map[string]bool{})
		return len(parts) > 0
	})
}
