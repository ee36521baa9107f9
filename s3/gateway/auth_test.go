package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// raw makes a request to the bucket of the site.
func (s *site) raw(method, target string, body []byte) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.ctx, method, "http://"+s.addr+"/"+s.bucket+target, bytes.NewReader(body))
	s.must(err)
	return r
}

func TestUnsignedForeignAndForgedRequestsAreRefused(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	up := s.create("up", nil)
	targets := []string{"", "/k", "/", "?delete", "?acl", "?policy", "?uploads", "?versions", "?tagging", "/k?tagging", "/k?acl", "/k?select",
		"/k?uploadId=" + up.id + "&partNumber=1", "/k?uploadId=" + up.id, "/k?attributes", "/k?retention", "/k?restore"}
	foreign := gateway.Credentials{Access: "nobody", Secret: "nobody"}
	forged := gateway.Credentials{Access: root.Access, Secret: "wrong"}
	for _, method := range []string{"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"} {
		for _, target := range targets {
			for name, sign := range map[string]func(*http.Request) *http.Request{
				"unsigned": func(r *http.Request) *http.Request { return r },
				"foreign":  func(r *http.Request) *http.Request { return signed(r, foreign, "UNSIGNED-PAYLOAD") },
				"forged":   func(r *http.Request) *http.Request { return signed(r, forged, "UNSIGNED-PAYLOAD") },
				// Hole 1: an unsigned payload does not make a signature valid.
				"forged stream": func(r *http.Request) *http.Request {
					r.Header.Set("X-Amz-Decoded-Content-Length", "1")
					r.Header.Set("X-Amz-Trailer", "x-amz-checksum-crc32")
					return signed(r, forged, "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
				},
				// Hole 2: a credential in the query does not count as one in
				// the header.
				"credential in query": func(r *http.Request) *http.Request {
					q := r.URL.Query()
					q.Set("X-Amz-Credential", root.Access+"/"+scope(stamp()))
					r.URL.RawQuery = q.Encode()
					r.Header.Set("X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
					return r
				},
				// Hole 3: the body's type does not decide the identity.
				"form": func(r *http.Request) *http.Request {
					r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
					return r
				},
			} {
				status, _, body := s.send(sign(s.raw(method, target, []byte("x"))))
				if status < 400 || status >= 500 {
					t.Errorf("%s %s %q: %d %s", name, method, target, status, body)
				}
				if (name == "foreign" || name == "forged") && method != "PATCH" && !slices.Contains([]int{400, 403, 405, 412, 501}, status) {
					t.Errorf("%s %s %q: %d %s", name, method, target, status, body)
				}
			}
		}
	}
	if got, _ := s.get("k"); got != "x" || len(s.keys()) != 1 {
		t.Errorf("something changed: %q %q", got, s.keys())
	}
}

func TestUnsignedRequestsGet403(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct{ method, target string }{
		{"GET", ""}, {"GET", "/k"}, {"PUT", "/k"}, {"DELETE", "/k"}, {"DELETE", ""}, {"POST", "?delete"}, {"POST", "/k?uploads"}, {"PUT", "?policy"},
	} {
		if status, _, body := s.send(s.raw(c.method, c.target, nil)); status != 403 {
			t.Errorf("%s %q: %d %s", c.method, c.target, status, body)
		}
	}
	r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "http://"+w.addr+"/", nil)
	s.must(err)
	if status, _, _ := s.send(r); status != 403 {
		t.Errorf("listing buckets: %d", status)
	}
}

func TestPresigned(t *testing.T) {
	s := newSite(t)
	p := awss3.NewPresignClient(s.Client)
	put, err := p.PresignPutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Metadata: map[string]string{"ttl": "1h"}})
	s.must(err)
	r, err := http.NewRequestWithContext(s.ctx, put.Method, put.URL, strings.NewReader("presigned"))
	s.must(err)
	r.Header = put.SignedHeader.Clone()
	r.Header.Del("Content-Length")
	status, header, body := s.send(r)
	if status != 200 || header.Get("x-amz-expiration") == "" {
		t.Fatalf("put: %d %v %s", status, header, body)
	}
	get, err := p.PresignGetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	fetch := func(method, url string, headers map[string]string) (int, string) {
		r, err := http.NewRequestWithContext(s.ctx, method, url, nil)
		s.must(err)
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		status, _, body := s.send(r)
		return status, body
	}
	if status, body := fetch("GET", get.URL, nil); status != 200 || body != "presigned" {
		t.Errorf("get: %d %s", status, body)
	}
	for name, url := range map[string]string{
		"another key":       strings.Replace(get.URL, "/k?", "/other?", 1),
		"a longer life":     strings.Replace(get.URL, "X-Amz-Expires=900", "X-Amz-Expires=90000", 1),
		"too long a life":   strings.Replace(get.URL, "X-Amz-Expires=900", "X-Amz-Expires=604801", 1),
		"another parameter": get.URL + "&response-content-type=text/html",
	} {
		if status, body := fetch("GET", url, nil); status != 403 && status != 400 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _ := fetch("DELETE", get.URL, nil); status != 403 {
		t.Errorf("another method: %d", status)
	}
}

