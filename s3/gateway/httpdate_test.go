package gateway_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Clients write the date of a conditional DeleteObjects as in headers.
func TestDeletingSeveralByDate(t *testing.T) {
	s := newSite(t)
	for _, key := range []string{"a", "b", "c"} {
		s.put(key, "x", nil)
	}
	head, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("a")})
	s.must(err)
	other := head.LastModified.Add(-time.Hour)
	out, err := s.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &s.bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{
		{Key: aws.String("a"), LastModifiedTime: head.LastModified}, {Key: aws.String("b"), LastModifiedTime: &other},
	}}})
	s.must(err)
	if len(out.Deleted) != 1 || len(out.Errors) != 1 || *out.Errors[0].Code != "PreconditionFailed" {
		t.Errorf("deleted %+v, failed %+v", out.Deleted, out.Errors)
	}
	s.missing("a")
	s.get("b")
	document := func(date string) []byte {
		return []byte("<Delete><Object><Key>c</Key><LastModifiedTime>" + date + "</LastModifiedTime></Object></Delete>")
	}
	web := document(head.LastModified.UTC().Format(http.TimeFormat))
	// A date in a key is part of the key.
	disguised := bytes.Replace(web, []byte("</Object>"), []byte("</Object><Object><Key><![CDATA["+string(web)+"]]></Key></Object>"), 1)
	ask := func(body []byte) *http.Request {
		r, md := s.raw(http.MethodPost, "?delete", body), md5.Sum(body)
		r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(md[:]))
		return r
	}
	for _, r := range []*http.Request{
		ask(web),
		signed(ask(web), s.key("reader", true, s.bucket), sum(web)),
		signed(ask(web), s.key("elsewhere", false, "elsewhere"), sum(web)),
		signed(ask(web), root, sum(document("another"))),
		signed(ask(document("some day")), root, sum(document("some day"))),
		signed(ask(disguised), root, sum(disguised)),
	} {
		if status, _, body := s.send(r); (status < 400 || status >= 500) && !strings.Contains(body, "<Code>AccessDenied</Code><Key>c</Key>") {
			t.Errorf("%d %s", status, body)
		}
	}
	s.get("c")
	// The signature covers the bytes as sent; the date is read after
	// verification.
	if status, _, body := s.send(signed(ask(web), root, sum(web))); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	s.missing("c")
}
