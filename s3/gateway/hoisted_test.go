package gateway_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
)

// link sends a request by a presigned link whose query has what other requests have in
// headers. Some SDKs (JavaScript, PHP) write links so.
func (s *site) link(method, target, body string, hoisted map[string]string) (int, http.Header, string) {
	s.t.Helper()
	r := s.raw(method, target, []byte(body))
	q := r.URL.Query()
	q.Set("X-Amz-Expires", "900")
	for name, value := range hoisted {
		if strings.EqualFold(name, "X-Amz-Content-Sha256") {
			r.Header.Set(name, value)
			continue
		}
		q.Set(name, value)
	}
	r.URL.RawQuery = q.Encode()
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	who := aws.Credentials{AccessKeyID: root.Access, SecretAccessKey: root.Secret}
	at, _, err := signer.PresignHTTP(s.ctx, who, r, "UNSIGNED-PAYLOAD", "s3", region, lethe.SystemClock{}.Now().Time())
	s.must(err)
	if r.URL, err = url.Parse(at); err != nil {
		s.t.Fatal(err)
	}
	return s.send(r)
}

// bodysETag is the MD5 of "body".
const bodysETag = "841a2d689ad86bd1611447453c22c6fc"

func TestLinksThatHaveHeadersInTheirQuery(t *testing.T) {
	s := newSite(t)
	hoisted := map[string]string{
		"x-amz-meta-ttl": "1h", "x-amz-meta-Colour": "blue", "x-amz-tagging": "a=b&c=d", "x-amz-user-agent": "aws-sdk-js/3",
		"x-amz-sdk-checksum-algorithm": "CRC32", "x-amz-checksum-crc32": "AAAAAA==",
	}
	kept := func(key string) {
		t.Helper()
		out, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &key})
		s.must(err)
		if s.read(out.Body) != "body" || out.Metadata["ttl"] != "1h" || out.Metadata["colour"] != "blue" || aws.ToInt32(out.TagCount) != 2 {
			t.Errorf("%s: metadata %v, %d tags", key, out.Metadata, aws.ToInt32(out.TagCount))
		}
	}
	status, header, answer := s.link("PUT", "/k", "body", hoisted)
	if status != 200 || !strings.Contains(header.Get("x-amz-expiration"), `rule-id="ttl"`) {
		t.Fatalf("put: %d, expiration %q: %s", status, header.Get("x-amz-expiration"), answer)
	}
	kept("k")
	status, _, answer = s.link("POST", "/up?uploads=", "", hoisted)
	_, rest, _ := strings.Cut(answer, "<UploadId>")
	id, _, found := strings.Cut(rest, "</UploadId>")
	if status != 200 || !found {
		t.Fatalf("create: %d %s", status, answer)
	}
	if status, _, answer = s.link("PUT", "/up?partNumber=1&uploadId="+id, "body", nil); status != 200 {
		t.Fatalf("part: %d %s", status, answer)
	}
	if status, _, answer = s.link("POST", "/up?uploadId="+id, `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>`+bodysETag+`</ETag></Part></CompleteMultipartUpload>`, nil); status != 200 {
		t.Fatalf("complete: %d %s", status, answer)
	}
	kept("up")
	if status, _, answer = s.link("PUT", "/big", "body", map[string]string{"x-amz-meta-a": strings.Repeat("a", 2<<10)}); status != 400 || !strings.Contains(answer, "MetadataTooLarge") {
		t.Errorf("more metadata than an object has: %d %s", status, answer)
	}
	if status, header, answer = s.link("PUT", "/bad", "body", map[string]string{"x-amz-meta-ttl": "soon"}); status != 400 {
		t.Errorf("a wrong time to live: %d %v %s", status, header, answer)
	}
	for name, value := range map[string]string{"x-amz-meta-a": "x\r\nX-Injected: yes", "x-amz-meta-a: b\r\nx": "y"} {
		if status, header, answer = s.link("PUT", "/bad", "body", map[string]string{name: value}); status != 400 {
			t.Errorf("%q: %d %v %s", name, status, header, answer)
		}
	}
	s.missing("bad")
}

