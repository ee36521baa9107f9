package s3

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/meta"
)

// A bucket's policy is parsed once for all requests, one that is too long never, and
// another takes effect with the next request.
func TestSecurityAPolicyIsParsedOnce(t *testing.T) {
	docs := &shelf{docs: map[documentName][]byte{}}
	b := NewBackend(BackendOptions{Store: docs})
	parsed := 0
	b.policies.parse = func(body []byte) *parsedPolicy {
		parsed++
		return parsePolicy(body)
	}
	put := func(sid string) string {
		policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Sid":%q,"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*"}]}`, sid)
		if err := b.store.PutDocument(t.Context(), meta.Document{Bucket: "b", Kind: kindPolicy, Body: []byte(policy)}); err != nil {
			t.Fatal(err)
		}
		return policy
	}
	for i, sid := range []string{"one", "two", "one"} {
		policy := put(sid)
		for range 100 {
			b.store.forget("b") // as after a second: the same bytes are read anew
			if got, err := b.GetBucketPolicy(t.Context(), "b"); err != nil || string(got) != policy {
				t.Fatalf("policy %q: %s, %v", sid, got, err)
			}
		}
		if parsed != i+1 {
			t.Errorf("after 100 requests under each of %d policies: parsed %d times", i+1, parsed)
		}
	}
	docs.docs[documentName{"b", kindACL}] = []byte(`{"Owner":"root"}`)
	put(strings.Repeat("x", maxPolicy))
	for range 100 {
		if got, err := b.GetBucketPolicy(t.Context(), "b"); err == nil || !strings.Contains(err.Error(), "put a shorter one") {
			t.Fatalf("a policy that is too long: %.100s, %v", got, err)
		}
	}
	if parsed != 3 {
		t.Errorf("a policy that is too long was parsed")
	}
}

// What is shown in place of a policy has its other elements, and is one that can be read.
func TestAPolicyWithOtherStatements(t *testing.T) {
	for _, head := range []string{``, `"Version":"2012-10-17",`, `"Id":"x","Version":"2012-10-17",`} {
		p := parsePolicy([]byte(`{` + head + `"statement":[{"Effect":"Deny","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*"}]}`))
		if p.err != nil || p.public {
			t.Fatalf("%s: public %v, %v", head, p.public, p.err)
		}
		two := parsePolicy(p.with(append(p.statements[:1:1], p.statements...)))
		if two.err != nil || len(two.statements) != 2 || string(two.head) != string(p.head) {
			t.Errorf("%s: %s, %v", head, two.body, two.err)
		}
	}
	for _, broken := range []string{``, `{}`, `{"Statement":[],"statement":[]}`, `{"Statement":{}}`, `[]`} {
		if p := parsePolicy([]byte(broken)); p.err == nil {
			t.Errorf("%s is a policy", broken)
		}
	}
}
