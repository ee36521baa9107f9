package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// documents are those of one bucket, by kind.
type documents map[string][]byte

// named are buckets of any name.
type named struct{ s3.BucketStore }

func (named) Bucket(_ context.Context, name string) (ledger.Bucket, error) {
	return ledger.Bucket{ID: "id", Name: name}, nil
}

func (d documents) Document(_ context.Context, _, kind string) ([]byte, error) { return d[kind], nil }

func (d documents) PutDocument(_ context.Context, to ledger.Document) error {
	d[to.Kind] = to.Body
	return nil
}

func (d documents) DeleteDocument(_ context.Context, of ledger.Document) error {
	delete(d, of.Kind)
	return nil
}

// requested returns a request to a backend that has only the documents of one
// bucket.
func requested(t *testing.T, method, target, access string) (*Backend, documents, *fasthttp.RequestCtx) {
	t.Helper()
	docs := documents{s3.KindACL: []byte(`{"Owner":"root"}`)}
	b := NewBackend(BackendOptions{Store: s3.Store{Buckets: named{}, Documents: docs}})
	rc := &fasthttp.RequestCtx{}
	rc.Request.Header.SetMethod(method)
	rc.Request.SetRequestURI(target)
	app := fiber.New()
	web := app.AcquireCtx(rc)
	t.Cleanup(func() { app.ReleaseCtx(web) })
	req := &request{web: web}
	req.event.Method = method
	rc.SetUserValue(requestKey{}, req)
	rc.SetUserValue(localAccount, auth.Account{Access: access})
	return b, docs, rc
}

func policyOf(statements ...string) []byte {
	return []byte(`{"Version":"2012-10-17","Statement":[` + strings.Join(statements, ",") + `]}`)
}

// A policy is parsed once for all requests. What versitygw parses instead, for
// each key of a deletion, is no longer for a policy of 20 KiB.
func TestSecurityVersitygwReadsNoPolicy(t *testing.T) {
	for target, most := range map[string]int{"POST /b?delete": 200, "GET /b/k": 400} {
		method, uri, _ := strings.Cut(target, " ")
		b, docs, rc := requested(t, method, uri, "alice")
		parsed := 0
		b.policies.Parse = func(body []byte) *authz.Policy {
			parsed++
			return parsePolicy(body)
		}
		var statements []string
		for i := range 150 {
			statements = append(statements, fmt.Sprintf(`{"Effect":"Allow","Principal":"*","Action":"s3:%s*","Resource":"arn:aws:s3:::b/k%d*"}`, strings.Repeat("*", i%20), i))
		}
		docs[s3.KindPolicy] = policyOf(append(statements, `{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::b/k"}`)...)
		if n := len(docs[s3.KindPolicy]); n > authz.MaxPolicy || n < authz.MaxPolicy/2 {
			t.Fatalf("a policy of %d bytes", n)
		}
		for range 100 {
			shown, err := b.GetBucketPolicy(rc, "b")
			if err != nil || len(shown) > most {
				t.Fatalf("%s: versitygw parses %d bytes, %v: %s", target, len(shown), err, shown)
			}
		}
		if parsed != 1 {
			t.Errorf("%s: parsed %d times", target, parsed)
		}
	}
}

