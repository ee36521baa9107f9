package gateway_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Tags with keys that S3 reserves are refused from any source, and existing
// ones stay.
func TestReservedTags(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	document := func(key string) string {
		return "<Tagging><TagSet><Tag><Key>" + key + "</Key><Value>b</Value></Tag></TagSet></Tagging>"
	}
	is := func(what string, err error, bad bool) {
		t.Helper()
		if !bad {
			s.must(err)
			return
		}
		t.Log(what)
		s.fails(err, 400, "InvalidTag")
	}
	for key, bad := range map[string]bool{"aws:x": true, "AWS:x": true, "Aws:": true, "aws": false, "xaws:x": false} {
		for _, target := range []string{"?tagging", "/k?tagging"} {
			status, body := s.sendSigned(http.MethodPut, target, document(key))
			if bad != (status == 400 && strings.Contains(body, "<Code>InvalidTag</Code>")) || !bad && status >= 300 {
				t.Errorf("PUT %s of %s: %d %s", target, key, status, body)
			}
			if _, body = s.sendSigned(http.MethodGet, target, ""); strings.Contains(body, ">"+key+"<") == bad {
				t.Errorf("PUT %s of %s has left %s", target, key, body)
			}
		}
		tagging := url.QueryEscape(key) + "=b"
		_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: &key, Tagging: &tagging})
		is("put", err, bad)
		_, err = s.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key, Tagging: &tagging})
		is("create", err, bad)
		_, err = s.CopyObject(s.ctx, &awss3.CopyObjectInput{
			Bucket: &s.bucket, Key: &key, CopySource: aws.String(s.bucket + "/k"), Tagging: &tagging, TaggingDirective: types.TaggingDirectiveReplace,
		})
		is("copy", err, bad)
		fields := map[string]string{"key": key, "tagging": document(key)}
		if status, body := s.post(form{fields: s.signPolicy(fields), name: "f", body: "x"}); bad != strings.Contains(body, "<Code>InvalidTag</Code>") || !bad && status >= 300 {
			t.Errorf("form of %s: %d %s", key, status, body)
		}
		_, err = s.CreateBucket(s.ctx, &awss3.CreateBucketInput{
			Bucket:                    aws.String(fmt.Sprintf("%s-%x", s.bucket, key)),
			CreateBucketConfiguration: &types.CreateBucketConfiguration{Tags: []types.Tag{{Key: &key, Value: aws.String("b")}}},
		})
		is("make", err, bad)
	}
}
