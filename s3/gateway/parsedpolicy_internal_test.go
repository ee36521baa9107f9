package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// A bucket's policy is parsed once for all requests, an overlong one never, and
// a new one takes effect with the next request.
func TestSecurityAPolicyIsParsedOnce(t *testing.T) {
	b, _, rc := requested(t, http.MethodGet, "/b/k", "")
	parsed := 0
	b.policies.Parse = func(body []byte) *authz.Policy {
		parsed++
		return parsePolicy(body)
	}
	put := func(sid string) string {
		policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Sid":%q,"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*"}]}`, sid)
		if err := b.store.Documents.PutDocument(t.Context(), ledger.Document{Bucket: "b", Kind: s3.KindPolicy, Body: []byte(policy)}); err != nil {
			t.Fatal(err)
		}
		return policy
	}
	for i, sid := range []string{"one", "two", "one"} {
		policy := put(sid)
		for range 100 {
			b.cache.Forget("b") // as after a second: the same bytes are read anew
			if got, err := b.GetBucketPolicy(rc, "b"); err != nil || !strings.Contains(string(got), `"s3:GetObject"`) {
				t.Fatalf("policy %q: %s, %v", policy, got, err)
			}
		}
		if parsed != i+1 {
			t.Errorf("after 100 requests under each of %d policies: parsed %d times", i+1, parsed)
		}
	}
	put(strings.Repeat("x", authz.MaxPolicy))
	for range 100 {
		if got, err := b.GetBucketPolicy(rc, "b"); err == nil || !strings.Contains(err.Error(), "put a shorter one") {
			t.Fatalf("a policy that is too long: %.100s, %v", got, err)
		}
	}
	if parsed != 3 {
		t.Errorf("a policy that is too long was parsed")
	}
}

func TestInvalidPolicyIsNotParsed(t *testing.T) {
	for _, broken := range []string{``, `{}`, `{"Statement":[],"statement":[]}`, `{"Statement":{}}`, `[]`} {
		if p := parsePolicy([]byte(broken)); p.Err == nil {
			t.Errorf("%s is a policy", broken)
		}
	}
}
