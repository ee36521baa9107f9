package gateway_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
)

// odd are unusual but ordinary keys.
var odd = []string{
	strings.Repeat("k", 1024), strings.Repeat("é", 512), "/leading", "///x", "a//b", "trailing/", "dir/", "dir/x",
	"a/./b", "a/../b", " ", "+", "%41", "a%2Fb", "?q=1", "#frag", "&<>\"'", "ключ", "鍵", "\u00e9", "e\u0301", "🗝", "\\..\\x",
	"tab\tnew\nline\rret", "ctrl\x01\x1f", "del\x7f", "\ufffe", "base64:x", "..x", "...", "a/...", "-", "~", "*", "null", "policy",
}

func TestOddKeys(t *testing.T) {
	s := newSite(t)
	for i, key := range odd {
		s.put(key, itoa(i), nil)
	}
	for i, key := range odd {
		if got, _ := s.get(key); got != itoa(i) {
			t.Errorf("%q: got %q", key, got)
		}
	}
	page, err := w.store.List(s.ctx, ledger.ListQuery{Bucket: s.bucket, Limit: 1000})
	s.must(err)
	want := slices.Sorted(slices.Values(odd))
	for i, o := range page.Objects {
		if o.Key != want[i] {
			t.Errorf("stored %q, want %q", o.Key, want[i])
		}
	}
	got := s.urlEncodedKeys()
	if !slices.Equal(got, want) {
		t.Errorf("listed %q\nwant %q", got, want)
	}
	for _, key := range odd {
		_, err := s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
		s.must(err)
	}
	if keys := s.keys(); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
}

// urlEncodedKeys lists keys in pages of 5, URL-encoded, as clients have to if
// XML cannot represent keys.
func (s *site) urlEncodedKeys() (keys []string) {
	s.t.Helper()
	in := &awss3.ListObjectsV2Input{Bucket: &s.bucket, MaxKeys: aws.Int32(5), EncodingType: types.EncodingTypeUrl}
	for {
		page, err := s.ListObjectsV2(s.ctx, in)
		s.must(err)
		for _, o := range page.Contents {
			key, err := url.QueryUnescape(*o.Key)
			s.must(err)
			keys = append(keys, key)
		}
		if !*page.IsTruncated {
			return keys
		}
		in.ContinuationToken = page.NextContinuationToken
	}
}

func TestInvalidKeysAreRefused(t *testing.T) {
	s := newSite(t)
	_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String(strings.Repeat("k", 1025)), Body: strings.NewReader("x")})
	s.fails(err, 400, "KeyTooLongError")
	for _, key := range []string{"..", "../x", "a/../../x", "/", "//", ".", "./", "a/..", "a/b/../.."} {
		_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader("x")})
		s.fails(err, 400, "400")
	}
	for _, path := range []string{"/nul%00", "/bad%ff", "/bad%c0%af", "/half%e2%82", "/bad%zz"} {
		r, err := http.NewRequestWithContext(s.ctx, http.MethodPut, "http://"+w.addr+"/"+s.bucket+"/x", strings.NewReader("x"))
		s.must(err)
		r.URL.Opaque = "//" + w.addr + "/" + s.bucket + path
		status, _, body := s.send(r)
		if status != 400 || !strings.Contains(body, "<Code>InvalidURI</Code>") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if keys := s.keys(); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
}

func TestPathsCannotEscapeTheirBucket(t *testing.T) {
	s, other := newSite(t), newSite(t)
	other.put("secret", "theirs", nil)
	c := s.restricted("rw", false, s.bucket)
	for _, key := range []string{"../" + other.bucket + "/secret", "..\\" + other.bucket + "\\secret", "/" + other.bucket + "/secret"} {
		_, err := c.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: &key})
		if status, _ := errorOf(err); status != 400 && status != 404 {
			t.Errorf("%q: %v", key, err)
		}
	}
	for _, source := range []string{"/..%2f..%2fetc%2fpasswd%3FversionId=x", "", "/", "nobucket", s.bucket, s.bucket + "/", s.bucket + "/../" + other.bucket + "/secret"} {
		_, err := c.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("c"), CopySource: &source})
		if status, _ := errorOf(err); err == nil || status >= 500 {
			t.Errorf("copy source %q: %v", source, err)
		}
	}
}

