package gateway_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// expiry parses the date of an x-amz-expiration header, in S3's form.
func (s *site) expiry(header *string) time.Time {
	s.t.Helper()
	date, rest, ok := strings.Cut(strings.TrimPrefix(aws.ToString(header), `expiry-date="`), `"`)
	at, err := time.Parse(http.TimeFormat, date)
	if !ok || err != nil || rest != `, rule-id="ttl"` {
		s.t.Fatalf("x-amz-expiration: %q", aws.ToString(header))
	}
	return at
}

// expiresIn checks that the header's date is d ahead, within some seconds.
func (s *site) expiresIn(header *string, d time.Duration) {
	s.t.Helper()
	ahead := s.expiry(header).Sub(w.clock.Now().Time())
	if ahead > d || ahead < d-20*time.Second {
		s.t.Errorf("expires in %s, want %s", ahead, d)
	}
}

func TestTTLIsToldByPutGetHead(t *testing.T) {
	s := newSite(t)
	put := s.put("k", "x", map[string]string{"TTL": "12h", "other": "y"})
	s.expiresIn(put.Expiration, 12*time.Hour)
	_, get := s.get("k")
	s.expiresIn(get.Expiration, 12*time.Hour)
	head, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	s.expiresIn(head.Expiration, 12*time.Hour)
	if head.Metadata["ttl"] != "12h" || head.Metadata["other"] != "y" {
		t.Errorf("metadata: %v", head.Metadata)
	}
	if out := s.put("forever", "x", nil); out.Expiration != nil {
		t.Errorf("x-amz-expiration without a time to live: %s", *out.Expiration)
	}
}

func TestExpiresAt(t *testing.T) {
	s := newSite(t)
	at := w.clock.Now().Time().Add(90 * time.Minute).In(time.FixedZone("", 3600))
	put := s.put("k", "x", map[string]string{"expires-at": at.Format(time.RFC3339)})
	if got := s.expiry(put.Expiration); !got.Equal(at.Truncate(time.Second)) {
		t.Errorf("expires %s, want %s", got, at)
	}
}

func TestExpiredIsGoneAtOnce(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", map[string]string{"ttl": "1h"})
	s.put("stays", "x", nil)
	w.clock.Advance(time.Hour)
	s.missing("k")
	if keys := s.keys(); len(keys) != 1 || keys[0] != "stays" {
		t.Errorf("keys: %q", keys)
	}
	_, err := s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("c"), CopySource: aws.String(s.bucket + "/k")})
	s.fails(err, 404, "NoSuchKey")
	_, err = s.PutObjectTagging(s.ctx, &awss3.PutObjectTaggingInput{Bucket: &s.bucket, Key: aws.String("k"), Tagging: &types.Tagging{TagSet: []types.Tag{}}})
	s.fails(err, 404, "NoSuchKey")
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("new"), IfNoneMatch: aws.String("*")})
	s.must(err)
}

func TestMalformedTTLSaysWhatIsAccepted(t *testing.T) {
	s := newSite(t)
	for _, user := range []map[string]string{
		{"ttl": ""}, {"ttl": "7"}, {"ttl": "-1h"}, {"ttl": "0s"}, {"ttl": "tomorrow"}, {"ttl": "200000d"}, {"ttl": "1<h>"},
		{"expires-at": "2001-01-01T00:00:00Z"}, {"expires-at": "soon"}, {"expires-at": "2051-01-01 00:00:00"},
		{"ttl": "1h", "expires-at": "2051-01-01T00:00:00Z"},
	} {
		_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("x"), Metadata: user})
		s.fails(err, 400, "InvalidArgument")
		if err != nil && !strings.Contains(err.Error(), "use ") && !strings.Contains(err.Error(), "not both") {
			t.Errorf("%v: the error does not say what is accepted: %v", user, err)
		}
		_, err = s.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: aws.String("k"), Metadata: user})
		s.fails(err, 400, "InvalidArgument")
	}
	if keys := s.keys(); len(keys) != 0 {
		t.Errorf("left behind: %q", keys)
	}
}

