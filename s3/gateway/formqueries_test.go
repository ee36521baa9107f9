package gateway_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/s3/gateway"
)

// queryNames returns all query names that the gateway's router reads, from its
// source, those that we read, and some others.
func queryNames(t *testing.T) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/versity/versitygw").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "s3api", "router.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := gateway.SubResources()
	matched := regexp.MustCompile(`MatchQueryArg[A-Za-z]*\(([^)]*)\)`).FindAllStringSubmatch(string(source), -1)
	if len(matched) < 60 {
		t.Fatalf("the router looks for %d queries: its source is read wrongly", len(matched))
	}
	for _, m := range matched {
		for name := range strings.SplitSeq(m[1], ",") {
			names[strings.Trim(name, ` "`)] = true
		}
	}
	for _, name := range []string{"versionId", "x-id", "prefix", "list-type", "X-Amz-Signature", "X-Amz-Algorithm", "response-expires", "unknown", ""} {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// spellings returns variants of a query name that a server may read as that
// name.
func spellings(name string) []string {
	var encoded, upper strings.Builder
	for _, c := range []byte(name) {
		fmt.Fprintf(&encoded, "%%%02x", c)
		fmt.Fprintf(&upper, "%%%02X", c)
	}
	return []string{name, name + "=", name + "=x", "&&" + name, "a=b&" + name, name + "&" + name + "=1", encoded.String(), upper.String() + "=%20"}
}

// No query of a form's address, and no name of the form, bypasses a Deny of the
// policy, even in a public bucket.
func TestSecurityFormsUnderEveryQueryAreHeldToPolicies(t *testing.T) {
	s := newSite(t)
	everything := `"Principal":"*","Resource":["arn:aws:s3:::BUCKET","arn:aws:s3:::BUCKET/*"]}`
	s.must(s.policy(`{"Effect":"Allow","Action":["s3:PutObject","s3:DeleteObject","s3:RestoreObject","s3:ListBucket"],`+everything,
		`{"Effect":"Deny","Action":"s3:PutObjectTagging",`+everything,
		`{"Effect":"Deny","Action":"s3:PutObject","Principal":"*","Resource":"arn:aws:s3:::BUCKET/secret"}`))
	const tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"
	denied := []map[string]string{{"key": "secret"}, {"key": "tagged", "tagging": tags}}
	hers := s.key("formqueries", false, s.bucket)
	paths := []string{"", "/", "//", "%2F", "%2f%2f", "/.", "/%2e"}
	kinds := []string{"multipart/form-data", "Multipart/Form-DATA", "multipart/form-data; charset=utf-8", " multipart/form-data "}
	taken := 0
	send := func(what, target, kind string, fields map[string]string) {
		body := formBody(fields, "x")
		r := s.raw(http.MethodPost, "", []byte(body))
		r.URL.Opaque = "//" + s.addr + "/" + s.bucket + target
		r.Header.Set("Content-Type", kind+"; boundary=BB")
		status, _, answer := s.send(r)
		switch {
		case status < 300 && (fields["key"] == "secret" || fields["tagging"] != ""):
			t.Errorf("%s %s as %q: %d %s", what, target, kind, status, answer)
		case status < 300:
			taken++
		case status >= 500 && status != http.StatusNotImplemented:
			t.Errorf("%s %s as %q: %d %s", what, target, kind, status, answer)
		}
	}
	for _, name := range queryNames(t) {
		for i, query := range spellings(name) {
			for j, fields := range denied {
				path, kind := paths[(i+j)%len(paths)], kinds[(i+j)%len(kinds)]
				if name == "restore" || name == "select" || name == "" {
					for _, path := range paths {
						for _, kind := range kinds {
							send("unsigned", path+"?"+query, kind, fields)
						}
					}
				}
				send("unsigned", path+"?"+query, kind, fields)
				send("unsigned", "?"+query, kinds[0], fields)
				send("signed", "?"+query, kinds[0], s.signPolicyBy(hers, fields))
			}
			send("open", "?"+query, kinds[0], map[string]string{"key": "open"})
		}
	}
	if taken == 0 {
		t.Error("no form was taken at all")
	}
	if keys := s.keys(); !slices.Equal(keys, []string{"open"}) {
		t.Errorf("keys are %q", keys)
	}
}

// The part before a form's file is bounded under every query, and the file is
// not held in memory: the digest header that would need it is refused.
func TestSecurityFormsUnderEveryQueryAreBounded(t *testing.T) {
	s := newSite(t)
	s.must(s.policy(`{"Effect":"Allow","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::BUCKET/*"}`))
	head := "--BB\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n" + strings.Repeat("k", 30<<10)
	for _, name := range queryNames(t) {
		r := s.raw(http.MethodPost, "?"+url.QueryEscape(name), []byte(head))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=BB")
		status, _, answer := s.send(r)
		// An address does not make a form of another body.
		refused := strings.Contains(answer, "MaxPostPreDataLengthExceeded") || status == http.StatusMethodNotAllowed ||
			status == http.StatusNotImplemented || name == "delete" && status == http.StatusForbidden || name == "lifecycle"
		if status < 400 || !refused {
			t.Errorf("?%s: %d %s", name, status, answer)
		}
	}
	r := s.raw(http.MethodPost, "", []byte(formBody(map[string]string{"key": "k"}, "x")))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=BB")
	r.Header.Set("X-Amz-Content-Sha256", sum(nil))
	if status, _, answer := s.send(r); status != 400 || !strings.Contains(answer, "leave the header out") {
		t.Errorf("a digest: %d %s", status, answer)
	}
}

// A body in signed chunks ends at its last chunk, even if the query is not a
// valid one for a key.
func TestSecurityCutChunksAreNoObjectUnderAnyQuery(t *testing.T) {
	s := newSite(t)
	for _, name := range queryNames(t) {
		if slices.Contains([]string{"acl", "tagging", "retention", "legal-hold"}, name) {
			continue // documents
		}
		data := pattern(9000)
		r := s.raw(http.MethodPut, "/cut?"+url.QueryEscape(name)+"=", nil)
		r.Header.Set("X-Amz-Decoded-Content-Length", "9000")
		signed(r, root, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
		frame, _ := chunk(r, root.Secret, seed(r), data)
		cut := s.raw(http.MethodPut, "/cut?"+url.QueryEscape(name)+"=", frame[:len(frame)-2])
		cut.Header = r.Header
		if status, _, answer := s.send(cut); status < 300 {
			t.Errorf("?%s: %d %s", name, status, answer)
		}
	}
	s.missing("cut")
}

// formBody writes a form with the boundary BB.
func formBody(fields map[string]string, file string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(&b, "--BB\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", name, fields[name])
	}
	fmt.Fprintf(&b, "--BB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n%s\r\n--BB--\r\n", file)
	return b.String()
}
