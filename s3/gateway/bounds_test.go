package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Documents of a bucket have S3's size limits: every request reads them.
func TestSecurityDocumentsHaveSizes(t *testing.T) {
	s := withLists(t) // where there are none, every list is refused
	up := s.create("up", nil)
	grant := `<Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"><ID>` + root.Access +
		`</ID></Grantee><Permission>READ</Permission></Grant>`
	rule := "<CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin></CORSRule>"
	list := func(n int) string {
		return "<AccessControlPolicy><Owner><ID>" + root.Access + "</ID></Owner><AccessControlList>" + strings.Repeat(grant, n) + "</AccessControlList></AccessControlPolicy>"
	}
	policy := func(n int) string {
		return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Sid":%q,"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::%s/*"}]}`,
			strings.Repeat("a", n), s.bucket)
	}
	// Completions that are valid except for their other contents.
	up.part(1, []byte("a part"))
	completion := func(more string) string {
		return fmt.Sprintf("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>%s</ETag></Part>%s</CompleteMultipartUpload>", *up.parts[0].ETag, more)
	}
	nested := func(n int) string { return completion(strings.Repeat("<a>", n) + strings.Repeat("</a>", n)) }
	s.put("k", "x", nil)
	for _, c := range []struct {
		name, method, target, body string
		ok                         bool
	}{
		{"a policy of 19 KiB", "PUT", "?policy", policy(19 << 10), true},
		{"one of 21 KiB", "PUT", "?policy", policy(21 << 10), false},
		{"100 rules", "PUT", "?cors", "<CORSConfiguration>" + strings.Repeat(rule, 100) + "</CORSConfiguration>", true},
		{"101 rules", "PUT", "?cors", "<CORSConfiguration>" + strings.Repeat(rule, 101) + "</CORSConfiguration>", false},
		{"100 grants", "PUT", "/k?acl", list(100), true},
		{"101 grants", "PUT", "/k?acl", list(101), false},
		{"a bucket's list", "PUT", "?acl", list(100), true},
		{"a long list", "PUT", "?acl", list(1000), false},
		{"notification rules of 600 KiB", "PUT", "?notification", "<NotificationConfiguration>" + strings.Repeat(" ", 600<<10) + "</NotificationConfiguration>", false},
		{"of 500 KiB", "PUT", "?notification", "<NotificationConfiguration>" + strings.Repeat(" ", 500<<10) + "</NotificationConfiguration>", true},
		{"nested elements", "POST", "/up?uploadId=" + up.id, nested(16), false},
		{"very many elements", "POST", "/up?uploadId=" + up.id, completion(strings.Repeat("<a/>", 700_000)), false},
		{"fewer", "POST", "/up?uploadId=" + up.id, nested(15), true},
	} {
		r := s.raw(c.method, c.target, []byte(c.body))
		if c.method == http.MethodPut {
			r.Header.Set("X-Amz-Checksum-Sha256", sha256Base64(c.body))
		}
		status, _, answer := s.send(signed(r, root, sum([]byte(c.body))))
		if (status < 300) != c.ok || status >= 500 {
			t.Errorf("%s: %d %.300s", c.name, status, answer)
		}
	}
}

// An ambiguous signature is invalid.
func TestSecurityRepeatedSignaturesAreRefused(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Content-Sha256"} {
		r := signed(s.raw(http.MethodGet, "/k", nil), root, "UNSIGNED-PAYLOAD")
		r.Header.Add(name, r.Header.Get(name))
		if status, _, answer := s.send(r); status != 400 || !strings.Contains(answer, "more than once") {
			t.Errorf("%s twice: %d %s", name, status, answer)
		}
	}
	r := signed(s.raw(http.MethodGet, "/k?X-Amz-Algorithm=AWS4-HMAC-SHA256", nil), root, "UNSIGNED-PAYLOAD")
	if status, _, answer := s.send(r); status != 400 || !strings.Contains(answer, "Only one auth mechanism") {
		t.Errorf("signed in header and address: %d %s", status, answer)
	}
}
