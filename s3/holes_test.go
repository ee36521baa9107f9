package s3_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/s3"
)

// Each kind of payload is behind the same check of the signature, whatever writes
// the object.
func TestForgedStreamsOnEveryUpload(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	up := s.create("up", nil)
	part := "/up?partNumber=1&uploadId=" + up.id
	forged := s3.Credentials{Access: root.Access, Secret: "wrong"}
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
			continue // refused: as good
		}
		r := signed(s.raw(http.MethodGet, "/k", nil), root, sum(nil))
		r.Header.Set("Origin", "https://example.com")
		status, header, body := s.send(r)
		if status >= 500 || header.Get("X-Injected") != "" || strings.Contains(body, "Injected") {
			t.Errorf("%q: %d %v %s", evil, status, header, body)
		}
	}
}

// Nothing is retained until a date, so no date can be brought forward; whoever asks
// for one is told. Legal holds are kept: TestLegalHold.
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

// A key that is made with the root's name does not open the root's door.
func TestAKeyCannotTakeTheRootsPlace(t *testing.T) {
	s := newSite(t)
	fake := s3.Credentials{Access: root.Access, Secret: "secret of another"}
	if _, err := w.db.AddAccessKey(s.ctx, meta.AccessKey{ID: fake.Access, Secret: fake.Secret, Buckets: []string{"*"}}); err == nil {
		defer func() { s.must(w.db.RemoveAccessKey(s.ctx, fake.Access)) }()
	}
	_, err := client(fake, nil).ListBuckets(s.ctx, &awss3.ListBucketsInput{})
	s.fails(err, 403, "SignatureDoesNotMatch")
	_, err = s.ListBuckets(s.ctx, &awss3.ListBucketsInput{})
	s.must(err)
}
