package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
)

// A policy's conditions on the list and tags of a write apply to the fields of
// forms, too.
func TestPoliciesApplyToFormFields(t *testing.T) {
	s := newSite(t)
	hers := s.key("formalice", false, ledger.AccountBuckets)
	alice := client(hers, nil)
	s.bucket, s.Client = s.makes(alice, s.bucket+"-hers"), alice
	put := func(list types.ObjectCannedACL) int {
		_, err := alice.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("x"), ACL: list})
		status, _ := errorOf(err)
		return status
	}
	byForm := func(field, value string) int {
		status, _ := s.post(form{fields: s.signPolicyBy(hers, map[string]string{"key": "k", field: value}), name: "f", body: "x"})
		return status
	}
	for _, action := range []string{"s3:PutObject", "s3:PutObjectAcl"} {
		s.must(s.policy(conditional("Deny", `"*"`, fmt.Sprintf("%q", action), `{"StringEquals":{"s3:x-amz-acl":["public-read"]}}`)))
		if refused, taken := put("public-read"), put("private"); refused != 403 || taken != 0 {
			t.Errorf("%s, put: %d, %d", action, refused, taken)
		}
		if refused, taken := byForm("acl", "public-read"), byForm("acl", "private"); refused != 403 || taken != 204 {
			t.Errorf("%s, form: %d, %d", action, refused, taken)
		}
	}
	const tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"
	if status := byForm("tagging", tags); status != 204 {
		t.Errorf("tags: %d", status)
	}
	everything := `"Principal":"*","Resource":["arn:aws:s3:::BUCKET","arn:aws:s3:::BUCKET/*"]}`
	s.must(s.policy(`{"Effect":"Deny","Action":"s3:PutObjectTagging",`+everything, `{"Effect":"Allow","Action":"s3:PutObject",`+everything))
	if status := byForm("tagging", tags); status != 403 {
		t.Errorf("tags that are denied: %d", status)
	}
	for field, want := range map[string]int{"tagging": 403, "x-amz-meta-a": 204} {
		if status, answer := s.post(form{fields: map[string]string{"key": "k", field: tags}, name: "f", body: "x"}); status != want {
			t.Errorf("%s, unsigned: %d %s", field, status, answer)
		}
	}
}
