package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// unkept are headers that request something that is not supported.
var unkept = map[string]string{
	"x-amz-server-side-encryption":                                "AES256",
	"x-amz-server-side-encryption-aws-kms-key-id":                 "key",
	"x-amz-server-side-encryption-context":                        "e30=",
	"x-amz-server-side-encryption-bucket-key-enabled":             "true",
	"x-amz-server-side-encryption-customer-algorithm":             "AES256",
	"x-amz-server-side-encryption-customer-key":                   "a2V5",
	"x-amz-server-side-encryption-customer-key-md5":               "bWQ1",
	"x-amz-copy-source-server-side-encryption-customer-algorithm": "AES256",
	"x-amz-copy-source-server-side-encryption-customer-key":       "a2V5",
	"x-amz-storage-class":                                         "GLACIER",
	"x-amz-write-offset-bytes":                                    "3",
}

// Who resumes an upload (curl -C) sends the rest with its place. As a whole object it would
// replace what is there.
func TestPutOfARangeIsRefused(t *testing.T) {
	s := newSite(t)
	s.put("k", "012345", nil)
	up := s.create("up", nil)
	for _, target := range []string{"PUT /k", "PUT /new", "PUT /up?partNumber=1&uploadId=" + up.id} {
		if status, body := s.sendWith(target, nil, "Content-Range", "bytes 3-5/6"); status != 501 || !strings.Contains(body, "Content-Range") {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	if got, _ := s.get("k"); got != "012345" {
		t.Errorf("the object is %q", got)
	}
	s.missing("new")
}

// U1: requests for encryption, another storage class or appending are refused
// by name, wherever objects are created, and leave nothing behind.
func TestUnsupportedHeadersAreRefusedByName(t *testing.T) {
	s := newSite(t)
	s.put("source", "source", nil)
	up := s.create("up", nil)
	before := int(live(s))
	for name, value := range unkept {
		for target, more := range map[string]http.Header{
			"PUT /k": nil, "POST /k?uploads": nil, "PUT /up?partNumber=1&uploadId=" + up.id: nil,
			"PUT /source": nil, "POST /up?uploadId=" + up.id: nil,
			"PUT /copy":                              {"X-Amz-Copy-Source": {s.bucket + "/source"}},
			"PUT /up?partNumber=2&uploadId=" + up.id: {"X-Amz-Copy-Source": {s.bucket + "/source"}},
		} {
			status, body := s.sendWith(target, more, name, value)
			if status != 501 || !strings.Contains(body, "<Code>NotImplemented</Code>") || !strings.Contains(body, name) {
				t.Errorf("%s with %s: %d %s", target, name, status, body)
			}
		}
		fields := s.signPolicy(map[string]string{"key": "form", name: value})
		if status, body := s.post(form{fields: fields, body: "x"}); status != 501 || !strings.Contains(body, name) {
			t.Errorf("a form with %s: %d %s", name, status, body)
		}
		if status := s.anonymously(http.MethodPut, "/k?"+name+"="+value, nil); status != 501 {
			t.Errorf("a link with %s: %d", name, status)
		}
	}
	for _, key := range []string{"k", "copy", "form"} {
		s.missing(key)
	}
	parts, err := s.ListParts(s.ctx, &awss3.ListPartsInput{Bucket: &s.bucket, Key: aws.String("up"), UploadId: &up.id})
	s.must(err)
	if got, _ := s.get("source"); got != "source" || len(parts.Parts) != 0 {
		t.Errorf("the object is %q, the upload has %d parts", got, len(parts.Parts))
	}
	s.leftNothing(before)
}

// sendWith sends root's request, given as "METHOD target", with more headers.
func (s *site) sendWith(request string, more http.Header, name, value string) (int, string) {
	s.t.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := s.raw(method, target, nil)
	for k, v := range more {
		r.Header[k] = v
	}
	r.Header.Set(name, value)
	body := "body"
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	status, _, answer := s.send(signed(r, root, sum([]byte(body))))
	return status, answer
}

// A request with a key for an unencrypted object is refused, as on S3. The only
// storage class may be named; an invalid one is refused.
func TestKeysAndClassesThatObjectsDoNotHave(t *testing.T) {
	s := newSite(t)
	s.put("k", "plain", nil)
	key := aws.String(strings.Repeat("k", 32))
	_, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k"),
		SSECustomerAlgorithm: aws.String("AES256"), SSECustomerKey: key})
	s.fails(err, 400, "InvalidRequest")
	_, err = s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("k"),
		SSECustomerAlgorithm: aws.String("AES256"), SSECustomerKey: key})
	s.fails(err, 400, "BadRequest")
	for class, want := range map[types.StorageClass]string{"STANDARD": "", "": "", "standard": "InvalidStorageClass", "COLD": "InvalidStorageClass"} {
		_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("c"), StorageClass: class})
		if _, code := errorOf(err); code != want {
			t.Errorf("%q: %v, want %q", class, err, want)
		}
	}
	if status, body := s.sendWith("GET /k", nil, "X-Amz-Storage-Class", "GLACIER"); status != 200 {
		t.Errorf("a read that names a class: %d %s", status, body)
	}
}
