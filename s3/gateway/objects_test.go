package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
)

func TestPutGetHeadListDelete(t *testing.T) {
	s := newSite(t)
	body := string(pattern(200_000))
	out, err := s.PutObject(s.ctx, &awss3.PutObjectInput{
		Bucket: &s.bucket, Key: aws.String("dir/a b+c%.txt"), Body: strings.NewReader(body),
		ContentType: aws.String("text/plain"), CacheControl: aws.String("no-cache"),
		ContentEncoding: aws.String("gzip"), Metadata: map[string]string{"Color": "blue"},
		Tagging: aws.String("a=1&b=2"),
	})
	s.must(err)
	got, get := s.get("dir/a b+c%.txt")
	if got != body {
		t.Error("the body came back changed")
	}
	head, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("dir/a b+c%.txt"), ChecksumMode: types.ChecksumModeEnabled})
	s.must(err)
	if *head.ETag != *out.ETag || *get.ETag != *out.ETag || !strings.HasPrefix(*out.ETag, `"`) {
		t.Errorf("ETags: put %s, get %s, head %s", *out.ETag, *get.ETag, *head.ETag)
	}
	if *head.ContentType != "text/plain" || *head.CacheControl != "no-cache" || *head.ContentEncoding != "gzip" ||
		head.Metadata["color"] != "blue" || *head.TagCount != 2 || *head.ContentLength != int64(len(body)) {
		t.Errorf("head: %+v", head)
	}
	if out.ChecksumCRC32 == nil || head.ChecksumCRC32 == nil || *out.ChecksumCRC32 != *head.ChecksumCRC32 {
		t.Error("the checksum that the client sent was not kept")
	}
	s.put("dir/z", "", nil)
	if keys := s.keys(); !slices.Equal(keys, []string{"dir/a b+c%.txt", "dir/z"}) {
		t.Errorf("keys: %q", keys)
	}
	_, err = s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("dir/z")})
	s.must(err)
	s.missing("dir/z")
	_, err = s.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &s.bucket})
	s.fails(err, 409, "BucketNotEmpty")
}

func TestRanges(t *testing.T) {
	s := newSite(t)
	body := string(pattern(100_000))
	s.put("k", body, nil)
	s.put("empty", "", nil)
	for _, c := range []struct {
		key, rng, want, header string
		status                 int
		code                   string
	}{
		{"k", "bytes=0-0", body[:1], "bytes 0-0/100000", 0, ""},
		{"k", "bytes=10-19", body[10:20], "bytes 10-19/100000", 0, ""},
		{"k", "bytes=99990-200000", body[99990:], "bytes 99990-99999/100000", 0, ""},
		{"k", "bytes=-5", body[99995:], "bytes 99995-99999/100000", 0, ""},
		{"k", "bytes=-200000", body, "bytes 0-99999/100000", 0, ""},
		{"k", "bytes=5-", body[5:], "bytes 5-99999/100000", 0, ""},
		{"k", "bytes=9-5", body, "", 0, ""},
		{"k", "bytes=1-2,4-5", body, "", 0, ""},
		{"k", "lines=1-2", body, "", 0, ""},
		{"k", "bytes=100000-", "", "", 416, "InvalidRange"},
		{"k", "bytes=-0", "", "", 416, "InvalidRange"},
		{"empty", "bytes=-5", "", "", 0, ""},
		{"empty", "bytes=0-", "", "", 416, "InvalidRange"},
	} {
		out, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &c.key, Range: &c.rng})
		if c.status != 0 {
			s.fails(err, c.status, c.code)
			continue
		}
		s.must(err)
		if got := s.read(out.Body); got != c.want || aws.ToString(out.ContentRange) != c.header {
			t.Errorf("%s %s: %d bytes, %q", c.key, c.rng, len(got), aws.ToString(out.ContentRange))
		}
	}
}

