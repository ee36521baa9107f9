package gateway_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// left checks how often a key can still be read, as HEAD says.
func (s *site) left(key, want string) {
	s.t.Helper()
	out, err := awss3.NewPresignClient(s.Client).PresignHeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	s.must(err)
	r, err := http.NewRequestWithContext(s.ctx, http.MethodHead, out.URL, nil)
	s.must(err)
	status, header, _ := s.send(r)
	if status != http.StatusOK || header.Get("x-lethe-reads-left") != want || want != "" && header.Get("Cache-Control") != "no-store" {
		s.t.Errorf("%s: %d, %v, want %s reads left", key, status, header, want)
	}
}

func TestReadsAreCounted(t *testing.T) {
	s := newSite(t)
	s.put("k", "secret", map[string]string{"Reads": "3"})
	s.put("plain", "x", nil)
	s.left("plain", "")
	s.left("k", "3")
	head, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	if head.Metadata["reads"] != "3" {
		t.Errorf("metadata: %v", head.Metadata)
	}
	for code, in := range map[string]awss3.GetObjectInput{
		"NotModified": {IfNoneMatch: head.ETag}, "PreconditionFailed": {IfMatch: aws.String("other")}, "InvalidRange": {Range: aws.String("bytes=99-")},
	} {
		in.Bucket, in.Key = &s.bucket, aws.String("k")
		_, err := s.GetObject(s.ctx, &in)
		if _, got := errorOf(err); got != code && code != "NotModified" || err == nil {
			t.Errorf("%s: %v", code, err)
		}
	}
	s.left("k", "3")
	part, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Range: aws.String("bytes=0-2"), IfMatch: head.ETag})
	s.must(err)
	if got := s.read(part.Body); got != "sec" {
		t.Errorf("got %q", got)
	}
	s.left("k", "2")
	if got, out := s.get("k"); got != "secret" || aws.ToString(out.CacheControl) != "no-store" {
		t.Errorf("got %q, %v", got, out)
	}
	status, header, got := s.send(s.presign("response-cache-control", "max-age=99"))
	if status != http.StatusOK || got != "secret" || header.Get("x-lethe-reads-left") != "0" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("the last read: %d, %q, %v", status, got, header)
	}
	s.missing("k")
	if keys := s.keys(); len(keys) != 1 || keys[0] != "plain" {
		t.Errorf("keys: %q", keys)
	}
}

func TestOneReaderOfMany(t *testing.T) {
	s := newSite(t)
	s.put("k", "secret", map[string]string{"reads": "1"})
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			out, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
			if errs[i] = err; err == nil {
				errs[i] = out.Body.Close()
			}
		})
	}
	wg.Wait()
	had := 0
	for _, err := range errs {
		if err == nil {
			had++
		} else {
			s.fails(err, 404, "NoSuchKey")
		}
	}
	if had != 1 {
		t.Errorf("%d readers had it", had)
	}
}

func TestMalformedReadsSayWhatIsAccepted(t *testing.T) {
	s := newSite(t)
	for _, reads := range []string{"0", "-1", "1000000", "1.5", "once", "", "99999999999999999999"} {
		user := map[string]string{"reads": reads}
		_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("x"), Metadata: user})
		s.fails(err, 400, "InvalidArgument")
		if err == nil || !strings.Contains(err.Error(), "from 1 to 10000") {
			t.Errorf("%q: %v", reads, err)
		}
		_, err = s.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: aws.String("k"), Metadata: user})
		s.fails(err, 400, "InvalidArgument")
	}
	if keys := s.keys(); len(keys) != 0 {
		t.Errorf("left behind: %q", keys)
	}
}

func TestReadsAndTimeToLive(t *testing.T) {
	s := newSite(t)
	put := s.put("k", "x", map[string]string{"reads": "2", "ttl": "1h"})
	s.expiresIn(put.Expiration, time.Hour)
	s.get("k")
	w.clock.Advance(time.Hour)
	s.missing("k")
}

func TestCountedIsNotCopied(t *testing.T) {
	s := newSite(t)
	s.put("k", "secret", map[string]string{"reads": "2"})
	s.put("plain", "x", nil)
	copied := func(from, to string, in awss3.CopyObjectInput) error {
		in.Bucket, in.Key, in.CopySource = &s.bucket, &to, aws.String(s.bucket+"/"+from)
		_, err := s.CopyObject(s.ctx, &in)
		return err
	}
	once := awss3.CopyObjectInput{MetadataDirective: types.MetadataDirectiveReplace, Metadata: map[string]string{"reads": "1"}}
	for name, err := range map[string]error{
		"to another key":  copied("k", "c", awss3.CopyObjectInput{}),
		"with a checksum": copied("k", "c", awss3.CopyObjectInput{ChecksumAlgorithm: types.ChecksumAlgorithmSha1}),
		"onto itself":     copied("k", "k", once),
		"to be counted":   copied("plain", "plain", once),
	} {
		s.fails(err, 400, "InvalidRequest")
		if err == nil || !strings.Contains(err.Error(), "Reads are counted") || strings.Contains(err.Error(), "object:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	up := s.create("u", func(*awss3.CreateMultipartUploadInput) {})
	_, err := s.UploadPartCopy(s.ctx, &awss3.UploadPartCopyInput{
		Bucket: &s.bucket, Key: aws.String("u"), UploadId: &up.id, PartNumber: aws.Int32(1), CopySource: aws.String(s.bucket + "/k"),
	})
	s.fails(err, 400, "InvalidRequest")
	s.left("k", "2")
	s.must(copied("plain", "once", once))
	s.get("once")
	s.missing("once")
}

func TestReadsOfAnUploadInParts(t *testing.T) {
	s := newSite(t)
	up := s.create("k", func(in *awss3.CreateMultipartUploadInput) { in.Metadata = map[string]string{"reads": "2"} })
	up.part(1, pattern(10))
	up.complete()
	s.left("k", "2")
	s.get("k")
	s.get("k")
	s.missing("k")
}
