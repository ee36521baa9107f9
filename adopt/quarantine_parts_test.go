package adopt_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/test/servers"
)

const (
	inPlace = "content/a"
	away    = "kept/" + inPlace
)

// wire is the network of a worker. part and complete decide the results of
// requests that copy a part, and that complete an upload.
type wire struct {
	dead           atomic.Bool
	part, complete func(pass func() (*http.Response, error)) (*http.Response, error)
}

var errDead = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.dead.Load() {
		return nil, errDead
	}
	pass := func() (*http.Response, error) { return http.DefaultTransport.RoundTrip(r) }
	meet := map[string]func(func() (*http.Response, error)) (*http.Response, error){http.MethodPut: w.part, http.MethodPost: w.complete}[r.Method]
	if meet != nil && r.URL.Query().Has("uploadId") {
		return meet(pass)
	}
	return pass()
}

// dies stops a worker's requests once one part was copied.
func (w *wire) dies() {
	var once sync.Once
	w.part = func(pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := (*http.Response)(nil), error(errDead)
		once.Do(func() {
			answer, err = pass()
			w.dead.Store(true)
		})
		return answer, err
	}
}

// vault is a quarantine of one bucket, whose objects are copied in parts. Each
// worker has its own network.
type vault struct {
	t     *testing.T
	at    servers.S3
	o     s3blob.Options
	clock clock
	db    *memadopt.DB
	data  []byte
}

// newVault has one object, of three parts.
func newVault(t *testing.T) *vault {
	at := servers.VersityGW(t)
	v := &vault{t: t, at: at, clock: clock{1e15}, data: bytes.Repeat([]byte("0123456789abc"), 1<<20)}
	v.o = s3blob.Options{
		Endpoint: at.Endpoint, Region: at.Region, Bucket: at.Bucket(t), AccessKey: at.Access, SecretKey: at.Secret, PathStyle: true,
		Foreign: true, CopyWhole: 6 << 20, CopyPart: 5 << 20,
	}
	v.db = memadopt.New(memadopt.Options{Clock: &v.clock, Quarantine: true})
	v.put(inPlace, v.data)
	return v
}

func (v *vault) put(key string, data []byte) {
	v.t.Helper()
	if _, err := v.at.Client().PutObject(v.t.Context(), &s3.PutObjectInput{Bucket: &v.o.Bucket, Key: &key, Body: bytes.NewReader(data), Tagging: aws.String("owner=me")}); err != nil {
		v.t.Fatal(err)
	}
}

// worker returns a quarantine with its own network.
func (v *vault) worker() (*adopt.Quarantine, *wire) {
	n := &wire{}
	open := func(prefix string) *s3blob.Store {
		o := v.o
		o.Prefix, o.Transport = prefix, n
		s, err := s3blob.Open(v.t.Context(), o)
		if err != nil {
			v.t.Fatal(err)
		}
		v.t.Cleanup(func() { _ = s.Close() })
		return s
	}
	return &adopt.Quarantine{
		Collection: "pastes", Prefix: "content/", Into: "kept/", Rows: v.db.Quarantine(), Objects: open("content/"), Copies: open("kept/"),
		Grace: adopt.DefaultGrace, Retention: 24 * time.Hour, Boot: &v.clock, Batch: 10,
	}, n
}

// ofTheDead is the record for a dead worker: nothing that it sends arrives.
type ofTheDead struct{ adopt.QuarantineRows }

func (ofTheDead) End(context.Context, int64, []string, adopt.QuarantineOutcome) ([]string, error) {
	return nil, errDead
}

// holds checks the stored keys, and the number of unfinished uploads.
func (v *vault) holds(uploads int, keys ...string) {
	v.t.Helper()
	out, err := v.at.Client().ListObjectsV2(v.t.Context(), &s3.ListObjectsV2Input{Bucket: &v.o.Bucket})
	if err != nil {
		v.t.Fatal(err)
	}
	var got []string
	for _, o := range out.Contents {
		got = append(got, *o.Key)
		if *o.Size != int64(len(v.data)) {
			v.t.Errorf("%s has %d bytes, want %d", *o.Key, *o.Size, len(v.data))
		}
	}
	if !slices.Equal(got, keys) {
		v.t.Errorf("in the bucket lie %q, want %q", got, keys)
	}
	begun, err := v.at.Client().ListMultipartUploads(v.t.Context(), &s3.ListMultipartUploadsInput{Bucket: &v.o.Bucket})
	if err != nil || len(begun.Uploads) != uploads {
		v.t.Errorf("%d uploads are unfinished, want %d: %v", len(begun.Uploads), uploads, err)
	}
}