func TestHeaderInjection(t *testing.T) {
	s := newSite(t)
	status, _, body := s.form(map[string]string{"key": "k", "x-amz-meta-evil": "a\r\nX-Injected: yes", "Content-Disposition": "x\r\nX-Injected: yes"}, "x")
	if status >= 500 {
		t.Fatalf("%d %s", status, body)
	}
	if status < 300 {
		head, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
		s.must(err)
		if strings.ContainsAny(head.Metadata["evil"]+aws.ToString(head.ContentDisposition), "\r\n") {
			t.Errorf("metadata %q", head.Metadata)
		}
	}
	s.put("l", "x", nil)
	p := awss3.NewPresignClient(s.Client)
	signed, err := p.PresignGetObject(s.ctx, &awss3.GetObjectInput{
		Bucket: &s.bucket, Key: aws.String("l"), ResponseContentDisposition: aws.String("x\r\nX-Injected: yes"),
	})
	s.must(err)
	r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, signed.URL, nil)
	s.must(err)
	status, header, _ := s.send(r)
	if status >= 500 || header.Get("X-Injected") != "" {
		t.Errorf("%d %v", status, header)
	}
}

// A listing returns the parameters of its request, also empty ones.
func TestListingsEchoEmptyParameters(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	for query, told := range map[string]string{
		"prefix=": "Prefix", "marker=": "Marker", "prefix=&encoding-type=url": "Prefix",
		"list-type=2&prefix=": "Prefix", "list-type=2&continuation-token=": "ContinuationToken", "list-type=2&start-after=": "StartAfter",
	} {
		status, body := s.sendSigned(http.MethodGet, "?"+query, "")
		if status != 200 || !strings.Contains(body, "<Key>k</Key>") || !strings.Contains(body, "<"+told+"></"+told+">") {
			t.Errorf("%s: %d %s", query, status, body)
		}
		for _, other := range []string{"Prefix", "Marker", "ContinuationToken", "StartAfter"} {
			if other != told && strings.Contains(body, "<"+other+">") {
				t.Errorf("%s is told of by %s", query, body)
			}
		}
	}
}

func TestMalformedXML(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	s.put("l", "x", nil)
	for _, c := range []struct{ method, query, body string }{
		{http.MethodPut, "tagging", ""}, {http.MethodPut, "tagging", "<"}, {http.MethodPut, "tagging", "<Tagging/>x"},
		{http.MethodPut, "cors", "<x/>"}, {http.MethodPut, "cors", "\x00"}, {http.MethodPut, "acl", "<AccessControlPolicy>"},
		{http.MethodPut, "policy", "{"}, {http.MethodPut, "policy", ""}, {http.MethodPut, "ownershipControls", "<a>"},
		{http.MethodPost, "delete", "<Delete>"}, {http.MethodPost, "delete", ""},
		{http.MethodPost, "delete", "<Delete><Object><Key>k</Key><Key>l</Key></Object></Delete>"},
		{http.MethodPost, "delete", "<Delete><Object><Key>k</Key></Object></Delete><Delete/>"},
		{http.MethodPost, "delete", "<Delete><Object><Key>k</Key></Object><Evil/></Delete>"},
		{http.MethodPost, "delete", "<!DOCTYPE x [<!ENTITY e \"k\">]><Delete><Object><Key>&e;</Key></Object></Delete>"},
	} {
		status, body := s.sendSigned(c.method, "?"+c.query, c.body)
		if status < 400 || status >= 500 {
			t.Errorf("%s ?%s %q: %d %s", c.method, c.query, c.body, status, body)
		}
	}
	if keys := s.keys(); !slices.Equal(keys, []string{"k", "l"}) {
		t.Errorf("keys: %q", keys)
	}
}

// sendSigned sends root's request to the bucket.
func (s *site) sendSigned(method, target, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.ctx, method, "http://"+w.addr+"/"+s.bucket+target, strings.NewReader(body))
	s.must(err)
	r.Header.Set("X-Amz-Checksum-Sha256", sha256Base64(body))
	status, _, answer := s.send(signed(r, root, sum([]byte(body))))
	return status, answer
}
