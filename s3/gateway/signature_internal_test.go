package gateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

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
	raw, err := httputil.DumpRequestOut(r, true)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// putBody is the body of puts.
const putBody = "a body"

func hashOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// putOf makes a request a put of putBody, whose SHA-256 is signed.
func putOf(r *http.Request) {
	r.Method, r.Body, r.ContentLength = http.MethodPut, io.NopCloser(strings.NewReader(putBody)), int64(len(putBody))
	r.Header.Set("X-Amz-Content-Sha256", hashOf(putBody))
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
}

// unsignedPut makes a request a put of putBody, whose SHA-256 is not signed.
func unsignedPut(r *http.Request) {
	putOf(r)
	r.Header.Set("X-Amz-Content-Sha256", unsignedBody)
}

// received returns the context of a request; false if it is none.
func received(t *testing.T, app *fiber.App, raw []byte) (fiber.Ctx, bool) {
	var rc fasthttp.RequestCtx
	from := bufio.NewReader(bytes.NewReader(raw))
	if rc.Request.Header.Read(from) != nil {
		return nil, false
	}
	// As the web server is set to read it.
	if rc.Request.Header.IsPut() && rc.Request.ContinueReadBodyStream(from, 1<<20, false) != nil {
		return nil, false
	}
	ctx := app.AcquireCtx(&rc)
	t.Cleanup(func() { app.ReleaseCtx(ctx) })
	return ctx, true
}

func TestSecurityRequestsOfSDKsAreAdmitted(t *testing.T) {
	v, app := testVerifier(), fiber.New()
	for _, access := range []string{"root", "key", "root"} {
		for path, change := range map[string]func(*http.Request){
			"/bucket/a/key-1_2.3~": nil, "/bucket/k?x-id=GetObject": nil, "/bucket/k": putOf, "/bucket/k?x-id=PutObject": unsignedPut,
		} {
			ctx, _ := received(t, app, signedBy(t, access, path, change))
			v.admit(ctx)
			if body, err := bodyFor(ctx); change != nil && (body != putBody || err != nil) {
				t.Errorf("%s: the body is %q, %v", path, body, err)
			}
			acct, _ := utils.ContextKeyAccount.Get(ctx).(auth.Account)
			if root := utils.ContextKeyIsRoot.Get(ctx) == true; !utils.ContextKeyAuthenticated.IsSet(ctx) || acct.Access != access || root != (access == "root") {
				t.Errorf("%s of %s: admitted as %q, root %v", path, access, acct.Access, root)
			}
		}
	}
}

// bodyFor returns what versitygw's handler reads of an admitted request.
func bodyFor(ctx fiber.Ctx) (string, error) {
	r, ok := utils.ContextKeyBodyReader.Get(ctx).(io.Reader)
	if !ok {
		return "", nil
	}
	body, err := io.ReadAll(r)
	return string(body), err
}

// TestSecurityVersitygwDecidesOnTheRest checks that what is not simple is left to versitygw.
func TestSecurityVersitygwDecidesOnTheRest(t *testing.T) {
	v, app := testVerifier(), fiber.New()
	set := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	also := func(change func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) { putOf(r); change(r) }
	}
	put := signedBy(t, "root", "/b/k", putOf)
	changed := func(old, now string) []byte { return bytes.Replace(put, []byte(old), []byte(now), 1) }
	day := lethe.SystemClock{}.Now().Time().Format("20060102")
	tomorrow := bytes.ReplaceAll(put, []byte(day), []byte(lethe.SystemClock{}.Now().Time().Add(24*time.Hour).Format("20060102")))
	// Only who signed these is unknown, or not who says so, or something else was signed.
	judged := map[string]bool{
		"of an unknown key": true, "with another secret": true, "without a secret": true, "to put another type": true, "to put elsewhere": true,
		"to put with another signature": true, "to put with another hash": true,
	}
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

		"to put in chunks": signedBy(t, "root", "/b/k", also(set("X-Amz-Content-Sha256", unsignedChunks))), "to put what it does not say": signedBy(t, "root", "/b/k", also(set("X-Amz-Content-Sha256", ""))),
		"to put half a hash": signedBy(t, "root", "/b/k", also(set("X-Amz-Content-Sha256", strings.Repeat("0", 62)))), "to put no hash": signedBy(t, "root", "/b/k", also(set("X-Amz-Content-Sha256", strings.Repeat("g", 64)))),
		"to put any length":      signedBy(t, "root", "/b/k", also(func(r *http.Request) { r.ContentLength = -1 })),
		"to put nothing":         signedBy(t, "root", "/b/k", also(func(r *http.Request) { r.Body, r.ContentLength = http.NoBody, 0 })),
		"to put an unsigned tag": changed("Content-Type", "X-Amz-Tagging: a=b\r\nContent-Type"),
		"to put another type":    changed("text/plain", "text/html"), "to put elsewhere": changed("/b/k", "/b/l"), "to put tomorrow": tomorrow,
		"to put without a name": changed("Authorization", "X-Authorization"), "to put with another signature": changed("Signature=", "Signature=0"),
		"to put with another hash": changed("X-Amz-Content-Sha256: ", "X-Amz-Content-Sha256: "+strings.Repeat("0", 64)+"\r\nX-Old: "),
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
// be signed, and asks versitygw as well. What is read of a put's body has to be the same.
func TestSecurityAdmitsNoMoreThanVersitygw(t *testing.T) {
	v, app := testVerifier(), fiber.New()
	asked := map[string]int{}
	for _, raw := range [][]byte{
		signedBy(t, "key", "/b/k?x-id=GetObject", nil), signedBy(t, "root", "/b/a/b", func(r *http.Request) { r.Header.Set("Range", "bytes=0-1") }),
		signedBy(t, "key", "/b/k?x-id=PutObject", putOf), signedBy(t, "root", "/b/k", unsignedPut),
	} {
		for i := range raw {
			for _, with := range []string{"", "a", "Z", "0", " ", "  ", "\t", ";", ",", "/", "%", "?", "=", "-", "\r\n ", "\r\nX-Amz-", ".5Z", string(raw[i]) + string(raw[i])} {
				now := append(append(append([]byte{}, raw[:i]...), with...), raw[i+1:]...)
				asked[admitsNoMore(t, v, app, now)]++
			}
		}
	}
	if asked[http.MethodGet] < 1000 || asked[http.MethodPut] < 1000 {
		t.Errorf("so many requests were simple enough to be compared: %v, want more", asked)
	}
}