// tend runs a pass of a worker.
func (v *vault) tend(q *adopt.Quarantine) {
	v.t.Helper()
	if _, err := q.Pass("")(v.t.Context(), func(string, int64) {}); err != nil {
		v.t.Fatal(err)
	}
}

// A worker that dies during a copy in parts, to the quarantine or back, leaves
// an upload. The next one aborts just that, once the object has no worker.
func TestQuarantineGivesUpUploadsOfTheDead(t *testing.T) {
	v := newVault(t)
	theirs, err := v.at.Client().CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &v.o.Bucket, Key: aws.String(inPlace)})
	if err != nil {
		t.Fatal(err)
	}
	pass := func(d time.Duration) { v.clock.now = v.clock.now.Add(d) }
	q, n := v.worker()
	n.dies()
	if results, err := q.Delete(t.Context(), []string{inPlace}); err != nil || results[0].Err == nil {
		t.Fatalf("%+v, %v", results, err)
	}
	v.holds(2, inPlace)
	next, _ := v.worker()
	v.tend(next)
	v.holds(2, inPlace) // it may be alive
	pass(q.Grace.Landed())
	v.tend(next)
	v.holds(1, inPlace)
	if results, err := next.Delete(t.Context(), []string{inPlace}); err != nil || results[0].Err != nil {
		t.Fatalf("%+v, %v", results, err)
	}
	v.holds(1, away)

	q, n = v.worker()
	q.Rows = ofTheDead{q.Rows}
	n.dies()
	if err := q.Restore(t.Context(), inPlace); err == nil {
		t.Error("a dead worker restored it")
	}
	v.holds(2, away)
	v.tend(next)
	v.holds(2, away)
	pass(q.Grace.Landed())
	v.tend(next)
	v.holds(1, inPlace, away)
	got, err := v.at.Client().GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: &v.o.Bucket, Key: aws.String(inPlace)})
	if err != nil || len(got.TagSet) != 1 {
		t.Errorf("it came back with the tags %+v, %v", got, err)
	}
	left, err := v.at.Client().ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &v.o.Bucket})
	if err != nil || len(left.Uploads) != 1 || *left.Uploads[0].UploadId != *theirs.UploadId {
		t.Errorf("the application's upload was given up: %+v, %v", left, err)
	}
	pass(q.Grace.Landed())
	v.tend(next)
	if left, err := v.db.Quarantine().Unfinished(t.Context(), adopt.Upload{}, 10); err != nil || len(left) > 0 {
		t.Errorf("on record are %+v, %v", left, err)
	}
}

// A worker that paused while another aborted its upload completes nothing.
func TestQuarantineLateCompletionFails(t *testing.T) {
	v := newVault(t)
	slow, n := v.worker()
	other, _ := v.worker()
	n.complete = func(pass func() (*http.Response, error)) (*http.Response, error) {
		v.clock.now = v.clock.now.Add(slow.Grace.Landed())
		if left, err := other.Abort(t.Context()); left > 0 || err != nil {
			t.Errorf("%d uploads are left, %v", left, err)
		}
		return pass()
	}
	if results, err := slow.Delete(t.Context(), []string{inPlace}); err != nil || results[0].Err == nil || blob.Unknown(results[0].Err) {
		t.Errorf("%+v, %v", results, err)
	}
	v.holds(0, inPlace)
}

// An object that is overwritten during its copy in parts stays, and leaves no
// part behind.
func TestQuarantineOverwrittenInTheMiddle(t *testing.T) {
	v := newVault(t)
	q, n := v.worker()
	var once sync.Once
	other := slices.Clone(v.data)
	other[len(other)-1]++
	n.part = func(pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		once.Do(func() { v.put(inPlace, other) })
		return answer, err
	}
	results, err := q.Delete(t.Context(), []string{inPlace})
	if err != nil || results[0].Err == nil || blob.Unknown(results[0].Err) {
		t.Errorf("%+v, %v", results, err)
	}
	out, err := v.at.Client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: &v.o.Bucket, Key: aws.String(inPlace)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(out.Body); err != nil || !bytes.Equal(got, other) {
		t.Errorf("it holds %d bytes of others: %v", len(got), err)
	}
	begun, err := v.at.Client().ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &v.o.Bucket})
	if err != nil || len(begun.Uploads) != 0 {
		t.Errorf("%d uploads are unfinished: %v", len(begun.Uploads), err)
	}
}