// The policy refuses the keys of a deletion that it denies or does not allow,
// each by its own action; the others are deleted.
func TestMultiDeleteChecksThePolicyForEachKey(t *testing.T) {
	b, docs, rc := requested(t, http.MethodPost, "/b?delete", "alice")
	docs[s3.KindPolicy] = policyOf(
		`{"Effect":"Allow","Principal":{"AWS":["alice"]},"Action":"s3:DeleteObject","Resource":"arn:aws:s3:::b/*"}`,
		`{"Effect":"Deny","Principal":"*","Action":"s3:Delete*","Resource":"arn:aws:s3:::b/kept/*"}`,
		`{"Effect":"Allow","Principal":{"AWS":["bob"]},"Action":"s3:*","Resource":"arn:aws:s3:::b/*"}`)
	in := &awss3.DeleteObjectsInput{Bucket: to("b"), Delete: &types.Delete{Objects: []types.ObjectIdentifier{
		{Key: to("a")}, {Key: to("kept/b")}, {Key: to("c"), VersionId: to("null")}, {Key: to("d")},
	}}}
	refused, err := b.refusedKeys(rc, in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range refused {
		got = append(got, *e.Key+" "+*e.Code+" "+strconv.FormatBool(strings.Contains(*e.Message, "explicit deny")))
	}
	for _, id := range in.Delete.Objects {
		got = append(got, *id.Key)
	}
	if want := []string{"kept/b AccessDenied true", "c AccessDenied false", "a", "d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The decisions here equal versitygw's by the policy itself: for each action
// and resource, signed and not, under conditions that hold, do not, and cannot
// be evaluated.
func TestDecisionsMatchVersitygw(t *testing.T) {
	seeds := uint64(300)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		pick := func(of ...string) string { return of[rng.IntN(len(of))] }
		var statements []string
		for range 1 + rng.IntN(4) {
			statements = append(statements, fmt.Sprintf(`{"Effect":%q,"Principal":%s,"Action":%s,"Resource":%s%s}`, pick("Allow", "Allow", "Deny"),
				pick(`"*"`, `{"AWS":"alice"}`, `{"AWS":["bob","alice"]}`, `"bob"`),
				pick(`"s3:*"`, `"s3:Get*"`, `["s3:GetObject","s3:PutObject"]`, `"s3:*Object"`, `"s3:ListBucket"`, `"s3:DeleteObject?ersion"`),
				pick(`"arn:aws:s3:::b"`, `"arn:aws:s3:::b/*"`, `["arn:aws:s3:::b","arn:aws:s3:::b/k"]`, `"arn:aws:s3:::b*"`, `"arn:aws:s3:::b/?"`, `"arn:aws:s3:::c/*"`),
				pick(``, ``, `,"Condition":{"StringLike":{"aws:UserAgent":"go*"}}`, `,"Condition":{"StringEquals":{"aws:UserAgent":"other"}}`,
					`,"Condition":{"StringEquals":{"s3:prefix":"${aws:UserAgent}"}}`, `,"Condition":{"Unheard":{"aws:UserAgent":"x"}}`)))
		}
		access := pick("alice", "carol", "")
		target := pick("/b/k", "/b", "/b/a*?k", "/b?prefix=go-test")
		b, docs, rc := requested(t, http.MethodGet, target, access)
		rc.Request.Header.SetUserAgent("go-test")
		policy := policyOf(statements...)
		docs[s3.KindPolicy] = policy
		shown, err := b.GetBucketPolicy(rc, "b")
		if access == "" {
			rc.RemoveUserValue(localAccount)
			shown, err = b.GetBucketPolicy(rc, "b")
		}
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, policy, err)
		}
		web := requestOf(rc).web
		_, key, _ := strings.Cut(strings.TrimPrefix(web.Path(), "/"), "/")
		for _, object := range slices.Compact([]string{"", key}) {
			for _, known := range authz.Actions {
				action := auth.Action(known)
				decide := func(policy []byte) error {
					if access == "" {
						return auth.VerifyPublicAccess(web, probe{policy: policy}, action, auth.PermissionRead, "b", object)
					}
					return auth.VerifyAccess(web, probe{policy: policy}, auth.AccessOptions{Acc: auth.Account{Access: access}, Bucket: "b", Object: object, Actions: []auth.Action{action}})
				}
				if want, got := fmt.Sprint(decide(policy)), fmt.Sprint(decide(shown)); got != want {
					t.Fatalf("seed %d: %s as %q on %q by %s: %s by what is shown, %s; want %s", seed, action, access, object, policy, shown, got, want)
				}
			}
		}
	}
}

