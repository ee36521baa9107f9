package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3api/utils"

	"github.com/lethe-storage/lethe"
)

// oneKey knows an access key besides the root's, and one that looks as if it were of a session.
type oneKey struct{ keyring }

func (*oneKey) GetUserAccount(access string) (auth.Account, error) {
	switch access {
	case "key", "ASIAkey":
	case "bare": // has no secret
		return auth.Account{Access: access, Role: auth.RoleUserPlus}, nil
	default:
		return auth.Account{}, auth.ErrNoSuchUser
	}
	return auth.Account{Access: access, Secret: "of " + access, Role: auth.RoleUserPlus}, nil
}

var oneRoot = middlewares.RootUserConfig{Access: "root", Secret: "of root"}

func testVerifier() *verifier {
	return newVerifier(auth.Account{Access: "root", Secret: "of root", Role: auth.RoleAdmin}, "us-east-1", &oneKey{})
}

// signedBy returns a request as an SDK sends it.
func signedBy(t *testing.T, access, path string, change func(*http.Request)) []byte {
	t.Helper()
	return signedWith(t, aws.Credentials{AccessKeyID: access, SecretAccessKey: "of " + access}, path, change)
}

func signedWith(t *testing.T, by aws.Credentials, path string, change func(*http.Request)) []byte {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:9000"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"X-Amz-Content-Sha256": {emptyBody}, "Accept-Encoding": {"identity"}, "Amz-Sdk-Request": {"attempt=1; max=3"}, "User-Agent": {"sdk/1 (x)"},
	}
	if change != nil {
		change(r)
	}
	err = v4.NewSigner().SignHTTP(context.Background(), by, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", "us-east-1", lethe.SystemClock{}.Now().Time())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := httputil.DumpRequestOut(r, false)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// received returns the context of a request; false if it is none.
func received(t *testing.T, app *fiber.App, raw []byte) (fiber.Ctx, bool) {
	var rc fasthttp.RequestCtx
	if rc.Request.Header.Read(bufio.NewReader(bytes.NewReader(raw))) != nil {
		return nil, false
	}
	ctx := app.AcquireCtx(&rc)
	t.Cleanup(func() { app.ReleaseCtx(ctx) })
	return ctx, true
}

func TestSecurityReadsOfSDKsAreAdmitted(t *testing.T) {
	v, app := testVerifier(), fiber.New()
	for _, access := range []string{"root", "key", "root"} {
		for _, path := range []string{"/bucket/a/key-1_2.3~", "/bucket/k?x-id=GetObject"} {
			ctx, _ := received(t, app, signedBy(t, access, path, nil))
			v.admit(ctx)
			acct, _ := utils.ContextKeyAccount.Get(ctx).(auth.Account)
			if root := utils.ContextKeyIsRoot.Get(ctx) == true; !utils.ContextKeyAuthenticated.IsSet(ctx) || acct.Access != access || root != (access == "root") {
				t.Errorf("%s of %s: admitted as %q, root %v", path, access, acct.Access, root)
			}
		}
	}
}

// TestSecurityVersitygwDecidesOnTheRest checks that what is not simple is left to versitygw.
func TestSecurityVersitygwDecidesOnTheRest(t *testing.T) {
	v, app := testVerifier(), fiber.New()
	set := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	// Only who signed these is unknown, or not who says so.
	judged := map[string]bool{"of an unknown key": true, "with another secret": true, "without a secret": true}
	for name, raw := range map[string][]byte{
		"of an unknown key": signedBy(t, "other", "/b/k", nil), "of a session": signedBy(t, "ASIAkey", "/b/k", nil),
		"with a session token": signedBy(t, "root", "/b/k", set("X-Amz-Security-Token", "x")),
		"without a secret":     signedWith(t, aws.Credentials{AccessKeyID: "bare"}, "/b/k", nil),
		"with a query":         signedBy(t, "root", "/b/k?partNumber=1", nil), "with two": signedBy(t, "root", "/b/k?x-id=GetObject&x-id=GetObject", nil),
		"with an escaped path": signedBy(t, "root", "/b/a%20b", nil), "with spaces": signedBy(t, "root", "/b/k", set("X-Amz-Meta-A", "a  b")),
		"with two values": signedBy(t, "root", "/b/k", set("Amz-Sdk-Request", "a", "b")), "with a body": signedBy(t, "root", "/b/k", set("X-Amz-Content-Sha256", strings.Repeat("0", 64))),
		"with a length":          bytes.Replace(signedBy(t, "root", "/b/k", nil), []byte("\r\nHost"), []byte("\r\nContent-Length: 0\r\nHost"), 1),
		"with an unsigned field": bytes.Replace(signedBy(t, "root", "/b/k", nil), []byte("\r\nHost"), []byte("\r\nX-Amz-Meta-A: b\r\nHost"), 1),
		"with another secret":    bytes.Replace(signedBy(t, "root", "/b/k", nil), []byte("Credential=root/"), []byte("Credential=key/"), 1),
	} {
		ctx, ok := received(t, app, raw)
		if !ok {
			t.Fatalf("%s: it is no request", name)
		}
		v.admit(ctx)
		if _, simple := v.parse(ctx); utils.ContextKeyAuthenticated.IsSet(ctx) || simple != judged[name] {
			t.Errorf("a request %s was admitted, or taken for simple (%v)", name, simple)
		}
	}
}

// TestSecurityAdmitsNoMoreThanVersitygw changes each byte of requests, signs what is left to
// be signed, and asks versitygw as well.
func TestSecurityAdmitsNoMoreThanVersitygw(t *testing.T) {
	v, app := testVerifier(), fiber.New()
	theirs := middlewares.VerifyV4Signature(oneRoot, &oneKey{}, "us-east-1", false, true, false)
	asked := 0
	for _, raw := range [][]byte{signedBy(t, "key", "/b/k?x-id=GetObject", nil), signedBy(t, "root", "/b/a/b", func(r *http.Request) { r.Header.Set("Range", "bytes=0-1") })} {
		for i := range raw {
			for _, with := range []string{"", "a", "Z", "0", " ", "  ", "\t", ";", ",", "/", "%", "?", "=", "-", "\r\n ", "\r\nX-Amz-", ".5Z", string(raw[i]) + string(raw[i])} {
				ctx, ok := received(t, app, append(append(append([]byte{}, raw[:i]...), with...), raw[i+1:]...))
				if !ok {
					continue
				}
				s, ok := v.parse(ctx)
				secret, known := map[string]string{"root": "of root", "key": "of key"}[s.access]
				if !ok || !known {
					continue
				}
				right := hex.EncodeToString(mac(v.key(secret, s.day).key, s.text))
				header := strings.Replace(string(ctx.Request().Header.Peek("Authorization")), "Signature="+s.signature, "Signature="+right, 1)
				ctx.Request().Header.Set("Authorization", header)
				asked++
				if err := theirs(ctx); err != nil {
					t.Fatalf("byte %d as %q: we admit what versitygw refuses with %v:\n%s", i, with, err, ctx.Request().Header.RawHeaders())
				}
			}
		}
	}
	if asked < 1000 {
		t.Errorf("%d requests were simple enough to be compared, want more", asked)
	}
}