func TestConditions(t *testing.T) {
	s := newSite(t)
	key := aws.String("k")
	etag := s.put("k", "one", nil).ETag
	_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: key, Body: strings.NewReader("x"), IfNoneMatch: aws.String("*")})
	s.fails(err, 412, "PreconditionFailed")
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: key, Body: strings.NewReader("x"), IfMatch: aws.String(`"0123"`)})
	s.fails(err, 412, "PreconditionFailed")
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("none"), Body: strings.NewReader("x"), IfMatch: etag})
	s.fails(err, 404, "NoSuchKey")
	_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: key, IfNoneMatch: etag})
	s.fails(err, 304, "NotModified")
	_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: key, IfMatch: aws.String("zzz")})
	s.fails(err, 412, "PreconditionFailed")
	head, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: key, IfMatch: etag})
	s.must(err)
	_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: key, IfModifiedSince: head.LastModified})
	if head.LastModified.After(lethe.SystemClock{}.Now().Time()) {
		// Another test has set the ledger's clock ahead: for the front, whose
		// clock is the machine's, the date is in the future and does not count.
		s.must(err)
	} else {
		s.fails(err, 304, "NotModified")
	}
	_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: key, IfUnmodifiedSince: head.LastModified})
	s.must(err)
	_, err = s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: key, IfMatch: aws.String(`"0123"`)})
	s.fails(err, 412, "PreconditionFailed")
	beginning := time.Unix(0, 0)
	_, err = s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: key, IfMatchLastModifiedTime: &beginning})
	s.fails(err, 412, "PreconditionFailed")
	out, err := s.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &s.bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: key, LastModifiedTime: &beginning}}}})
	if s.must(err); len(out.Errors) != 1 || len(out.Deleted) != 0 {
		t.Errorf("deleted %v, refused %v", out.Deleted, out.Errors)
	}
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: key, Body: strings.NewReader("two"), IfMatch: etag})
	s.must(err)
	_, err = s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: key, IfMatch: etag})
	s.fails(err, 412, "PreconditionFailed")
	if got, _ := s.get("k"); got != "two" {
		t.Errorf("got %q", got)
	}
}

// A condition that cannot be read, or cannot hold, is not one that is met.
func TestConditionsThatCannotHold(t *testing.T) {
	s := newSite(t)
	s.put("k", "body", nil)
	tomorrow := lethe.SystemClock{}.Now().Add(48 * time.Hour).Time().Format(http.TimeFormat)
	for _, c := range []struct {
		method, name, value string
		status              int
	}{
		{"DELETE", "X-Amz-If-Match-Last-Modified-Time", tomorrow, 412},
		{"DELETE", "X-Amz-If-Match-Last-Modified-Time", "Thu, 01 Jan 1970 00:00:00 GMT", 412},
		{"DELETE", "X-Amz-If-Match-Last-Modified-Time", "yesterday", 400},
		{"DELETE", "X-Amz-If-Match-Size", "four", 400},
		{"DELETE", "X-Amz-If-Match-Size", "5", 412},
		{"DELETE", "If-Match", `""`, 412},
		{"PUT", "If-Match", `""`, 412},
		{"PUT", "If-None-Match", `""`, 501},
	} {
		r := s.raw(c.method, "/k", nil)
		r.Header.Set(c.name, c.value)
		if status, _, answer := s.send(signed(r, root, "UNSIGNED-PAYLOAD")); status != c.status {
			t.Errorf("%s with %s: %s: %d %s", c.method, c.name, c.value, status, answer)
		}
		if !slices.Equal(s.keys(), []string{"k"}) {
			s.put("k", "body", nil)
		} else if got, _ := s.get("k"); got != "body" {
			t.Errorf("%s with %s: %s: the object is %q", c.method, c.name, c.value, got)
			s.put("k", "body", nil)
		}
	}
}

// No object has an empty ETag, which unquoted would be no condition.
func TestEmptyETagInABatch(t *testing.T) {
	s := newSite(t)
	s.put("k", "body", nil)
	out, err := s.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &s.bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{
		{Key: aws.String("k"), ETag: aws.String(`""`)},
	}}})
	s.must(err)
	if len(out.Errors) != 1 || aws.ToString(out.Errors[0].Code) != "PreconditionFailed" {
		t.Errorf("deleted %+v, errors %+v", out.Deleted, out.Errors)
	}
}

// A copy has two kinds of conditions. Those without a prefix are about what it would replace.
func TestConditionsOfCopies(t *testing.T) {
	s := newSite(t)
	for _, source := range []string{"", "x"} {
		from := s.put("from", source, nil)
		old := s.put("to", "old", nil)
		given := func(match, noneMatch *string) func(*awss3.CopyObjectInput) {
			return func(in *awss3.CopyObjectInput) {
				in.IfMatch, in.IfNoneMatch, in.MetadataDirective = match, noneMatch, types.MetadataDirectiveReplace
			}
		}
		star, wrong := aws.String("*"), aws.String(`"0123"`)
		for _, c := range []struct {
			to     string
			change func(*awss3.CopyObjectInput)
			status int
			code   string
		}{
			{"to", given(nil, star), 412, "PreconditionFailed"},
			{"to", given(wrong, nil), 412, "PreconditionFailed"},
			{"to", given(nil, wrong), 501, "NotImplemented"},
			{"from", given(nil, star), 412, "PreconditionFailed"}, // onto itself
			{"from", given(wrong, nil), 412, "PreconditionFailed"},
			{"from", given(from.ETag, nil), 0, ""},
			{"none", given(star, nil), 404, "NoSuchKey"},
			{"none", given(nil, star), 0, ""},
			{"none", given(nil, star), 412, "PreconditionFailed"},
			{"to", given(old.ETag, nil), 0, ""},
			{"to", given(old.ETag, nil), 412, "PreconditionFailed"},
		} {
			before := s.keys()
			err := copyAs(s, s.Client, s.bucket+"/from", s.bucket+"/"+c.to, c.change)
			if s.fails(err, c.status, c.code); c.status != 0 && !slices.Equal(s.keys(), before) {
				t.Errorf("keys %v became %v", before, s.keys())
			}
		}
		if got, _ := s.get("to"); got != source {
			t.Errorf("copied is %q", got)
		}
		_, err := s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("none")})
		s.must(err)
	}
}