func TestCopyOntoItselfChangesTTL(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", map[string]string{"ttl": "1h"})
	source := aws.String(s.bucket + "/k")
	out, err := s.CopyObject(s.ctx, &awss3.CopyObjectInput{
		Bucket: &s.bucket, Key: aws.String("k"), CopySource: source,
		MetadataDirective: types.MetadataDirectiveReplace, Metadata: map[string]string{"ttl": "30d"},
	})
	s.must(err)
	s.expiresIn(out.Expiration, 30*24*time.Hour)
	w.clock.Advance(2 * time.Hour)
	if got, _ := s.get("k"); got != "x" {
		t.Errorf("got %q", got)
	}
	_, err = s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("k"), CopySource: source})
	s.fails(err, 400, "InvalidRequest")
	out, err = s.CopyObject(s.ctx, &awss3.CopyObjectInput{
		Bucket: &s.bucket, Key: aws.String("k"), CopySource: source, MetadataDirective: types.MetadataDirectiveReplace,
	})
	s.must(err)
	if out.Expiration != nil {
		t.Errorf("still expires: %s", *out.Expiration)
	}
}

func TestCopyTakesTheRemainingTTLAlong(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", map[string]string{"ttl": "2h"})
	w.clock.Advance(time.Hour)
	out, err := s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("c"), CopySource: aws.String(s.bucket + "/k")})
	s.must(err)
	s.expiresIn(out.Expiration, time.Hour)
}

func TestMultipartTTLCountsFromCompletion(t *testing.T) {
	s := newSite(t)
	up := s.create("k", func(in *awss3.CreateMultipartUploadInput) { in.Metadata = map[string]string{"ttl": "1h"} })
	up.part(1, pattern(10))
	w.clock.Advance(2 * time.Hour)
	out := up.complete()
	s.expiresIn(out.Expiration, time.Hour)
}

func TestBucketDefaultAndLongestTTL(t *testing.T) {
	s := newSite(t)
	_, err := w.store.ConfigureBucket(s.ctx, s.bucket, ledger.BucketSettings{DefaultTTL: time.Hour, MaxTTL: 2 * time.Hour, QuotaObjects: 2}, nil)
	s.must(err)
	s.expiresIn(s.put("k", "x", nil).Expiration, time.Hour)
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("l"), Body: strings.NewReader("x"), Metadata: map[string]string{"ttl": "3h"}})
	s.fails(err, 400, "InvalidArgument")
	if !strings.Contains(err.Error(), "no longer than 2h") {
		t.Errorf("it does not say what is allowed: %v", err)
	}
	s.put("l", "x", nil)
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("m"), Body: strings.NewReader("x")})
	s.fails(err, 403, "QuotaExceeded")
	if want := "The bucket " + s.bucket + " may have 2 objects and has 2: bucket quota exceeded."; !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestFormUploadWithTTL(t *testing.T) {
	s := newSite(t)
	status, header, body := s.form(map[string]string{"key": "k", "x-amz-meta-ttl": "12h", "success_action_status": "201"}, "form body")
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	value := header.Get("x-amz-expiration")
	s.expiresIn(&value, 12*time.Hour)
	if got, _ := s.get("k"); got != "form body" {
		t.Errorf("got %q", got)
	}
	status, _, body = s.form(map[string]string{"key": "l", "x-amz-meta-ttl": "nonsense"}, "x")
	if status != 400 || !strings.Contains(body, "InvalidArgument") {
		t.Errorf("%d %s", status, body)
	}
	s.missing("l")
}

// form posts a browser's upload form with a signed policy.
func (s *site) form(fields map[string]string, content string) (int, http.Header, string) {
	s.t.Helper()
	return s.send(s.signedForm(fields, content))
}