func TestVirtualHost(t *testing.T) {
	s := newSite(t)
	c := client(root, func(o *awss3.Options) {
		o.UsePathStyle = false
		o.BaseEndpoint = aws.String("http://" + domain)
		o.HTTPClient = toServer()
	})
	key := "dir/with space"
	_, err := c.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader("x"), Metadata: map[string]string{"ttl": "1h"}})
	s.must(err)
	out, err := c.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	s.must(err)
	if got := s.read(out.Body); got != "x" || out.Expiration == nil {
		t.Errorf("got %q", got)
	}
	if got, _ := s.get(key); got != "x" {
		t.Errorf("in path style: %q", got)
	}
	list, err := c.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket})
	s.must(err)
	if len(list.Contents) != 1 {
		t.Errorf("listed %d", len(list.Contents))
	}
}

// chunks sends a body in signed chunks; spoil may change each.
func (s *site) chunks(key string, data [][]byte, length int, spoil func(i int, frame []byte) []byte) (int, string) {
	s.t.Helper()
	r := s.raw(http.MethodPut, "/"+key, nil)
	r.Header.Set("X-Amz-Decoded-Content-Length", itoa(length))
	r.Header.Set("Content-Encoding", "aws-chunked")
	r = signed(r, root, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
	var body bytes.Buffer
	previous := seed(r)
	for i, d := range append(data, nil) {
		var frame []byte
		frame, previous = chunk(r, root.Secret, previous, d)
		if spoil != nil {
			frame = spoil(i, frame)
		}
		body.Write(frame)
	}
	r.Body, r.ContentLength = io.NopCloser(&body), int64(body.Len())
	status, _, answer := s.send(r)
	return status, answer
}

// Hole 5: bytes become visible only after the last signature was verified.
func TestChunkedUploads(t *testing.T) {
	s := newSite(t)
	data := [][]byte{pattern(64 << 10), pattern(8 << 10), []byte("last")}
	whole := bytes.Join(data, nil)
	if status, body := s.chunks("good", data, len(whole), nil); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	got, out := s.get("good")
	if got != string(whole) || out.ContentEncoding != nil {
		t.Errorf("%d bytes, encoding %v", len(got), out.ContentEncoding)
	}
	before := w.disk.Len()
	replace := func(n int, f func([]byte) []byte) func(int, []byte) []byte {
		return func(i int, frame []byte) []byte {
			if i == n {
				return f(frame)
			}
			return frame
		}
	}
	flip := func(b []byte) []byte {
		b = bytes.Clone(b)
		b[len(b)-3] ^= 1
		return b
	}
	for name, c := range map[string]struct {
		length int
		spoil  func(int, []byte) []byte
	}{
		"altered chunk":       {len(whole), replace(1, flip)},
		"altered first chunk": {len(whole), replace(0, flip)},
		"altered signature": {len(whole), replace(2, func(b []byte) []byte {
			return bytes.Replace(b, []byte("chunk-signature="), []byte("chunk-signature=0"), 1)
		})},
		"altered last signature": {len(whole), replace(3, func(b []byte) []byte {
			return []byte("0;chunk-signature=" + strings.Repeat("0", 64) + "\r\n\r\n")
		})},
		"no last chunk":    {len(whole), replace(3, func([]byte) []byte { return nil })},
		"one byte too few": {len(whole) - 1, nil},
		"one too many":     {len(whole) + 1, nil},
		"huge size":        {len(whole), replace(1, func(b []byte) []byte { return append([]byte("7fffffffffffffff"), b[4:]...) })},
		"negative size":    {len(whole), replace(1, func(b []byte) []byte { return append([]byte("-1"), b[4:]...) })},
		"endless header":   {len(whole), replace(1, func(b []byte) []byte { return append(bytes.Repeat([]byte("0"), 100_000), b...) })},
		"two chunks swapped": {len(whole), func(i int, b []byte) []byte {
			if i == 0 {
				return nil
			}
			return b
		}},
	} {
		status, body := s.chunks("bad", data, c.length, c.spoil)
		if status < 400 || status >= 500 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	s.missing("bad")
	s.leftNothing(before)
}

// leftNothing checks that failed writes neither hold an intent nor count: their
// uploads are being deleted, and all else is unchanged.
func (s *site) leftNothing(blobs int) {
	s.t.Helper()
	eventually(s.t, "intents to be given up", func() bool {
		totals, err := w.db.Totals(context.Background())
		s.must(err)
		live := int64(0)
		for _, total := range totals {
			switch total.State.String() {
			case "pending":
				if total.Blobs > 0 {
					return false
				}
			case "live":
				live += total.Blobs
			}
		}
		return live <= int64(blobs)
	})
}

func TestWrongDigests(t *testing.T) {
	s := newSite(t)
	before := w.disk.Len()
	body := func() io.Reader { return strings.NewReader("body") }
	wrong := map[string]func(*awss3.PutObjectInput){
		"BadDigest":     func(in *awss3.PutObjectInput) { in.ContentMD5 = aws.String("1B2M2Y8AsgTpgAmY7PhCfg==") },
		"InvalidDigest": func(in *awss3.PutObjectInput) { in.ContentMD5 = aws.String("nonsense") },
	}
	for code, change := range wrong {
		in := &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: body()}
		change(in)
		_, err := s.PutObject(s.ctx, in)
		s.fails(err, 400, code)
	}
	_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: body(), ChecksumSHA256: aws.String(sha256Base64("other"))})
	s.fails(err, 400, "BadDigest")
	status, _, answer := s.send(signed(s.raw(http.MethodPut, "/k", []byte("body")), root, sum([]byte("other"))))
	if status != 400 || !strings.Contains(answer, "XAmzContentSHA256Mismatch") {
		t.Errorf("%d %s", status, answer)
	}
	s.missing("k")
	s.leftNothing(before)
}

