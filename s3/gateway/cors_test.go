package gateway_test

import (
	"net/http"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Scripts of other origins can read exactly the headers that the bucket's rule
// exposes, as on S3.
func TestExposedHeadersAreTheRules(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	_, err := s.PutBucketCors(s.ctx, &awss3.PutBucketCorsInput{Bucket: &s.bucket, CORSConfiguration: &types.CORSConfiguration{CORSRules: []types.CORSRule{
		{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"https://some.example"}, ExposeHeaders: []string{"x-amz-request-id", "ETag"}},
		{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"https://none.example"}},
	}}})
	s.must(err)
	for origin, want := range map[string]string{
		"https://some.example": "x-amz-request-id, ETag", "https://none.example": "", "https://other.example": "", "": "",
	} {
		for _, method := range []string{http.MethodOptions, http.MethodGet, http.MethodHead} {
			r := s.raw(method, "/k", nil)
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
			r.Header.Set("Access-Control-Request-Method", "GET")
			_, header, _ := s.send(signed(r, root, sum(nil)))
			if got := header.Get("Access-Control-Expose-Headers"); got != want {
				t.Errorf("%s by %q: exposes %q, want %q", method, origin, got, want)
			}
		}
	}
}

// U17: scripts may send credentials if the rule names their origin. To others
// the response does not mention credentials, as on S3: "false" is not a value
// of that header.
func TestCredentialsOfOtherOrigins(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	_, err := s.PutBucketCors(s.ctx, &awss3.PutBucketCorsInput{Bucket: &s.bucket, CORSConfiguration: &types.CORSConfiguration{CORSRules: []types.CORSRule{
		{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"https://named.example"}},
		{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"*"}},
	}}})
	s.must(err)
	for origin, want := range map[string]string{"https://named.example": "true", "https://other.example": ""} {
		for _, method := range []string{http.MethodOptions, http.MethodGet} {
			r := s.raw(method, "/k", nil)
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", "GET")
			_, header, _ := s.send(signed(r, root, sum(nil)))
			got, there := header["Access-Control-Allow-Credentials"]
			if header.Get("Access-Control-Allow-Origin") == "" || header.Get("Access-Control-Allow-Credentials") != want || there != (want != "") {
				t.Errorf("%s by %s: %q, %q", method, origin, header.Get("Access-Control-Allow-Origin"), got)
			}
		}
	}
}
