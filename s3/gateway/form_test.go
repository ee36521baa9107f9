package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// form is one upload by HTML form.
type form struct {
	fields   map[string]string
	name     string // of the file
	body     string
	fileLike bool // every field has a file name, as some clients send
	header   http.Header
}

// post sends the form.
func (s *site) post(f form) (int, string) {
	s.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part := func(field, name, value string, file bool) {
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name="%s"`, field)
		if file {
			disposition += fmt.Sprintf(`; filename="%s"`, name)
		}
		h.Set("Content-Disposition", disposition)
		w, err := m.CreatePart(h)
		s.must(err)
		_, err = w.Write([]byte(value))
		s.must(err)
	}
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		part(name, name, f.fields[name], f.fileLike)
	}
	part("file", f.name, f.body, true)
	s.must(m.Close())
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, "http://"+s.addr+"/"+s.bucket, &b)
	s.must(err)
	maps.Copy(r.Header, f.header)
	r.Header.Set("Content-Type", m.FormDataContentType())
	status, _, answer := s.send(r)
	return status, answer
}

func TestForms(t *testing.T) {
	s := newSite(t)
	big := string(pattern(300 << 10))
	for i, f := range []form{
		{name: "a.txt", body: "small"},
		{name: "a.txt", body: "small", fileLike: true},
		{name: "a.txt", body: big, fileLike: true},
		{name: "", body: "", fileLike: true},
	} {
		key := "k" + itoa(i)
		f.fields = s.signPolicy(map[string]string{"key": key, "x-amz-meta-ttl": "1h", "acl": "private", "content-type": "text/x"})
		if status, answer := s.post(f); status != 204 {
			t.Fatalf("form %d: %d %s", i, status, answer)
		}
		got, out := s.get(key)
		if got != f.body || out.Metadata["ttl"] != "1h" || out.Expiration == nil || *out.ContentType != "text/x" {
			t.Errorf("form %d: %d bytes, %+v", i, len(got), out)
		}
	}
	// The connection stays in step with the next request.
	if len(s.keys()) != 4 {
		t.Errorf("keys are %q", s.keys())
	}
}

func TestFormsNameTheirKeyByTheFile(t *testing.T) {
	s := newSite(t)
	// The policy applies to the resulting key: this one allows another.
	status, answer := s.post(form{fields: s.signPolicy(map[string]string{"key": "up/${filename}"}), name: "d.txt", body: "x"})
	if status != 403 {
		t.Errorf("against another key's policy: %d %s", status, answer)
	}
	s.missing("up/d.txt")
	_, err := s.PutBucketOwnershipControls(s.ctx, &awss3.PutBucketOwnershipControlsInput{Bucket: &s.bucket, OwnershipControls: &types.OwnershipControls{
		Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred}},
	}})
	s.must(err)
	_, err = s.PutBucketAcl(s.ctx, &awss3.PutBucketAclInput{Bucket: &s.bucket, ACL: types.BucketCannedACLPublicReadWrite})
	s.must(err)
	for name, key := range map[string]string{"a b.txt": "up/a b.txt", `C:\\files\\b.txt`: "up/b.txt", "../../c.txt": "up/c.txt"} {
		if status, answer := s.post(form{fields: map[string]string{"key": "up/${filename}"}, name: name, body: "x"}); status != 204 {
			t.Errorf("%s: %d %s", name, status, answer)
		}
		if got, _ := s.get(key); got != "x" {
			t.Errorf("%s: %q", key, got)
		}
	}
}

// The part before the file is held in memory before authentication.
func TestHugeFormsAreRefusedUnread(t *testing.T) {
	s := newSite(t)
	for name, head := range map[string]string{
		"a field":        "--x\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n",
		"a field's name": "--x\r\nContent-Disposition: form-data; name=\"",
		"no boundary":    "",
	} {
		r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, "http://"+s.addr+"/"+s.bucket,
			io.MultiReader(strings.NewReader(head), io.LimitReader(endless{}, 1<<30)))
		s.must(err)
		r.ContentLength = int64(len(head)) + 1<<30
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		if body := s.read(resp.Body); resp.StatusCode != 400 || !strings.Contains(body, "MaxPostPreDataLengthExceeded") {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

// A policy that denies a key denies it to forms, too.
func TestPoliciesHoldForForms(t *testing.T) {
	s := newSite(t)
	arn := "arn:aws:s3:::" + s.bucket
	_, err := s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: aws.String(`{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Principal":"*","Action":["s3:*"],"Resource":["` + arn + `","` + arn + `/*"]},
		{"Effect":"Deny","Principal":"*","Action":["s3:PutObject"],"Resource":"` + arn + `/secret"}]}`)})
	s.must(err)
	for key, want := range map[string]int{"open": 204, "secret": 403} {
		if status, answer := s.post(form{fields: map[string]string{"key": key}, body: "x"}); status != want {
			t.Errorf("%s: %d %s", key, status, answer)
		}
	}
	s.missing("secret")
}
