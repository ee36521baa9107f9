package console_test

import (
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
)

// paths are the pages of the console.
var paths = []string{"/", "/object", at("/object", "photos", "a"), "/buckets", "/bucket?name=photos"}

// Without a session every page leads to the login, and from there back.
func TestPagesNeedALogin(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.visitor()
	for _, path := range append(paths, at("/content", "photos", "a"), "/no-such-page") {
		if res := v.get(path); res.status != http.StatusSeeOther || !strings.HasPrefix(res.to(), "/login") {
			t.Errorf("%s: %d to %q", path, res.status, res.to())
		}
	}
	res := v.post("/login", url.Values{"key": {rootKey}, "secret": {rootSecret}, "next": {"/bucket?name=photos"}})
	if res.status != http.StatusSeeOther || res.to() != "/bucket?name=photos" {
		t.Errorf("%d to %q", res.status, res.to())
	}
	for _, elsewhere := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "evil", "/\r\nx"} {
		if res := v.post("/login", url.Values{"key": {rootKey}, "secret": {rootSecret}, "next": {elsewhere}}); res.to() != "/" {
			t.Errorf("%q leads to %q", elsewhere, res.to())
		}
	}
}

// Only the root key and tokens log in; failures are limited, and leave audit lines
// without secrets.
func TestLogin(t *testing.T) {
	w := start(t)
	v := w.visitor()
	for _, wrong := range []url.Values{
		{}, {"key": {rootKey}}, {"key": {rootKey}, "secret": {"a wrong secret"}}, {"key": {"other"}, "secret": {rootSecret}},
		{"secret": {rootSecret}}, {"secret": {"lethe_aaaaaaaa_wrong"}}, {"key": {" "}, "secret": {" "}},
	} {
		if res := v.post("/login", wrong); res.status != http.StatusUnauthorized || len(v.http.Jar.Cookies(mustParse(w.url))) != 0 {
			t.Errorf("%v: %d", wrong, res.status)
		}
	}
	for _, role := range []api.Role{api.Read, api.Operate, api.Destroy} {
		if home := w.as(role).get("/"); home.status != http.StatusOK || !strings.Contains(home.body, `<span class="tag">`+string(role)+"</span>") {
			t.Errorf("%s: %d", role, home.status)
		}
	}
	limited := false
	for range 20 {
		limited = limited || v.post("/login", url.Values{"key": {rootKey}, "secret": {"a guess"}}).status == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("guesses are not limited")
	}
	log := w.log.String()
	if !strings.Contains(log, `"admin_denied"`) || !strings.Contains(log, `"admin_login"`) {
		t.Error("logins leave no audit lines")
	}
	for _, secret := range []string{rootSecret, "a wrong secret", "lethe_aaaaaaaa_wrong"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

func mustParse(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// Every response forbids what pages do not need.
func TestHeaders(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.as(api.Destroy)
	for _, path := range append(paths, "/login", "/no-such-page", "/object?bucket=none&key=x") {
		h := v.get(path).header
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy has no %s: %s", path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is %s", path, policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
	}
}

// A page of another site whose name leads here is not the console.
func TestHosts(t *testing.T) {
	w := start(t, "console.hosts=lethe.example.org,2001:db8:0:0::7")
	port := w.url[strings.LastIndexByte(w.url, ':'):]
	for host, want := range map[string]int{
		"localhost" + port: 200, "127.0.0.1" + port: 200, "[::1]" + port: 200, "LOCALHOST": 200, "lethe.example.org": 200, "lethe.example.org:443": 200,
		"[0:0:0:0:0:0:0:1]" + port: 200, "[::ffff:127.0.0.1]" + port: 200, "[2001:DB8:0::7]" + port: 200, "[2001:db8::7]": 200, "[2001:db8::8]": 421, "localhost." + port: 200,
		"evil.example": 421, "evil.example" + port: 421, "localhost.evil.example": 421, "192.0.2.1" + port: 421, "127.0.0.1.nip.io" + port: 421,
	} {
		v := w.visitor()
		v.host = host
		if res := v.get("/login"); res.status != want {
			t.Errorf("%s: %d, want %d", host, res.status, want)
		}
	}
}

// A form does nothing without the session's token, nor from a page of another site.
func TestForeignForms(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	w.put("photos", "a", "bytes", "")
	v, other := w.as(api.Destroy), w.as(api.Operate)
	hold := at("/object/hold", "photos", "a")
	for name, form := range map[string]url.Values{"no token": {}, "a wrong one": {"csrf": {"wrong"}}, "that of another session": {"csrf": {other.token()}}} {
		if res := v.post(hold, form); res.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, res.status)
		}
	}
	good := url.Values{"csrf": {v.token()}}
	for name, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		v.header = http.Header{name: {value}}
		if res := v.post(hold, good); res.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, res.status)
		}
		if res := v.post("/login", url.Values{"key": {rootKey}, "secret": {rootSecret}}); res.status != http.StatusForbidden {
			t.Errorf("login with %s: %d", name, res.status)
		}
	}
	v.header = http.Header{}
	if res := v.upload("/bucket/upload?name=photos", "wrong", "", map[string]string{"smuggled": "x"}); res.status != http.StatusForbidden {
		t.Errorf("upload: %d", res.status)
	}
	if len(w.explain("photos", "a").Holds) != 0 || w.explain("photos", "smuggled").Object != nil {
		t.Error("a foreign form had an effect")
	}
	if res := v.post(hold, good); res.status != http.StatusSeeOther || len(w.explain("photos", "a").Holds) != 1 {
		t.Errorf("the form of the session: %d", res.status)
	}
	if res := v.get(hold); res.status == http.StatusOK {
		t.Errorf("an action by a link: %d", res.status)
	}
}

