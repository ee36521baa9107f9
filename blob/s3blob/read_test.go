package s3blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/test/servers"
)

func TestGetThatBreaksOff(t *testing.T) {
	s, n := faulty(t, func(o *Options) { o.PartSize = 1 << 20 })
	data := pattern(100_000)
	if err := s.Put(t.Context(), "a", bytes.NewReader(data), -1); err != nil {
		t.Fatal(err)
	}
	n.set(on("get", func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err == nil {
			answer.Body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(answer.Body, 5000), answer.Body}
		}
		return answer, err
	}))
	for _, r := range [][2]int64{{0, -1}, {100, -1}, {100, 6000}} {
		got, err := readAll(s, "a", r[0], r[1])
		if want(t, "get", err, blob.ErrDown); !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(got, data[r[0]:r[0]+5000]) {
			t.Errorf("get %v: %d bytes, %v", r, len(got), err)
		}
	}
	if got, err := readAll(s, "a", 100, 4000); err != nil || !bytes.Equal(got, data[100:4100]) {
		t.Errorf("what was asked for came: %d bytes, %v", len(got), err)
	}
}

func TestGetFromAServiceWithoutRanges(t *testing.T) {
	s, n := faulty(t)
	data := pattern(900)
	if err := s.Put(t.Context(), "a", bytes.NewReader(data), -1); err != nil {
		t.Fatal(err)
	}
	n.set(on("get", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		r.Header.Del("Range")
		return pass()
	}))
	for _, r := range []struct{ offset, length, from, to int64 }{
		{0, -1, 0, 900}, {0, 10, 0, 10}, {10, -1, 10, 900}, {10, 20, 10, 30}, {890, 20, 890, 900}, {900, 1, 0, 0}, {5000, -1, 0, 0},
	} {
		if got, err := readAll(s, "a", r.offset, r.length); err != nil || !bytes.Equal(got, data[r.from:r.to]) {
			t.Errorf("%+v: %d bytes, %v", r, len(got), err)
		}
	}
}

func TestGetRefusesAnotherRange(t *testing.T) {
	s, n := faulty(t)
	if err := put(s, "a", 900); err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"bytes 0-99/900", "bytes 100-149/900", "bytes 100-/900", "nonsense", "bytes 100-50/900"} {
		n.set(on("get", func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			answer, err := pass()
			if err == nil {
				answer.Header.Set("Content-Range", said)
			}
			return answer, err
		}))
		if got, err := readAll(s, "a", 100, 100); err == nil {
			t.Errorf("%q: %d bytes", said, len(got))
		}
	}
	n.set(on("get", func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err == nil {
			answer.Header.Del("Content-Length")
			answer.ContentLength = -1
		}
		return answer, err
	}))
	if got, err := readAll(s, "a", 0, -1); err == nil {
		t.Errorf("a body of unknown length: %d bytes", len(got))
	}
}

func TestGetThatStandsStill(t *testing.T) {
	s, n := faulty(t, func(o *Options) { o.Timeout = 200 * time.Millisecond })
	if err := put(s, "a", 900); err != nil {
		t.Fatal(err)
	}
	n.set(on("get", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err == nil {
			answer.Body = &still{answer.Body, r.Context()}
		}
		return answer, err
	}))
	_, err := readAll(s, "a", 0, -1)
	want(t, "body", err, blob.ErrDown)
	n.set(on("get", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}))
	_, err = readAll(s, "a", 0, -1)
	want(t, "header", err, blob.ErrDown, context.DeadlineExceeded)
}

// still is a body that stalls.
type still struct {
	io.Closer
	ctx context.Context
}

func (s *still) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// entries are a page of a listing.
func entries(more string, keys ...string) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><Size>1</Size></Contents>", k)
	}
	return "<ListBucketResult><EncodingType>url</EncodingType>" + more + b.String() + "</ListBucketResult>"
}