// Who resumes a download names the version of which the first bytes are (RFC 9110, section
// 13.1.5). The rest of another one would make a file of two.
func TestRangesOfAVersion(t *testing.T) {
	s := newSite(t)
	for _, size := range []int{10, 300 << 10} {
		was := strings.Repeat("a", size)
		s.put("k", was, nil)
		_, head := s.get("k")
		ask := func(method, ifRange string) (status int, header http.Header, body string) {
			r := s.raw(method, "/k", nil)
			r.Header.Set("Range", "bytes=4-7")
			r.Header.Set("If-Range", ifRange)
			return s.send(signed(r, root, "UNSIGNED-PAYLOAD"))
		}
		validators := []string{*head.ETag, head.LastModified.Format(http.TimeFormat)}
		for _, ifRange := range validators {
			if status, h, body := ask("GET", ifRange); status != 206 || body != was[4:8] || h.Get("Content-Range") == "" {
				t.Errorf("%s: %d, %q, %d bytes", ifRange, status, h.Get("Content-Range"), len(body))
			}
		}
		is := strings.Repeat("b", size+1)
		w.clock.Advance(2 * time.Second)
		s.put("k", is, nil)
		for _, ifRange := range append(validators, "W/"+*head.ETag, "no date") {
			if status, h, body := ask("GET", ifRange); status != 200 || body != is || h.Get("Content-Range") != "" || h.Get("Content-Length") != strconv.Itoa(size+1) {
				t.Errorf("%s, of the version before: %d, %q, %d bytes", ifRange, status, h.Get("Content-Range"), len(body))
			}
			if status, h, _ := ask("HEAD", ifRange); status != 200 || h.Get("Content-Range") != "" || h.Get("Content-Length") != strconv.Itoa(size+1) {
				t.Errorf("HEAD, %s, of the version before: %d, %v", ifRange, status, h)
			}
		}
	}
}

func TestBuckets(t *testing.T) {
	s := newSite(t)
	_, err := s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &s.bucket})
	s.fails(err, 409, "BucketAlreadyOwnedByYou")
	for _, name := range []string{"Not_A_Name", "two..dots"} {
		_, err = s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &name})
		s.fails(err, 400, "InvalidBucketName")
	}
	_, err = s.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: aws.String("no-such-bucket")})
	s.fails(err, 404, "NotFound")
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: aws.String("no-such-bucket"), Key: aws.String("k"), Body: bytes.NewReader(nil)})
	s.fails(err, 404, "NoSuchBucket")
	list, err := s.ListBuckets(s.ctx, &awss3.ListBucketsInput{})
	s.must(err)
	if !slices.ContainsFunc(list.Buckets, func(b types.Bucket) bool { return *b.Name == s.bucket }) {
		t.Errorf("%s is not among %d buckets", s.bucket, len(list.Buckets))
	}
	_, err = s.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &s.bucket})
	s.must(err)
	_, err = s.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: &s.bucket})
	s.fails(err, 404, "NotFound")
}

func TestDeleteThousandOfWhichHalfAreMissing(t *testing.T) {
	s := newSite(t)
	var ids []types.ObjectIdentifier
	for i := range 1000 {
		key := fmt.Sprintf("k%04d %s", i, pattern(i%100))
		ids = append(ids, types.ObjectIdentifier{Key: &key})
		if i%2 == 0 {
			s.put(key, "x", nil)
		}
	}
	if n := len(s.keys()); n != 500 {
		t.Fatalf("%d keys", n)
	}
	out, err := s.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &s.bucket, Delete: &types.Delete{Objects: ids}})
	s.must(err)
	if len(out.Deleted) != 1000 || len(out.Errors) != 0 {
		t.Errorf("%d deleted, errors %v", len(out.Deleted), out.Errors)
	}
	for i, d := range out.Deleted {
		if *d.Key != *ids[i].Key {
			t.Fatalf("answer %d names %q", i, *d.Key)
		}
	}
	if keys := s.keys(); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
	one := aws.String("one more")
	_, err = s.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &s.bucket, Delete: &types.Delete{Objects: append(ids, types.ObjectIdentifier{Key: one})}})
	s.fails(err, 400, "MalformedXML")
	quiet, err := s.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &s.bucket, Delete: &types.Delete{Objects: ids[:2], Quiet: aws.Bool(true)}})
	s.must(err)
	if len(quiet.Deleted) != 0 {
		t.Errorf("quiet names %d", len(quiet.Deleted))
	}
}
