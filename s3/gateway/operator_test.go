package gateway_test

import (
	"errors"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/s3"
)

// refused checks that an operator's change was refused in S3's terms.
func refused(t *testing.T, err error, code, says string) {
	t.Helper()
	var e *s3.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, says) {
		t.Errorf("%v, want %s with %q", err, code, says)
	}
}

// What the operator sets within the process is what clients get, and is checked as theirs is.
func TestOperator(t *testing.T) {
	s := newSite(t)
	o := w.server.Operator()
	made := s.bucket + "-made"
	s.must(o.CreateBucket(s.ctx, made))
	refused(t, o.CreateBucket(s.ctx, made), "BucketAlreadyOwnedByYou", "")
	refused(t, o.CreateBucket(s.ctx, "No Bucket"), "InvalidBucketName", "")
	list, err := s.ListBuckets(s.ctx, &awss3.ListBucketsInput{Prefix: &made})
	s.must(err)
	if len(list.Buckets) != 1 {
		t.Errorf("clients see %d of the operator's buckets", len(list.Buckets))
	}
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &made, Key: &made, Body: strings.NewReader("x")})
	s.must(err)
}

func TestOperatorsPolicy(t *testing.T) {
	s := newSite(t)
	o := w.server.Operator()
	s.put("k", "x", nil)
	const allow = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::BUCKET/*"}]}`
	policy := strings.Replace(allow, "BUCKET", s.bucket, 1)
	s.must(o.SetPolicy(s.ctx, s.bucket, policy))
	s.publicIs(403, 200, 404)
	text, err := o.Policy(s.ctx, s.bucket)
	if err != nil || !strings.Contains(text, "\n  \"Statement\"") {
		t.Errorf("%s, %v", text, err)
	}
	refused(t, o.SetPolicy(s.ctx, s.bucket, allow), "MalformedPolicy", "resource")
	refused(t, o.SetPolicy(s.ctx, s.bucket, "nonsense"), "MalformedPolicy", "")
	refused(t, o.SetPolicy(s.ctx, s.bucket, strings.Replace(policy, `"Action"`, `"NotAction"`, 1)), "MalformedPolicy", "")
	refused(t, o.SetPolicy(s.ctx, "no-such-bucket", policy), "NoSuchBucket", "")
	conditioned := strings.Replace(policy, `"Effect"`, `"Condition":{"StringEquals":{"s3:ExistingObjectTag/public":"yes"}},"Effect"`, 1)
	s.must(o.SetPolicy(s.ctx, s.bucket, conditioned))
	s.blockPublic(types.PublicAccessBlockConfiguration{BlockPublicPolicy: new(true)})
	refused(t, o.SetPolicy(s.ctx, s.bucket, policy), "AccessDenied", "everybody")
	s.must(o.SetPolicy(s.ctx, s.bucket, ""))
	if text, err = o.Policy(s.ctx, s.bucket); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	_, err = s.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &s.bucket})
	s.fails(err, 404, "NoSuchBucketPolicy")
}

func TestOperatorsCORS(t *testing.T) {
	s := newSite(t)
	o := w.server.Operator()
	const rules = `{"CORSRules":[{"ID":"one","AllowedMethods":["GET","PUT"],"AllowedOrigins":["https://a.example"],"MaxAgeSeconds":60}]}`
	s.must(o.SetCORS(s.ctx, s.bucket, rules))
	got, err := s.GetBucketCors(s.ctx, &awss3.GetBucketCorsInput{Bucket: &s.bucket})
	s.must(err)
	if r := got.CORSRules; len(r) != 1 || *r[0].ID != "one" || len(r[0].AllowedMethods) != 2 || r[0].AllowedOrigins[0] != "https://a.example" || *r[0].MaxAgeSeconds != 60 {
		t.Errorf("%+v", r)
	}
	text, err := o.CORS(s.ctx, s.bucket)
	s.must(err)
	s.must(o.SetCORS(s.ctx, s.bucket, text))
	if again, err := o.CORS(s.ctx, s.bucket); again != text || err != nil || !strings.Contains(text, `"AllowedOrigins"`) {
		t.Errorf("%s, %v", again, err)
	}
	s.must(o.SetCORS(s.ctx, s.bucket, `<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule></CORSConfiguration>`))
	for bad, code := range map[string]string{
		"nonsense": "MalformedCORS", "{": "MalformedCORS", rules + "{}": "MalformedCORS", `{"Rules":[]}`: "MalformedCORS", `{"CORSRules":[]}`: "MalformedXML",
		strings.Replace(rules, "GET", "LOOK", 1): "InvalidRequest", `<CORSConfiguration/><CORSConfiguration/>`: "MalformedCORS",
	} {
		refused(t, o.SetCORS(s.ctx, s.bucket, bad), code, "")
	}
	refused(t, o.SetCORS(s.ctx, "no-such-bucket", rules), "NoSuchBucket", "")
	s.must(o.SetCORS(s.ctx, s.bucket, ""))
	if text, err := o.CORS(s.ctx, s.bucket); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
