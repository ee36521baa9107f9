package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// A policy that would be partly ignored is refused: it would deny less, or
// allow more.
func TestPartlyUnsupportedPoliciesAreRefused(t *testing.T) {
	s := newSite(t)
	const rest = `"Effect":"Deny","Resource":"arn:aws:s3:::BUCKET/*"`
	for what, statement := range map[string]string{
		"NotPrincipal":           `{` + rest + `,"Action":"s3:GetObject","NotPrincipal":{"AWS":"alice"}}`,
		"NotPrincipal besides":   `{` + rest + `,"Action":"s3:GetObject","Principal":"*","NotPrincipal":{"AWS":"alice"}}`,
		"NotAction":              `{` + rest + `,"NotAction":"s3:GetObject","Principal":"*"}`,
		"NotResource":            `{"Effect":"Deny","Action":"s3:GetObject","Principal":"*","NotResource":"arn:aws:s3:::BUCKET/*"}`,
		"no principal":           `{` + rest + `,"Action":"s3:GetObject"}`,
		"no action":              `{` + rest + `,"Principal":"*"}`,
		"no resource":            `{"Effect":"Deny","Action":"s3:GetObject","Principal":"*"}`,
		"a misspelt condition":   `{` + rest + `,"Action":"s3:GetObject","Principal":"*","Conditions":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}}`,
		"two principals":         `{` + rest + `,"Action":"s3:GetObject","Principal":"*","Principal":{"AWS":"` + root.Access + `"}}`,
		"two in other spellings": `{` + rest + `,"Action":"s3:GetObject","Principal":"*","principal":{"AWS":"` + root.Access + `"}}`,
		"other principals":       `{` + rest + `,"Action":"s3:GetObject","Principal":{"AWS":"*","CanonicalUser":"x"}}`,
		"two conditions": `{` + rest + `,"Action":"s3:GetObject","Principal":"*","Condition":{"StringEquals":{"aws:UserAgent":"a"},` +
			`"StringEquals":{"aws:Referer":"b"}}}`,
		"two of a key": `{` + rest + `,"Action":"s3:GetObject","Principal":"*","Condition":{"StringEquals":{"aws:UserAgent":"a","aws:useragent":"b"}}}`,
		"a condition on what requests do not have": `{` + rest + `,"Action":"s3:GetObject","Principal":"*","Condition":{"StringEquals":{"aws:username":"alice"}}}`,
		"a variable":    `{"Effect":"Deny","Action":"s3:GetObject","Principal":"*","Resource":["arn:aws:s3:::BUCKET/a","arn:aws:s3:::BUCKET/\u0024{aws:username}/*"]}`,
		"a bare string": `"x"`,
	} {
		err := s.policy(statement)
		if status, code := errorOf(err); status != 400 || code != "MalformedPolicy" {
			t.Errorf("%s: %v", what, err)
		}
	}
	whole := `{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::` + s.bucket + `/*"}`
	for _, policy := range []string{
		`{"Statement":[` + whole + `],"Statement":[` + strings.Replace(whole, "Allow", "Deny", 1) + `]}`,
		`{"Statement":[` + whole + `],"NotStatement":[]}`,
	} {
		_, err := s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: &policy})
		s.fails(err, 400, "MalformedPolicy")
	}
	_, err := s.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &s.bucket})
	s.fails(err, 404, "NoSuchBucketPolicy")
	policy := `{"Id":"all","Version":"2012-10-17","Statement":[{"Sid":"one","Effect":"Allow","Principal":{"AWS":["*"]},"Action":["s3:GetObject"],` +
		`"Resource":["arn:aws:s3:::` + s.bucket + `/*"],"Condition":{"IpAddress":{"aws:SourceIp":["127.0.0.0/8","10.0.0.0/8"]},"StringLike":{"aws:UserAgent":"*"}}}]}`
	_, err = s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: &policy})
	s.must(err)
	s.put("k", "x", nil)
	s.publicIs(403, 200, 404)
}

// A policy that denies something to everyone does not make a bucket public.
func TestDenyingEverybodyIsNotPublic(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	bob, bobs := s.account("bob")
	deny := `{"Effect":"Deny","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::BUCKET/secret"}`
	allow := fmt.Sprintf(`{"Effect":"Allow","Principal":{"AWS":[%q]},"Action":"s3:GetObject","Resource":"arn:aws:s3:::BUCKET/*"}`, bobs)
	public := strings.Replace(deny, "Deny", "Allow", 1)
	s.blockPublic(types.PublicAccessBlockConfiguration{BlockPublicPolicy: aws.Bool(true), RestrictPublicBuckets: aws.Bool(true)})
	status := func() bool {
		out, err := s.GetBucketPolicyStatus(s.ctx, &awss3.GetBucketPolicyStatusInput{Bucket: &s.bucket})
		s.must(err)
		return *out.PolicyStatus.IsPublic
	}
	s.must(s.policy(deny, allow))
	if status() {
		t.Error("a policy that denies is public")
	}
	s.must(getAs(s, bob, s.bucket, "k"))
	s.fails(getAs(s, bob, s.bucket, "secret"), 403, "AccessDenied")
	s.fails(s.policy(deny, public), 403, "AccessDenied")
	_, err := s.DeletePublicAccessBlock(s.ctx, &awss3.DeletePublicAccessBlockInput{Bucket: &s.bucket})
	s.must(err)
	s.must(s.policy(deny, public))
	if !status() {
		t.Error("a policy that allows something to everybody is not public")
	}
	_, err = bob.GetBucketPolicyStatus(s.ctx, &awss3.GetBucketPolicyStatusInput{Bucket: &s.bucket})
	s.fails(err, 403, "AccessDenied")
}