// An action of versitygw that is missing here would be refused.
func TestPolicyActionsMatchVersitygw(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/versity/versitygw/auth").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "bucket_policy_actions.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[auth.Action]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && fmt.Sprint(v.Type) == "Action" {
			var name string
			if err := json.Unmarshal([]byte(v.Values[0].(*ast.BasicLit).Value), &name); err != nil {
				t.Fatal(err)
			}
			want[auth.Action(name)] = true
		}
		return true
	})
	// No bucket's policy is checked for these.
	delete(want, auth.AllActions)
	delete(want, auth.ListAllMyBucketsAction)
	for _, known := range authz.Actions {
		a := auth.Action(known)
		if !want[a] {
			t.Errorf("%s is none of versitygw's", a)
		}
		delete(want, a)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// A * or a ? in a name that a client sends is an ordinary character for
// patterns: it bypasses no denial, and prevents no permission.
func TestSecurityPatternsInNamesAreLiteral(t *testing.T) {
	statement := func(effect, resource, condition string) string {
		return fmt.Sprintf(`{"Effect":%q,"Principal":"*","Action":["s3:GetObject","s3:PutObject"],"Resource":"arn:aws:s3:::%s"%s}`, effect, resource, condition)
	}
	everything := statement("Allow", "b/*", "")
	for _, c := range []struct {
		policy               []byte
		target, agent, asked string // the checked key, if it is not the target's
		source               string
		allowed              bool
	}{
		{policyOf(everything, statement("Deny", "b/p/*", "")), "/b/p/x", "", "", "", false},
		{policyOf(everything, statement("Deny", "b/p/*", "")), "/b/p/*x", "", "", "", false},
		{policyOf(everything, statement("Deny", "b/p/*", "")), "/b/p/**x", "", "", "", false},
		{policyOf(everything, statement("Deny", "b/*.key", "")), "/b/*a.key", "", "", "", false},
		{policyOf(everything, statement("Deny", "b/p/*", "")), "/b/*x", "", "", "", true},
		{policyOf(everything), "/b/*keep", "", "", "", true},
		{policyOf(statement("Allow", "b/a?", "")), "/b/a*", "", "", "", true},
		{policyOf(everything, statement("Deny", "b/*", `,"Condition":{"StringLike":{"aws:UserAgent":"curl/*"}}`)), "/b/k", "curl/1", "", "", false},
		{policyOf(everything, statement("Deny", "b/*", `,"Condition":{"StringLike":{"aws:UserAgent":"curl/*"}}`)), "/b/k", "curl/*1", "", "", false},
		{policyOf(everything, statement("Deny", "b/*", `,"Condition":{"StringNotLike":{"aws:UserAgent":"good/*"}}`)), "/b/k", "bad*", "", "", false},
		{policyOf(everything, statement("Deny", "b/*", `,"Condition":{"StringLike":{"aws:UserAgent":"curl/*"}}`)), "/b/k", "other/1", "", "", true},
		{policyOf(statement("Allow", "b/u-?/*", "")), "/b/u-*/x", "", "u-bob/x", "b/u-bob/x", false},
		{policyOf(statement("Allow", "b/u-?/*", "")), "/b/u-1/x", "", "u-2/x", "b/u-2/x", true},
	} {
		b, docs, rc := requested(t, http.MethodPut, c.target, "alice")
		rc.Request.Header.SetUserAgent(c.agent)
		if c.source != "" {
			rc.Request.Header.Set("X-Amz-Copy-Source", c.source)
		}
		docs[s3.KindPolicy] = c.policy
		shown, err := b.GetBucketPolicy(rc, "b")
		if err != nil {
			t.Fatal(err)
		}
		key, action := strings.TrimPrefix(c.target, "/b/"), auth.PutObjectAction
		if c.asked != "" {
			key, action = c.asked, auth.GetObjectAction
		}
		err = auth.VerifyAccess(requestOf(rc).web, probe{policy: shown}, auth.AccessOptions{
			Acc: auth.Account{Access: "alice"}, Bucket: "b", Object: key, Actions: []auth.Action{action},
		})
		if (err == nil) != c.allowed {
			t.Errorf("%s of %s for %s (source %q, agent %q) under %s: %v", action, key, c.target, c.source, c.agent, c.policy, err)
		}
	}
}
