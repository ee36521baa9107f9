package s3blob

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/test/servers"
)

// A copy has what its object has beside its bytes, whether it is copied whole or in
// parts, and the copy of the copy has it as well.
func TestCopiesKeepWhatLiesBeside(t *testing.T) {
	at := servers.VersityGW(t)
	o := optionsOf(at, at.Bucket(t))
	o.Foreign, o.CopyWhole, o.CopyPart = true, 6<<20, 5<<20
	s := openBucket(t, o)
	const tags = "a%20b=c%2Bd%3D%2Fe&owner=me"
	for name, size := range map[string]int{"whole": 10, "parts": 11 << 20} {
		_, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: &o.Bucket, Key: &name, Body: bytes.NewReader(pattern(size)), ContentType: aws.String("text/x"), ContentEncoding: aws.String("gzip"),
			ContentDisposition: aws.String(`attachment; filename="a b"`), ContentLanguage: aws.String("de"), CacheControl: aws.String("no-store"),
			Expires: aws.Time(time.Unix(2e9, 0)), WebsiteRedirectLocation: aws.String("/elsewhere"), Metadata: map[string]string{"colour": "red"}, Tagging: aws.String(tags),
		})
		if err != nil {
			t.Fatal(err)
		}
		first, err := s.StatForeign(t.Context(), name)
		if err != nil || len(first.Headers) != 7 {
			t.Fatalf("%+v, %v", first, err)
		}
		seen := first
		for _, to := range []string{"kept/" + name, "back/" + name} {
			if err := s.CopyForeign(t.Context(), s, seen, to, true); err != nil {
				t.Fatal(err)
			}
			if seen, err = s.StatForeign(t.Context(), to); err != nil || !maps.Equal(seen.Headers, first.Headers) || !maps.Equal(seen.User, first.User) {
				t.Errorf("%s has %+v, want %+v: %v", to, seen, first, err)
			}
			if got, err := s.tagsOf(t.Context(), to); got != tags || err != nil {
				t.Errorf("%s has the tags %q, want %q: %v", to, got, tags, err)
			}
		}
	}
}

// Class, encryption and redirect are requested with each copy; what could not be
// copied back from an archive is not copied.
func TestCopiesAskForTheClass(t *testing.T) {
	at := servers.VersityGW(t)
	n := &network{}
	o := optionsOf(at, at.Bucket(t))
	o.Foreign, o.Transport, o.CopyWhole, o.CopyPart = true, n, 6<<20, 5<<20
	s := openBucket(t, o)
	want := map[string]string{classHeader: "GLACIER_IR", encryptHeader: "aws:kms", keyHeader: "arn:aws:kms:x:1:key/2", bucketKeyHeader: "true", redirectHeader: "/x"}
	for name, size := range map[string]int{"whole": 10, "parts": 11 << 20} {
		if _, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &o.Bucket, Key: &name, Body: bytes.NewReader(pattern(size))}); err != nil {
			t.Fatal(err)
		}
		n.set(on("head", func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			answer, err := pass()
			for header, v := range want {
				answer.Header.Set(header, v)
			}
			return answer, err
		}))
		seen, err := s.StatForeign(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		asked := http.Header{}
		n.set(func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			if op := operation(r); op == "create" || op == "put" {
				mu.Lock()
				defer mu.Unlock()
				asked = r.Header
				return says(r, http.StatusBadRequest, "<Error><Code>InvalidArgument</Code></Error>")
			}
			return pass()
		})
		if err := s.CopyForeign(t.Context(), s, seen, "kept/"+name, true); err == nil {
			t.Errorf("%s was copied", name)
		}
		for header, v := range want {
			if asked.Get(header) != v || !strings.Contains(asked.Get("Authorization"), strings.ToLower(header)) {
				t.Errorf("%s: %s was asked for as %q, want %q, and signed", name, header, asked.Get(header), v)
			}
		}
		n.set(nil)
		seen.Headers[classHeader] = "DEEP_ARCHIVE"
		if err := s.CopyForeign(t.Context(), s, seen, "kept/"+name, true); !errors.Is(err, errors.ErrUnsupported) || blob.Unknown(err) || n.count("put")+n.count("create") > 0 {
			t.Errorf("%s was copied from an archive: %v", name, err)
		}
	}
}

// Without knowing its tags nothing is copied. A service without tags has none to
// lose, and one that drops them while it copies is reported.
func TestCopiesNeedTags(t *testing.T) {
	at := servers.VersityGW(t)
	n := &network{}
	o := optionsOf(at, at.Bucket(t))
	o.Foreign, o.Transport = true, n
	s := openBucket(t, o)
	if _, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &o.Bucket, Key: aws.String("a"), Body: strings.NewReader("x"), Tagging: aws.String("k=v")}); err != nil {
		t.Fatal(err)
	}
	seen, err := s.StatForeign(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Tags(t.Context()); err != nil {
		t.Errorf("tags may be read: %v", err)
	}
	n.set(on("tags", s3Error(http.StatusForbidden, "AccessDenied")))
	for what, err := range map[string]error{"copy": s.CopyForeign(t.Context(), s, seen, "kept/a", true), "check": s.Tags(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "s3:GetObjectTagging") || blob.Unknown(err) || n.count("put") > 0 {
			t.Errorf("%s without the right to read tags: %v", what, err)
		}
	}
	n.set(on("tags", s3Error(http.StatusNotImplemented, "NotImplemented")))
	if err := errors.Join(s.Tags(t.Context()), s.CopyForeign(t.Context(), s, seen, "kept/a", true)); err != nil {
		t.Errorf("a service without tags: %v", err)
	}
	n.set(on("tags", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "kept/b") {
			return says(r, http.StatusOK, "<Tagging><TagSet></TagSet></Tagging>")
		}
		return pass()
	}))
	if err := s.CopyForeign(t.Context(), s, seen, "kept/b", true); !blob.Unknown(err) || !strings.Contains(fmt.Sprint(err), "did not copy its tags") {
		t.Errorf("a service that forgets tags: %v", err)
	}
}

// An ETag proves equal bytes only where it is made of them.
func TestWhatETagsVouchFor(t *testing.T) {
	const sum = "5d41402abc4b2a76b9719d911017c592"
	for _, c := range []struct {
		etag       string
		sse        types.ServerSideEncryption
		md5, alike string
	}{
		{`"` + sum + `"`, "", sum, ""}, {`"` + sum + `"`, types.ServerSideEncryptionAes256, sum, ""}, {`"` + sum + `"`, types.ServerSideEncryptionAwsKms, "", ""},
		{`"` + sum + `-2"`, "", "", sum + "-2"}, {`"` + sum + `-2"`, types.ServerSideEncryptionAwsKmsDsse, "", ""},
		{`"some-2"`, "", "", ""}, {`"some"`, "", "", ""},
	} {
		out := &s3.HeadObjectOutput{ETag: &c.etag, ServerSideEncryption: c.sse}
		if md5, alike := md5Of(out), alikeOf(out); md5 != c.md5 || alike != c.alike {
			t.Errorf("%s, %s: MD5 %q, alike %q, want %q, %q", c.etag, c.sse, md5, alike, c.md5, c.alike)
		}
	}
}