// admitsNoMore signs what is left to be signed of a request, and asks versitygw as well. It returns
// the method; none if the request is not simple.
func admitsNoMore(t *testing.T, v *verifier, app *fiber.App, raw []byte) (method string) {
	t.Helper()
	ours, ok := received(t, app, raw)
	if !ok {
		return ""
	}
	theirs, _ := received(t, app, raw)
	if !signAgain(v, ours, theirs) {
		return ""
	}
	v.admit(ours)
	put := ours.Method() == http.MethodPut
	err := middlewares.VerifyV4Signature(oneRoot, &oneKey{}, "us-east-1", put, true, false)(theirs)
	if err != nil || !utils.ContextKeyAuthenticated.IsSet(ours) {
		t.Fatalf("we admit what versitygw refuses with %v:\n%q", err, raw)
	}
	got, err := bodyFor(ours)
	want, wantErr := bodyFor(theirs)
	if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("read %q, %v, want %q, %v, of:\n%q", got, err, want, wantErr, raw)
	}
	return ours.Method()
}

// FuzzSignature does the same with any request that has a time and an authorization.
func FuzzSignature(f *testing.F) {
	v, app := testVerifier(), fiber.New()
	const names = "host;x-amz-content-sha256;x-amz-date"
	for _, seed := range []struct{ head, names, hash, body string }{
		{"GET /b/k?x-id=GetObject HTTP/1.1\r\n", names, emptyBody, ""},
		{"HEAD /b/a/b HTTP/1.1\r\nRange: bytes=0-1\r\n", "host;range;x-amz-content-sha256;x-amz-date", unsignedBody, ""},
		{"PUT /b/k?x-id=PutObject HTTP/1.1\r\nContent-Length: 6\r\n", "content-length;" + names, unsignedBody, putBody},
		{"PUT /b/k HTTP/1.1\r\nContent-Length: 6\r\nContent-Type: a/b\r\nx-amz-meta-a: b\r\n", "content-length;content-type;" + names + ";x-amz-meta-a", hashOf(putBody), putBody},
	} {
		f.Add(seed.head, seed.names, seed.hash, seed.body)
	}
	f.Fuzz(func(t *testing.T, head, names, hash, body string) {
		now := lethe.SystemClock{}.Now().Time().UTC().Format(signatureTime)
		admitsNoMore(t, v, app, fmt.Appendf(nil, "%sHost: a:1\r\nX-Amz-Date: %s\r\nX-Amz-Content-Sha256: %s\r\n"+
			"Authorization: AWS4-HMAC-SHA256 Credential=root/%s/us-east-1/s3/aws4_request, SignedHeaders=%s, Signature=0\r\n\r\n%s",
			head, now, hash, now[:8], names, body))
	})
}

// signAgain gives both forms of a request the right signature, if it is simple.
func signAgain(v *verifier, forms ...fiber.Ctx) bool {
	for _, ctx := range forms {
		s, ok := v.parse(ctx)
		secret, known := map[string]string{"root": "of root", "key": "of key"}[s.access]
		if !ok || !known {
			return false
		}
		right := hex.EncodeToString(mac(v.key(secret, s.day).key, s.text))
		header := strings.Replace(string(ctx.Request().Header.Peek("Authorization")), "Signature="+s.signature, "Signature="+right, 1)
		ctx.Request().Header.Set("Authorization", header)
	}
	return true
}
