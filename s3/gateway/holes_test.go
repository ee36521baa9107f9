package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// Each kind of payload passes the same check of the signature, in every write
// operation.
func TestForgedStreamsOnEveryUpload(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	up := s.create("up", nil)
	part := "/up?partNumber=1&uploadId=" + up.id
	forged := gateway.Credentials{Access: root.Access, Secret: "wrong"}
	for _, payload := range []string{
		"STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", "UNSIGNED-PAYLOAD",
	} {
		for target, source := range map[string]string{"/new": "", part: "", "/copy": s.bucket + "/k", part + "&": s.bucket + "/k"} {
			r := s.raw(http.MethodPut, target, []byte("0\r\n\r\n"))
			r.Header.Set("X-Amz-Decoded-Content-Length", "0")
			r.Header.Set("X-Amz-Trailer", "x-amz-checksum-crc32")
			if source != "" {
				r.Header.Set("X-Amz-Copy-Source", source)
			}
			if status, _, body := s.send(signed(r, forged, payload)); status < 400 || status >= 500 {
				t.Errorf("%s %s from %q: %d %s", payload, target, source, status, body)
			}
		}
	}
	if len(s.keys()) != 1 {
		t.Errorf("keys are %q", s.keys())
	}
}

func TestCORSHeadersCannotBeInjected(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	for _, evil := range []string{"x\r\nX-Injected: yes", "x\nX-Injected: yes", "x\x00"} {
		_, err := s.PutBucketCors(s.ctx, &awss3.PutBucketCorsInput{Bucket: &s.bucket, CORSConfiguration: &types.CORSConfiguration{
			CORSRules: []types.CORSRule{{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"https://example.com"}, ExposeHeaders: []string{evil}}},
		}})
		if err != nil {
			continue // a refusal is as good
		}
		r := signed(s.raw(http.MethodGet, "/k", nil), root, sum(nil))
		r.Header.Set("Origin", "https://example.com")
		status, header, body := s.send(r)
		if status >= 500 || header.Get("X-Injected") != "" || strings.Contains(body, "Injected") {
			t.Errorf("%q: %d %v %s", evil, status, header, body)
		}
	}
}

// Objects have no retention date, so none can be shortened; a request for one
// is refused. Legal holds are kept: TestLegalHold.
func TestRetentionIsRefused(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	until := aws.Time(lethe.SystemClock{}.Now().Add(time.Hour).Time())
	for _, mode := range []types.ObjectLockRetentionMode{types.ObjectLockRetentionModeCompliance, types.ObjectLockRetentionModeGovernance} {
		_, err := s.PutObjectRetention(s.ctx, &awss3.PutObjectRetentionInput{Bucket: &s.bucket, Key: aws.String("k"),
			Retention: &types.ObjectLockRetention{Mode: mode, RetainUntilDate: until}})
		s.fails(err, 400, "InvalidRequest")
		_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("new"), Body: strings.NewReader("x"),
			ObjectLockMode: types.ObjectLockMode(mode), ObjectLockRetainUntilDate: until})
		s.fails(err, 400, "InvalidRequest")
	}
	s.missing("new")
}

// A key with the root's name does not get the root's rights.
func TestKeyCannotImpersonateTheRoot(t *testing.T) {
	s := newSite(t)
	fake := gateway.Credentials{Access: root.Access, Secret: "secret of another"}
	if _, err := w.db.AddAccessKey(s.ctx, ledger.AccessKey{ID: fake.Access, Secret: fake.Secret, Buckets: []string{"*"}}); err == nil {
		defer func() { s.must(w.db.RemoveAccessKey(s.ctx, fake.Access)) }()
	}
	_, err := client(fake, nil).ListBuckets(s.ctx, &awss3.ListBucketsInput{})
	s.fails(err, 403, "SignatureDoesNotMatch")
	_, err = s.ListBuckets(s.ctx, &awss3.ListBucketsInput{})
	s.must(err)
}

// Hole 4: unsigned headers have no effect.
func TestLinksTakeNoOtherHeaders(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	p := awss3.NewPresignClient(s.Client)
	put, err := p.PresignPutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Metadata: map[string]string{"ttl": "1h"}})
	s.must(err)
	remove, err := p.PresignDeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	ask := func(method, url string, header ...string) (int, string) {
		r, err := http.NewRequestWithContext(s.ctx, method, url, nil)
		s.must(err)
		if method == http.MethodPut {
			r.Header.Set("X-Amz-Meta-Ttl", "1h")
		}
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		status, _, body := s.send(r)
		return status, body
	}
	const bypass = "X-Amz-Bypass-Governance-Retention"
	for _, c := range [][]string{
		{"X-Amz-Copy-Source", "/" + s.bucket + "/k"}, {"X-Amz-Tagging", "a=b"}, {"X-Amz-Meta-A", "b"}, {"X-Amz-Meta-Ttl", "2h"}, {"X-Amz-Acl", "public-read"},
		{bypass, "true"}, {bypass, "True"}, {bypass, "TRUE"}, {bypass, "1"}, {"X-Amz-Object-Lock-Legal-Hold", "OFF"},
	} {
		if status, body := ask(http.MethodPut, put.URL, c...); status != 403 {
			t.Errorf("put, %s: %s was honoured: %d %s", c[0], c[1], status, body)
		}
		if status, body := ask(http.MethodDelete, remove.URL, c...); status != 403 && status != 400 {
			t.Errorf("delete, %s: %s was honoured: %d %s", c[0], c[1], status, body)
		}
	}
	if got, _ := s.get("k"); got != "x" {
		t.Errorf("read %q", got)
	}
	if status, body := ask(http.MethodPut, put.URL); status != 200 {
		t.Errorf("put without: %d %s", status, body)
	}
	if status, body := ask(http.MethodDelete, remove.URL); status != 204 {
		t.Errorf("delete without: %d %s", status, body)
	}
}

// Hole 4: bypassing a retention does not bypass a legal hold.
func TestGovernanceBypassDoesNotBypassLegalHold(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOn))
	const batch = "<Delete><Object><Key>k</Key></Object></Delete>"
	for _, value := range []string{"true", "True", "TRUE", "1"} {
		for what, r := range map[string]*http.Request{
			"delete": s.raw(http.MethodDelete, "/k", nil), "batch": s.raw(http.MethodPost, "?delete", []byte(batch)), "put": s.raw(http.MethodPut, "/k", []byte("y")),
		} {
			content := map[string]string{"delete": "", "batch": batch, "put": "y"}[what]
			r.Header.Set("X-Amz-Bypass-Governance-Retention", value)
			r.Header.Set("X-Amz-Checksum-Sha256", sha256Base64(content))
			status, _, body := s.send(signed(r, root, sum([]byte(content))))
			if !strings.Contains(body, "AccessDenied") || status != 403 && what != "batch" {
				t.Errorf("%s with a bypass of %s: %d %s", what, value, status, body)
			}
		}
	}
	if got, _ := s.get("k"); got != "x" {
		t.Errorf("read %q", got)
	}
	s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOff))
}
