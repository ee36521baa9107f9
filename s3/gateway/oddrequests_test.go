package gateway_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// lines sends a handwritten request and returns the status, 0 if the server
// closed the connection without a response.
func (s *site) lines(request string) (status int, answer string) {
	s.t.Helper()
	c := s.dial(s.addr)
	_, err := io.WriteString(c, request)
	s.must(err)
	req := &http.Request{Method: http.MethodGet}
	if strings.HasPrefix(request, http.MethodHead+" ") {
		req.Method = http.MethodHead
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), req)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, ""
	}
	s.must(err)
	return resp.StatusCode, s.read(resp.Body)
}

// Hole 10: invalid addresses are refused, and crash nothing.
func TestNoAddressAtAll(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	for _, method := range []string{"GET", "PUT", "DELETE", "POST", "HEAD", "OPTIONS"} {
		for _, address := range []string{
			"", " ", "?", "*", "%", "%00", "\x00", "/\x00", "/%00", "/%", "/%zz", "//", "///", "/?", "/?%00=%00", "/?=", "/?&&&", "/?\x00",
			"http://", "http:///", "http://" + s.addr, "://", "/" + s.bucket + "/\x00", "/" + s.bucket + "?\x00", "/" + s.bucket + "/%00?uploadId=%00",
			"/" + s.bucket + "?versionId=&uploadId=", "/" + s.bucket + "/k?%", "/" + s.bucket + "/k?versionId", strings.Repeat("/", 4000),
		} {
			status, answer := s.lines(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, address, s.addr))
			if status == 501 && strings.Contains(answer, "NotImplemented") {
				continue // a missing resource is reported before authentication
			}
			if status >= 500 || status != 0 && status < 400 && method != "OPTIONS" {
				t.Errorf("%s %q: %d %s", method, address, status, answer)
			}
		}
	}
	if keys := s.keys(); !slices.Equal(keys, []string{"k"}) {
		t.Errorf("keys are %q", keys)
	}
}

// oddLines are headers that no client should send.
var oddLines = []string{
	":", ": x", "x", "x y: z", "Host :x", " folded: x", "X-A: b\r\n folded", "X-A: \x00", "X-\x00: a", "X-A: \r", "\x00: x", "é: x",
	"Host:", "Host: a\r\nHost: b", "Host: \x00", "Host: [", "Host: :0", "Host: .." + domain, "Host: ." + domain,
	"Content-Length: -1", "Content-Length: +1", "Content-Length: x", "Content-Length: 1\r\nContent-Length: 2", "Content-Length: 99999999999999999999",
	"Transfer-Encoding: x", "Transfer-Encoding: chunked\r\nContent-Length: 3", "Transfer-Encoding: chunked, chunked",
	"Expect: x", "Range: bytes=--1", "Range: \x00", "If-Modified-Since: x", "If-Match: \"", "Content-Type: ;;;", "Content-Type: multipart/form-data",
	"Authorization:", "Authorization: AWS4-HMAC-SHA256", "Authorization: AWS4-HMAC-SHA256 Credential=", "Authorization: AWS4-HMAC-SHA256 Credential=////, SignedHeaders=, Signature=",
	"Authorization: AWS4-HMAC-SHA256 Credential=rootkey/20260101/us-east-1/s3/aws4_request", "Authorization: AWS rootkey:x", "Authorization: Bearer \x00",
	"Authorization: AWS4-HMAC-SHA256 =,=,=", "Authorization: AWS4-HMAC-SHA256 Credential=rootkey/x/x/x/x, SignedHeaders=;;, Signature=zz",
	"X-Amz-Date:", "X-Amz-Date: x", "X-Amz-Content-Sha256:", "X-Amz-Content-Sha256: x", "X-Amz-Decoded-Content-Length: -1",
	"X-Amz-Copy-Source:", "X-Amz-Copy-Source: /", "X-Amz-Copy-Source: %", "X-Amz-Copy-Source: \x00", "Origin: \x00", "X-Forwarded-For: ,,,",
	"Cookie: " + strings.Repeat("a", 64<<10),
}

// Hole 10: invalid headers are refused or ignored, and crash nothing; their
// sender is anonymous.
func TestOddHeaders(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	for _, method := range []string{"GET", "PUT", "DELETE", "POST"} {
		for _, odd := range oddLines {
			head := fmt.Sprintf("%s /%s/k HTTP/1.1\r\n", method, s.bucket)
			if !strings.HasPrefix(odd, "Host:") {
				head += "Host: " + s.addr + "\r\n"
			}
			if !strings.Contains(odd, "Content-Length") && !strings.Contains(odd, "Transfer-Encoding") {
				head += "Content-Length: 0\r\n"
			}
			status, answer := s.lines(head + odd + "\r\nConnection: close\r\n\r\n")
			if status >= 500 || status != 0 && status < 400 {
				t.Errorf("%s with %.80q: %d %s", method, odd, status, answer)
			}
		}
	}
	if status, answer := s.lines("PUT /" + s.bucket + "/new HTTP/1.0\r\n\r\n"); status >= 500 || status != 0 && status < 400 {
		t.Errorf("no header at all: %d %s", status, answer)
	}
	if keys := s.keys(); !slices.Equal(keys, []string{"k"}) {
		t.Errorf("keys are %q", keys)
	}
}