func TestListsThatProveNothing(t *testing.T) {
	next := "<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>"
	for name, pages := range map[string][]string{
		"disorder":             {entries("", "p/b", "p/a")},
		"twice":                {entries("", "p/a", "p/a")},
		"disorder of pages":    {entries(next, "p/a", "p/c"), entries("", "p/b", "p/d")},
		"the same page again":  {entries(next, "p/a", "p/c"), entries("", "p/a", "p/c")},
		"no token":             {entries("<IsTruncated>true</IsTruncated>", "p/a")},
		"the same token again": {entries(next, "p/a"), entries(next, "p/b"), entries("", "p/c")},
		"another prefix":       {entries("", "p/a", "q/a")},
		"bad escape":           {entries("", "p/a%zz")},
		"no name":              {"<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>"},
		"no size":              {"<ListBucketResult><Contents><Key>p/a</Key></Contents></ListBucketResult>"},
		"cut off":              {entries("", "p/a", "p/b")[:90]},
	} {
		s, n := faulty(t, func(o *Options) { o.Prefix = "p/" })
		n.set(on("list", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
			return says(r, 200, pages[min(n.count("list"), len(pages))-1])
		}))
		if err := s.List(t.Context(), "", "", func(blob.Info) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestListAsksAgainForAPage(t *testing.T) {
	s, n := faulty(t)
	fill(t, s, 3)
	n.set(on("list", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		switch n.count("list") {
		case 1:
			return s3Error(503, "SlowDown")(r, pass)
		case 2:
			return lost(errReset)(r, pass)
		case 3:
			return edit(func(b string) string { return b[:len(b)/2] })(r, pass)
		}
		return pass()
	}))
	if keys := left(t, s); len(keys) != 3 {
		t.Errorf("%q", keys)
	}
	n.set(on("list", s3Error(503, "SlowDown", "Retry-After", "100")))
	want(t, "list", s.List(t.Context(), "", "", func(blob.Info) error { return nil }), blob.ErrDown)
	if n.count("list") != 1 {
		t.Error("it did not leave the service alone")
	}
}

// Foreign names are listed unchanged, in order, on real services.
func TestForeignNamesAreListed(t *testing.T) {
	for name, start := range map[string]func(testing.TB) servers.S3{"versitygw": servers.VersityGW, "gofakes3": servers.GoFakeS3} {
		t.Run(name, func(t *testing.T) {
			at := start(t)
			o := optionsOf(at, at.Bucket(t))
			o.Prefix = "p/"
			s := openBucket(t, o)
			names := []string{"A", "a b", "a%2fb", "a+b", "a.b", "b&c<d>", "p/q", "Ärger", "日本", "c'd\"e", "~tilde", "a"}
			for _, k := range names {
				key := "p/" + k
				if _, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &o.Bucket, Key: &key, Body: strings.NewReader("x")}); err != nil {
					t.Fatalf("%q: %v", k, err)
				}
			}
			outside := "q/outside"
			if _, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &o.Bucket, Key: &outside, Body: strings.NewReader("x")}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(names)
			if got := left(t, s); !slices.Equal(got, names) {
				t.Errorf("listed %q; want %q", got, names)
			}
		})
	}
}

// More than a page, deleted by more than a request.
func TestManyPages(t *testing.T) {
	s, _ := faulty(t)
	const n = 2500
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k/%04d", i)
	}
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		if err := put(s, keys[i], 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := left(t, s); !slices.Equal(got, keys) {
		t.Errorf("%d keys listed", len(got))
	}
	results, err := s.Delete(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Key != keys[i] || r.Err != nil {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	if got := left(t, s); len(got) != 0 {
		t.Errorf("%d keys are left", len(got))
	}
}

func TestSpeakable(t *testing.T) {
	for name, want := range map[string]string{"": "", "a/b": "a/b", "\xff": "", "a\xffb": "a", "a\x00b": "a", "ä/ö": "ä/ö", "a\ufffeb": "a"} {
		if got := speakable(name); got != want || !strings.HasPrefix(name, got) {
			t.Errorf("%q: %q", name, got)
		}
		if _, err := url.QueryUnescape(url.QueryEscape(speakable(name))); err != nil {
			t.Error(err)
		}
	}
}
