package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// objectQueries are possible queries of an object's address.
var objectQueries = []string{
	"", "acl", "attributes", "legal-hold", "retention", "tagging", "torrent", "uploads", "uploadId=x", "versions",
	"versionId=null", "partNumber=1", "restore", "select", "encryption", "x-id=GetObject",
}

// No query, and no two of them, bypass an object's own list, for its body or
// its headers.
func TestQueriesCannotBypassAnObjectACL(t *testing.T) {
	s := withLists(t)
	_, err := s.PutBucketAcl(s.ctx, &awss3.PutBucketAclInput{Bucket: &s.bucket, ACL: types.BucketCannedACLPublicRead})
	s.must(err)
	s.put("k", "secret body", map[string]string{"a": "b"})
	s.must(s.setACL("k", types.ObjectCannedACLPrivate))
	s.put("open", "body", nil)
	if got := s.anonymously("GET", "/open", nil); got != 200 {
		t.Fatalf("the bucket is not public: %d", got)
	}
	for _, one := range objectQueries {
		for _, two := range objectQueries {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				r := s.raw(method, "/k?"+one+"&"+two, nil)
				r.Header.Set("X-Amz-Object-Attributes", "ETag,ObjectSize")
				status, h, body := s.send(r)
				tags := method == http.MethodGet && (one == "tagging" || two == "tagging")
				if (status < 400 && !tags) || h.Get("Etag") != "" || strings.Contains(body, "secret") || strings.Contains(body, "<ETag") || h.Get("X-Amz-Meta-A") != "" {
					t.Errorf("%s ?%s&%s: %d %v %s", method, one, two, status, h, body)
				}
			}
		}
	}
}

// An object's list does not open what the bucket's list decides on.
func TestQueriesCannotBypassABucketACL(t *testing.T) {
	s := withLists(t)
	s.put("k", "body", nil)
	s.must(s.setACL("k", types.ObjectCannedACLPublicRead))
	bucketsOwn := []string{"tagging", "retention", "legal-hold"}
	for _, one := range bucketsOwn {
		for _, two := range objectQueries {
			for _, query := range []string{one + "&" + two, two + "&" + one} {
				if got := s.anonymously(http.MethodGet, "/k?"+query, nil); got < 400 {
					t.Errorf("GET ?%s: %d", query, got)
				}
			}
		}
	}
	for _, two := range objectQueries {
		if got := s.anonymously(http.MethodHead, "/k?tagging&"+two, nil); got >= 400 {
			t.Errorf("HEAD ?tagging&%s: %d", two, got)
		}
	}
}

// A form's policy covers only its fields: a header does not widen what they
// request.
func TestFormsTakeNoListFromHeaders(t *testing.T) {
	s := withLists(t)
	everybody := `uri="http://acs.amazonaws.com/groups/global/AllUsers"`
	for name, value := range map[string]string{
		"X-Amz-Acl": "public-read", "X-Amz-Grant-Read": everybody, "X-Amz-Grant-Full-Control": everybody,
	} {
		for _, fields := range []map[string]string{{"key": "k", "acl": "private"}, {"key": "k"}} {
			status, answer := s.post(form{fields: s.signPolicy(fields), body: "x", header: http.Header{name: {value}}})
			if status != 400 || !strings.Contains(answer, "<Code>InvalidArgument</Code>") {
				t.Errorf("%s with %v: %d %s", name, fields, status, answer)
			}
		}
	}
	s.missing("k")
	for list, want := range map[string]int{"private": 403, "public-read": 200} {
		if status, answer := s.post(form{fields: s.signPolicy(map[string]string{"key": list, "acl": list}), body: "x"}); status != 204 {
			t.Errorf("%s: %d %s", list, status, answer)
		}
		if got := s.anonymously(http.MethodGet, "/"+list, nil); got != want {
			t.Errorf("%s: %d, want %d", list, got, want)
		}
	}
}