func (s *site) signedForm(fields map[string]string, content string) *http.Request {
	s.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for name, value := range s.signPolicy(fields) {
		s.must(m.WriteField(name, value))
	}
	f, err := m.CreateFormFile("file", "name.txt")
	s.must(err)
	_, err = f.Write([]byte(content))
	s.must(err)
	s.must(m.Close())
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, "http://"+w.addr+"/"+s.bucket, &b)
	s.must(err)
	r.Header.Set("Content-Type", m.FormDataContentType())
	return r
}

// The shorter of the key's and the bucket's times counts, however the key writes.
func TestTTLByAccessKey(t *testing.T) {
	s := newSite(t)
	key := ledger.AccessKey{ID: s.bucket + "-ci", Secret: "secret-of-ci", Buckets: []string{s.bucket}, DefaultTTL: time.Hour, MaxTTL: 2 * time.Hour}
	_, err := w.db.AddAccessKey(s.ctx, key)
	s.must(err)
	by, ci := gateway.Credentials{Access: key.ID, Secret: key.Secret}, *s
	ci.Client = client(by, nil)
	s.put("by-root", "x", map[string]string{"ttl": "2d"})
	ci.expiresIn(ci.put("k", "x", nil).Expiration, time.Hour)
	ci.expiresIn(ci.put("asked", "x", map[string]string{"ttl": "90m"}).Expiration, 90*time.Minute)
	source := aws.String(s.bucket + "/k")
	itself := &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("k"), CopySource: source, MetadataDirective: types.MetadataDirectiveReplace}
	w.clock.Advance(30 * time.Minute)
	copied, err := ci.CopyObject(s.ctx, itself)
	s.must(err)
	ci.expiresIn(copied.Expiration, time.Hour)
	copied, err = ci.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("c"), CopySource: source, MetadataDirective: types.MetadataDirectiveReplace})
	s.must(err)
	ci.expiresIn(copied.Expiration, time.Hour)
	up := ci.create("m", nil)
	up.part(1, pattern(10))
	ci.expiresIn(up.complete().Expiration, time.Hour)
	if status, body := ci.post(form{fields: ci.signPolicyBy(by, map[string]string{"key": "f"}), body: "x"}); status >= 300 {
		t.Fatalf("%d %s", status, body)
	}
	head, err := ci.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("f")})
	s.must(err)
	ci.expiresIn(head.Expiration, time.Hour)
	_, err = s.CopyObject(s.ctx, itself)
	s.must(err)
	if o, err := w.store.Head(s.ctx, object.GetRequest{Bucket: s.bucket, Key: "k"}); err != nil || o.TTLAt != 0 || o.Attrs.EndKey != "" {
		t.Errorf("written by the root: %+v, %v", o, err)
	}
	ci.keyRefuses(itself)
}

// keyRefuses tries to write for longer than the key lets it.
func (s *site) keyRefuses(itself *awss3.CopyObjectInput) {
	s.t.Helper()
	long := map[string]string{"ttl": "3h"}
	_, put := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("l"), Body: strings.NewReader("x"), Metadata: long})
	_, large := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("l"), Body: strings.NewReader(strings.Repeat("x", 3<<20)), Metadata: long})
	_, open := s.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: aws.String("l"), Metadata: long})
	itself.Metadata = long
	_, onto := s.CopyObject(s.ctx, itself)
	_, along := s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("l"), CopySource: aws.String(s.bucket + "/by-root")})
	for what, err := range map[string]error{"a put": put, "a large put": large, "an upload": open, "a copy onto itself": onto, "a copy": along} {
		s.fails(err, 400, "InvalidArgument")
		if err != nil && !strings.Contains(err.Error(), "what access key "+s.bucket+"-ci writes is kept no longer than 2h") {
			s.t.Errorf("%s: it does not say what is allowed: %v", what, err)
		}
	}
}