// The source of a copy cannot come so: what is copied is chosen before the signature is read.
// As an upload the request would empty the object.
func TestLinksThatCopyAreRefused(t *testing.T) {
	s := newSite(t)
	s.put("from", "x", nil)
	s.put("to", "old", nil)
	up := s.create("up", nil)
	for _, target := range []string{"/to", "/up?partNumber=1&uploadId=" + up.id} {
		status, _, answer := s.link("PUT", target, "", map[string]string{"x-amz-copy-source": s.bucket + "/from"})
		if status != 501 || !strings.Contains(answer, "x-amz-copy-source") {
			t.Errorf("%s: %d %s", target, status, answer)
		}
	}
	if got, _ := s.get("to"); got != "old" {
		t.Errorf("the object is %q", got)
	}
}

// versitygw decodes no chunks that come by a link: their headers would become bytes.
func TestChunksByLinkAreRefused(t *testing.T) {
	s := newSite(t)
	for _, kind := range []string{"STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"} {
		status, _, answer := s.link("PUT", "/k", "4\r\nbody\r\n0\r\n\r\n", map[string]string{"X-Amz-Content-Sha256": kind})
		if status != 400 && status != 501 {
			t.Errorf("%s: %d %s", kind, status, answer)
		}
		if found := s.keys(); len(found) > 0 {
			got, _ := s.get("k")
			t.Errorf("%s: kept %q", kind, got)
		}
	}
}

// Before a request without a signature is allowed, the conditions of a policy see its headers
// alone: no more come from its query.
func TestQueriesOfUnsignedRequestsAreNoHeaders(t *testing.T) {
	s := newSite(t)
	s.must(s.policy(conditional("Allow", `"*"`, `["s3:PutObject","s3:PutObjectTagging"]`, `{"Null":{"s3:RequestObjectTag/team":"true"}}`)))
	if status := s.anonymously(http.MethodPut, "/k", map[string]string{"X-Amz-Tagging": "team=red"}); status != 403 {
		t.Fatalf("a tag in a header: %d", status)
	}
	for _, target := range []string{"/k?X-Amz-Signature=&x-amz-tagging=team%3Dred", "/k?X-Amz-Signature=&x-amz-meta-ttl=1h"} {
		if status := s.anonymously(http.MethodPut, target, nil); status != 200 {
			t.Errorf("%s: %d", target, status)
			continue
		}
		out, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
		s.must(err)
		if aws.ToInt32(out.TagCount) != 0 || len(out.Metadata) > 0 {
			t.Errorf("%s: %d tags, metadata %v", target, aws.ToInt32(out.TagCount), out.Metadata)
		}
	}
}

// A form's policy covers only its fields: its address does not widen what they request.
func TestQueriesOfFormsAreNoHeaders(t *testing.T) {
	s := withLists(t)
	for _, query := range []string{"x-amz-meta-ttl=1h", "x-amz-tagging=a%3Db", "x-amz-acl=public-read"} {
		body := formBody(s.signPolicy(map[string]string{"key": "k", "acl": "private"}), "x")
		r := s.raw(http.MethodPost, "?X-Amz-Signature=x&"+query, []byte(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=BB")
		if status, _, answer := s.send(r); status != 204 {
			t.Fatalf("%s: %d %s", query, status, answer)
		}
		out, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
		s.must(err)
		if aws.ToInt32(out.TagCount) != 0 || len(out.Metadata) > 0 || s.grants("k") != root.Access+" FULL_CONTROL" {
			t.Errorf("%s: %d tags, metadata %v, grants %s", query, aws.ToInt32(out.TagCount), out.Metadata, s.grants("k"))
		}
	}
}
