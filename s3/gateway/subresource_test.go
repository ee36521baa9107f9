package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// A sub-resource without the requested operation is refused: the request must
// not reach its object or bucket.
func TestSubresourcesDoNotFallThrough(t *testing.T) {
	s := newSite(t)
	s.put("k", "precious", nil)
	for target, code := range map[string]string{
		"PUT /k?encryption": "NotImplemented", "PUT /k?renameObject": "NotImplemented", "DELETE /k?torrent": "NotImplemented",
		"PUT /k?restore": "MethodNotAllowed", "PUT /k?select": "MethodNotAllowed", "PUT /k?attributes": "MethodNotAllowed",
		"DELETE /k?acl": "MethodNotAllowed", "DELETE /k?retention": "MethodNotAllowed", "DELETE /k?legal-hold": "MethodNotAllowed",
	} {
		s.isRefused(target, code)
	}
	if got, _ := s.get("k"); got != "precious" {
		t.Errorf("the object is %q", got)
	}
	_, err := s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	for target, code := range map[string]string{
		"DELETE ?versioning": "MethodNotAllowed", "DELETE ?acl": "MethodNotAllowed", "DELETE ?uploads": "MethodNotAllowed",
		"DELETE ?policyStatus": "MethodNotAllowed", "DELETE ?object-lock": "MethodNotAllowed",
		"DELETE ?metadataConfiguration": "NotImplemented", "GET ?session": "NotImplemented", "PUT ?abac": "NotImplemented",
	} {
		s.isRefused(target, code)
	}
	if _, err := s.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: &s.bucket}); err != nil {
		t.Errorf("the bucket is gone: %v", err)
	}
}

// isRefused sends root's request, given as "METHOD target".
func (s *site) isRefused(request, code string) {
	s.t.Helper()
	method, target, _ := strings.Cut(request, " ")
	status, body := s.sendSigned(method, target, "")
	if status < 400 || !strings.Contains(body, "<Code>"+code+"</Code>") {
		s.t.Errorf("%s: %d %s, want %s", request, status, body, code)
	}
}

// What is not a sub-resource is ignored, as on S3.
func TestUnknownQueriesAreIgnored(t *testing.T) {
	s := newSite(t)
	status, body := s.sendSigned(http.MethodPut, "/k?x-id=PutObject&nonsense", "x")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if got, _ := s.get("k"); got != "x" {
		t.Errorf("the object is %q", got)
	}
}