// An odd, signed request is refused or stored unchanged: never a 500.
func TestOddSignedHeaders(t *testing.T) {
	s := newSite(t)
	for name, values := range map[string][]string{
		"X-Amz-Tagging": {"%", "=", "=&=&", "a", "a=b&a=c", "%zz=x", "a=%00", strings.Repeat("a", 5000)},
		"X-Amz-Acl":     {"", "x"}, "X-Amz-Grant-Read": {"", "=", "id=", "id=\"", "uri=\"x\""},
		"X-Amz-Meta-": {"", "x"}, "X-Amz-Meta-A": {"é", "=?utf-8?b?x", "\xff"}, "X-Amz-Meta-Ttl": {"", "x", "-1s"},
		"X-Amz-Storage-Class": {"", "x"}, "X-Amz-Object-Lock-Mode": {"", "x"}, "X-Amz-Object-Lock-Legal-Hold": {"", "x"},
		"Content-Md5": {"", "x", "===="}, "X-Amz-Checksum-Crc32": {"", "x"}, "X-Amz-Checksum-Algorithm": {"", "x"}, "X-Amz-Sdk-Checksum-Algorithm": {"x"},
		"X-Amz-Copy-Source": {"x", "/", "//", "?", "%", s.bucket, s.bucket + "/?versionId="}, "X-Amz-Copy-Source-Range": {"bytes=-"},
		"X-Amz-Metadata-Directive": {"x"}, "Content-Type": {";"}, "Content-Encoding": {"aws-chunked", ","}, "Expires": {"x"},
		"If-Match": {"", "\""}, "If-None-Match": {"", "x"}, "X-Amz-Expected-Bucket-Owner": {"", "x"}, "X-Amz-Server-Side-Encryption": {"", "x"},
		"X-Amz-Website-Redirect-Location": {"", "x"}, "X-Amz-Request-Payer": {"x"}, "X-Amz-Bypass-Governance-Retention": {"", "x", "true", "True"},
	} {
		for _, value := range values {
			for _, method := range []string{http.MethodPut, http.MethodGet, http.MethodDelete, http.MethodPost} {
				r := signed(s.raw(method, "/k", nil), root, sum(nil))
				r.Header = http.Header{}
				r.Header[name] = []string{value}
				status, _, body := s.send(signed(r, root, sum(nil)))
				if status >= 500 && !strings.Contains(body, "NotImplemented") {
					t.Errorf("%s with %s: %.80q: %d %s", method, name, value, status, body)
				}
			}
		}
	}
}

// Invalid tags in well-formed documents leave the existing ones.
func TestOddTags(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	const good = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"
	for _, target := range []string{"?tagging", "/k?tagging"} {
		if status, body := s.sendSigned(http.MethodPut, target, good); status >= 300 {
			t.Fatalf("%s: %d %s", target, status, body)
		}
		for _, bad := range []string{
			"<Tagging/>", "<TagSet/>", "<Tagging><TagSet><Tag/></TagSet></Tagging>", "<Tagging><TagSet><Tag><Value>b</Value></Tag></TagSet></Tagging>",
			"<Tagging><TagSet><Tag><Key/><Value>b</Value></Tag></TagSet></Tagging>", strings.Replace(good, "<Key>a</Key>", "<Key>a</Key><Key>c</Key>", 1),
			strings.Replace(good, "<Tagging><TagSet>", "<Tagging><TagSet/><TagSet>", 1), "<Delete><TagSet/></Delete>",
			strings.Replace(good, "</TagSet>", "<Tag><Key>a</Key><Value>c</Value></Tag></TagSet>", 1),
			strings.Replace(good, "a</Key>", strings.Repeat("a", 129)+"</Key>", 1), strings.Replace(good, "b</Value>", strings.Repeat("b", 257)+"</Value>", 1),
			strings.Replace(good, "<Key>a</Key>", "<Key>a&#0;</Key>", 1), strings.Replace(good, "<Tagging>", "<Tagging><Tagging>", 1),
		} {
			if status, body := s.sendSigned(http.MethodPut, target, bad); status < 400 || status >= 500 {
				t.Errorf("PUT %s %s: %d %s", target, bad, status, body)
			}
		}
		if status, body := s.sendSigned(http.MethodGet, target, ""); status != 200 || !strings.Contains(body, "<Tag><Key>a</Key><Value>b</Value></Tag>") {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
}
