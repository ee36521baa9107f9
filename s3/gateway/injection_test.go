package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// overrides are the parameters that set a header of the response.
var overrides = map[string]string{
	"response-content-type": "Content-Type", "response-content-language": "Content-Language", "response-expires": "Expires",
	"response-cache-control": "Cache-Control", "response-content-disposition": "Content-Disposition",
	"response-content-encoding": "Content-Encoding",
}

// head sends a request without a body and returns its status and its raw head.
func (s *site) head(r *http.Request) (status int, head string) {
	s.t.Helper()
	c := s.dial(r.URL.Host)
	r.Close = true
	s.must(r.Write(c))
	answer, err := io.ReadAll(c)
	s.must(err)
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(answer))), r)
	s.must(err)
	s.must(resp.Body.Close())
	head, _, _ = strings.Cut(string(answer), "\r\n\r\n")
	return resp.StatusCode, head
}

// presign returns the URL for anonymous reads of k for a limited time.
func (s *site) presign(parameter, value string) *http.Request {
	s.t.Helper()
	in := &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")}
	switch parameter {
	case "response-content-type":
		in.ResponseContentType = &value
	case "response-content-language":
		in.ResponseContentLanguage = &value
	case "response-cache-control":
		in.ResponseCacheControl = &value
	case "response-content-disposition":
		in.ResponseContentDisposition = &value
	case "response-content-encoding":
		in.ResponseContentEncoding = &value
	case "response-expires":
		return nil // the SDK formats it from a time
	}
	out, err := awss3.NewPresignClient(s.Client).PresignGetObject(s.ctx, in)
	s.must(err)
	r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, out.URL, nil)
	s.must(err)
	return r
}

// Hole 9: a parameter of a link sets one header line of the response.
func TestResponseHeadersCannotBeInjected(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	s.must(s.publicPolicy())
	evils := []string{"x\r\nX-Injected: yes", "x\nX-Injected: yes", "x\rX-Injected: yes", "x\r\n\r\nX-Injected: yes", "x\x00X-Injected: yes", "\r\nX-Injected: yes"}
	for parameter, header := range overrides {
		ways := func(value string) map[string]*http.Request {
			query := "/k?" + parameter + "=" + url.QueryEscape(value)
			return map[string]*http.Request{
				"unsigned":  s.raw(http.MethodGet, query, nil),
				"signed":    signed(s.raw(http.MethodGet, query, nil), root, sum(nil)),
				"presigned": s.presign(parameter, value),
			}
		}
		for way, r := range ways("harmless") {
			if r == nil {
				continue
			}
			status, head := s.head(r)
			if way == "unsigned" && (status != 400 || strings.Contains(head, "harmless")) || // as on S3
				way != "unsigned" && (status != 200 || !strings.Contains(head, header+": harmless")) {
				t.Errorf("%s %s: %d %s", way, parameter, status, head)
			}
		}
		for _, evil := range evils {
			for way, r := range ways(evil) {
				if r == nil {
					continue
				}
				status, head := s.head(r)
				plain := strings.ReplaceAll(head, "\r\n", "")
				if status >= 500 || strings.ContainsAny(plain, "\r\n\x00") || strings.Contains(head, "\nX-Injected") {
					t.Errorf("%s %s=%q: %d %q", way, parameter, evil, status, head)
				}
			}
		}
	}
}

// Hole 9: stored metadata sets one header line, too.
func TestStoredHeadersCannotBeInjected(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"Content-Disposition", "Content-Type", "Content-Language", "Cache-Control", "Expires", "Content-Encoding", "x-amz-meta-a"} {
		for _, evil := range []string{"x\x00y", "x\ry", "x\x7fy", "x\r\nX-Injected: yes", "x\nX-Injected: yes"} {
			if !strings.Contains(evil, "\n") && name != "x-amz-meta-a" { // has to be signed
				s.exchange(http.MethodPut, "/k", "Content-Length: 0", name+": "+evil)
			}
			s.form(map[string]string{"key": "l", name: evil}, "x")
			for _, key := range []string{"/k", "/l"} {
				status, head := s.head(signed(s.raw(http.MethodGet, key, nil), root, sum(nil)))
				if plain := strings.ReplaceAll(head, "\r\n", ""); status >= 500 || strings.ContainsAny(plain, "\r\n\x00") || strings.Contains(head, "\nX-Injected") {
					t.Errorf("%s: %q: %s: %d %q", name, evil, key, status, head)
				}
			}
		}
	}
}