// TestPutsAreWhatWasSigned sends puts that were signed and then changed.
func TestPutsAreWhatWasSigned(t *testing.T) {
	s := newSite(t)
	body := bytes.Repeat([]byte("body"), 50_000)
	before, right, longer := w.disk.Len(), sum(body), func(n int64) func(*http.Request) {
		return func(r *http.Request) { r.ContentLength = n }
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		payload string
		change  func(*http.Request)
		code    string
	}{
		"with another body":             {sum([]byte("other")), header("Expect", "100-continue"), "XAmzContentSHA256Mismatch"},
		"with a hash in capitals":       {strings.ToUpper(right), func(*http.Request) {}, "XAmzContentSHA256Mismatch"},
		"with another signature":        {right, func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")+"0") }, "SignatureDoesNotMatch"},
		"with another type":             {right, header("Content-Type", "text/html"), "SignatureDoesNotMatch"},
		"with another hash":             {sum([]byte("other")), header("X-Amz-Content-Sha256", right), "SignatureDoesNotMatch"},
		"without its hash":              {right, header("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"), "SignatureDoesNotMatch"},
		"with a tag":                    {right, header("X-Amz-Tagging", "a=b"), "AccessDenied"},
		"of another day":                {right, header("X-Amz-Date", "20260102T150405Z"), "RequestTimeTooSkewed"},
		"by nobody":                     {right, func(r *http.Request) { r.Header.Del("Authorization") }, "AccessDenied"},
		"with another MD5":              {right, header("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg=="), "BadDigest"},
		"that ends early":               {sum([]byte("other")), longer(300_000), "XAmzContentSHA256Mismatch"},
		"that ends early as signed":     {right, longer(300_000), "IncompleteBody"},
		"that ends early, and unsigned": {"UNSIGNED-PAYLOAD", longer(300_000), "IncompleteBody"},
		"of more than 5 GiB":            {right, longer(5<<30 + 1), "EntityTooLarge"},
	} {
		r := s.raw(http.MethodPut, "/k", body)
		r.Header.Set("Content-Type", "text/plain")
		c.change(signed(r, root, c.payload))
		var out bytes.Buffer
		// It fails where the body ends early.
		_ = r.Write(&out)
		if answer := s.talk(out.Bytes()); !strings.Contains(answer, "<Code>"+c.code+"</Code>") {
			t.Errorf("%s: %s", name, answer)
		}
	}
	s.missing("k")
	s.leftNothing(before)
	r := s.raw(http.MethodPut, "/k", body)
	header("Expect", "100-continue")(r)
	if status, _, answer := s.send(signed(r, root, right)); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
}

// talk sends bytes to the server, and returns all that it answers.
func (s *site) talk(out []byte) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	s.must(err)
	defer conn.Close()
	_, err = conn.Write(out)
	s.must(err)
	s.must(conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	s.must(err)
	return string(answer)
}

// Hole 11: no body is read into memory without a bound.
func TestHugeDocumentsAreRefusedUnread(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct{ method, target string }{{"POST", "?delete"}, {"PUT", "?policy"}, {"POST", "/k?uploadId=x"}, {"PUT", "/k?tagging"}, {"PUT", ""}} {
		r := s.raw(c.method, c.target, nil)
		r.Body, r.ContentLength = io.NopCloser(endless{}), 1<<30
		start := time.NewTimer(10 * time.Second)
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			if resp.StatusCode != 400 && resp.StatusCode != 403 {
				t.Errorf("%s %s: %d", c.method, c.target, resp.StatusCode)
			}
			s.must(resp.Body.Close())
		}
		if !start.Stop() {
			t.Errorf("%s %s was read", c.method, c.target)
		}
	}
	r := s.raw("POST", "?delete", nil)
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader("<Delete/>")), -1
	if status, _, body := s.send(r); status != 411 {
		t.Errorf("a document of unknown length: %d %s", status, body)
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestRequestEvents(t *testing.T) {
	s := newSite(t)
	s.put("seen", "12345", map[string]string{"ttl": "1h"})
	s.get("seen")
	for _, want := range []s3.RequestEvent{
		{Method: "PUT", Operation: "PutObject", Status: 200, BytesIn: 5},
		{Method: "GET", Operation: "GetObject", Status: 200, BytesOut: 5},
	} {
		e := w.eventOf(t, func(e s3.RequestEvent) bool {
			return e.Bucket == s.bucket && e.Key == "seen" && e.Operation == want.Operation
		})
		if e.Method != want.Method || e.Status != want.Status || e.Requester != root.Access || e.Address != "127.0.0.1" ||
			e.ID == "" || e.Duration <= 0 || (want.BytesOut > 0 && e.BytesOut != want.BytesOut) || (want.BytesIn > 0 && e.BytesIn < want.BytesIn) {
			t.Errorf("event: %+v", e)
		}
	}
	_, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("unseen")})
	s.fails(err, 404, "NotFound")
	e := w.eventOf(t, func(e s3.RequestEvent) bool { return e.Key == "unseen" })
	if e.Status != 404 || e.Code != "NoSuchKey" {
		t.Errorf("event: %s", fmt.Sprintf("%+v", e))
	}
}