// Sessions end when nothing is done, after their lifetime, at the logout, and with
// their token.
func TestSessionsEnd(t *testing.T) {
	w := start(t, "console.idle=10m", "console.lifetime=1h")
	inside := func(v *visitor) bool { return v.get("/buckets").status == http.StatusOK }
	idle := w.as(api.Destroy)
	for range 5 {
		w.stopwatch.Advance(9 * time.Minute)
		if !inside(idle) {
			t.Fatal("a session in use ended")
		}
	}
	w.stopwatch.Advance(9 * time.Minute)
	idle.header.Set("X-Console-Refresh", "1")
	if !inside(idle) {
		t.Error("a session ended early")
	}
	w.stopwatch.Advance(2 * time.Minute)
	if res := idle.get("/buckets"); res.status != http.StatusUnauthorized {
		t.Errorf("refreshes keep a session: %d", res.status)
	}
	long := w.as(api.Destroy)
	for range 6 {
		w.stopwatch.Advance(9 * time.Minute)
		inside(long)
	}
	w.stopwatch.Advance(6 * time.Minute)
	if inside(long) {
		t.Error("a session outlives its lifetime")
	}
	out := w.as(api.Destroy)
	kept := out.http.Jar.Cookies(mustParse(w.url))
	if res := out.act("/logout"); res.to() != "/login" {
		t.Errorf("logout: %d", res.status)
	}
	out.http.Jar.SetCookies(mustParse(w.url), kept)
	if inside(out) {
		t.Error("the cookie works after the logout")
	}
	reader := w.as(api.Read)
	if !inside(reader) {
		t.Fatal("a token does not log in")
	}
	_, err := api.Call[api.None](w.ctx, w.admin, "tokens/remove", api.TokenName{Name: "who-may-read"})
	w.must(err)
	if inside(reader) {
		t.Error("a removed token is still inside")
	}
}

// An operator has so many sessions at once; the one that was used least recently ends for another.
func TestSessionsOfOneOperator(t *testing.T) {
	w := start(t)
	other, first := w.as(api.Read), w.as(api.Destroy)
	w.stopwatch.Advance(time.Second)
	second := w.as(api.Destroy)
	for range 19 {
		w.stopwatch.Advance(time.Second)
		w.as(api.Destroy)
	}
	if first.get("/buckets").status == http.StatusOK || second.get("/buckets").status != http.StatusOK || other.get("/buckets").status != http.StatusOK {
		t.Error("the twenty-first session does not take the place of the first, or of another's")
	}
}

// Two cookies with the session's name are no session: another port of the host may have planted one,
// for a narrower path.
func TestAPlantedCookieIsRefused(t *testing.T) {
	w := start(t)
	v := w.as(api.Destroy)
	if res := v.get("/"); res.status != http.StatusOK {
		t.Fatalf("the session is answered with %d", res.status)
	}
	kept := v.http.Jar.Cookies(mustParse(w.url))
	v.header.Set("Cookie", kept[0].Name+"=planted")
	if res := v.get("/"); res.status == http.StatusOK {
		t.Error("a session goes on beside a planted one")
	}
}

// A cookie is for the browser's requests to this host alone; over TLS it says so.
func TestCookies(t *testing.T) {
	behind := start(t, "server.trusted_proxies=127.0.0.1")
	w := behind
	port := mustParse(w.url).Port()
	for proto, want := range map[string]string{"http": "lethe-console-" + port, "https": "__Host-lethe-console-" + port} {
		v := w.visitor()
		v.header.Set("X-Forwarded-Proto", proto)
		v.header.Set("X-Forwarded-For", "192.0.2.7")
		res := v.post("/login", url.Values{"key": {rootKey}, "secret": {rootSecret}})
		c, err := http.ParseSetCookie(res.header.Get("Set-Cookie"))
		w.must(err)
		if c.Name != want || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure != (proto == "https") || c.Domain != "" {
			t.Errorf("%s: %s", proto, c)
		}
		if id, err := base64.RawURLEncoding.DecodeString(c.Value); err != nil || len(id) != 32 {
			t.Errorf("%s: the id is %q", proto, c.Value)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.must(free.Close())
	w = start(t, "server.console.listen="+free.Addr().String(), "server.console.public_url=https://lethe.example.org")
	w.url = "http://" + free.Addr().String()
	for host, want := range map[string]bool{"Lethe.example.org": true, "lethe.example.org:443": true, "localhost": false} {
		v := w.visitor()
		v.host = host
		c, err := http.ParseSetCookie(v.post("/login", url.Values{"key": {rootKey}, "secret": {rootSecret}}).header.Get("Set-Cookie"))
		w.must(err)
		if c.Secure != want || strings.HasPrefix(c.Name, "__Host-") != want {
			t.Errorf("by the name %s: %s", host, c)
		}
	}
	if !strings.Contains(behind.log.String(), `"from":"192.0.2.7"`) {
		t.Error("audit lines do not name the client behind the proxy")
	}
}
