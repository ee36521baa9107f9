package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// gated is an API that requires tokens, with a bootstrap token and a clock for
// failures.
type gated struct {
	t     *testing.T
	srv   *httptest.Server
	log   *lines
	clock *clocktest.Clock
}

func newGated(t *testing.T) *gated {
	g := &gated{t: t, log: &lines{}, clock: clocktest.At(1_800_000_000_000_000)}
	g.srv = httptest.NewServer(service.Handler(newServiceWith(t, g.log.audit, g.clock), service.Access{Token: "bootstrap"}))
	t.Cleanup(g.srv.Close)
	return g
}

func (g *gated) as(token, call, body string) (int, string) {
	g.t.Helper()
	return send(g.t, g.srv.URL, call, body, "Authorization", "Bearer "+token)
}

// token creates a token by the bootstrap token.
func (g *gated) token(name, role, ttl string) string {
	g.t.Helper()
	body, err := json.Marshal(api.TokenRequest{Name: name, Role: api.Role(role), TTL: ttl})
	if err != nil {
		g.t.Fatal(err)
	}
	code, answer := g.as("bootstrap", "tokens/add", string(body))
	var k api.NewToken
	if err := json.Unmarshal([]byte(answer), &k); err != nil || code != http.StatusOK {
		g.t.Fatalf("%d %s %v", code, answer, err)
	}
	return k.Text
}

// Each role opens its own routes and those of the roles before it, and no
// other.
func TestRolesOpenTheirRoutes(t *testing.T) {
	g := newGated(t)
	order := []api.Role{api.Read, api.Operate, api.Destroy}
	for rank, role := range order {
		token := g.token("of-"+string(role), string(role), "")
		for needed, which := range order {
			for _, r := range api.Routes() {
				if r.Role != which || r.Request == nil {
					continue
				}
				code, body := g.as(token, r.Name, "{}")
				if (code == http.StatusForbidden) != (needed > rank) {
					t.Errorf("%s with the role %s: %d %s", r.Name, role, code, body)
				}
				if needed > rank && !strings.Contains(body, "needs "+string(which)) {
					t.Errorf("%s: the refusal does not say what is needed: %s", r.Name, body)
				}
				if code == http.StatusUnauthorized {
					t.Errorf("%s with the role %s: %d %s", r.Name, role, code, body)
				}
			}
		}
	}
	if told := g.log.take("admin_denied"); len(told) == 0 || told[0].attrs["who"] != "of-read" || !strings.Contains(told[0].reason, "needs the role") {
		t.Errorf("denials are told as %v", told)
	}
}

// A removed, expired or slightly wrong token opens nothing.
func TestInvalidTokensAreRefused(t *testing.T) {
	g := newGated(t)
	token, brief := g.token("watcher", "read", ""), g.token("brief", "destroy", "1us")
	if code, body := g.as(token, "whoami", ""); code != http.StatusOK || !strings.Contains(body, `"watcher"`) || !strings.Contains(body, `"read"`) {
		t.Fatalf("%d %s", code, body)
	}
	g.token("another", "read", "") // the ledger's clock advances
	for name, bad := range map[string]string{
		"cut": token[:len(token)-1], "longer": token + "a", "upper": strings.ToUpper(token),
		"id only": strings.Join(strings.Split(token, "_")[:2], "_"), "other secret": token[:len(token)-26] + strings.Repeat("a", 26),
	} {
		if code, body := g.as(bad, "whoami", ""); code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if code, body := g.as(brief, "whoami", ""); code != http.StatusUnauthorized || !strings.Contains(body, "expired") {
		t.Errorf("expired: %d %s", code, body)
	}
	if code, body := g.as("bootstrap", "tokens/remove", `{"name":"watcher"}`); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := g.as(token, "whoami", ""); code != http.StatusUnauthorized {
		t.Errorf("removed: %d %s", code, body)
	}
}

// No text of a token is in a response but the first, nor in an audit line.
func TestTokensStaySecret(t *testing.T) {
	g := newGated(t)
	token := g.token("watcher", "read", "90d")
	secret := token[len(token)-26:]
	_, list := g.as("bootstrap", "tokens/list", "")
	_, again := g.as("bootstrap", "tokens/add", `{"name":"watcher","role":"read"}`)
	_, _ = g.as(token, "backends/hold", `{"id":"main"}`)
	if !strings.Contains(list, "watcher") || strings.Contains(list+again, secret) || !strings.Contains(again, "token_exists") {
		t.Errorf("%s %s", list, again)
	}
	g.log.mu.Lock()
	defer g.log.mu.Unlock()
	for _, l := range g.log.list {
		for k, v := range l.attrs {
			if strings.Contains(v, secret) {
				t.Errorf("%s: %s holds the token: %s", l.event, k, v)
			}
		}
	}
}

// Guessing is limited before the ledger is read, and does not fill the log. A
// valid token is accepted as soon as the address is below the limit again, and
// the bootstrap token always.
func TestGuessingIsLimited(t *testing.T) {
	g := newGated(t)
	token := g.token("watcher", "read", "")
	g.log.take("")
	refused := 0
	for range 100 {
		if code, _ := g.as("lethe_abcdefghij_wrong", "status", ""); code == http.StatusTooManyRequests {
			refused++
		}
	}
	told := g.log.take("admin_denied")
	if refused != 90 || len(told) != 10 || told[0].attrs["from"] == "" || told[0].attrs["route"] != "status" {
		t.Errorf("%d of 100 were refused for being too many, %d left audit lines: %v", refused, len(told), told)
	}
	if code, body := g.as(token, "whoami", ""); code != http.StatusTooManyRequests || !strings.Contains(body, "wait") {
		t.Errorf("a token from that address: %d %s", code, body)
	}
	if code, _ := g.as("bootstrap", "whoami", ""); code != http.StatusOK {
		t.Errorf("the bootstrap token from that address: %d", code)
	}
	g.clock.Advance(10 * time.Second)
	if code, _ := g.as(token, "whoami", ""); code != http.StatusOK {
		t.Errorf("after a while: %d", code)
	}
	_, _ = g.as("lethe_abcdefghij_wrong", "status", "")
	if told = g.log.take("admin_denied"); len(told) != 1 || told[0].attrs["unlogged"] != "91" {
		t.Errorf("told %v", told)
	}
}

// Nonsensical requests are refused with what to do.
func TestTokensAreChecked(t *testing.T) {
	g := newGated(t)
	for body, want := range map[string]string{
		`{}`:                                      "no name of a token",
		`{"name":"root","role":"read"}`:           "no name of a token",
		`{"name":"a b","role":"read"}`:            "no name of a token",
		`{"name":"a","role":"admin"}`:             "read, operate or destroy",
		`{"name":"a","role":"read","ttl":"soon"}`: "ttl",
	} {
		if code, answer := g.as("bootstrap", "tokens/add", body); code != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", body, code, answer)
		}
	}
	if code, answer := g.as("bootstrap", "tokens/remove", `{"name":"none"}`); code != http.StatusNotFound || !strings.Contains(answer, "no_such_token") {
		t.Errorf("%d %s", code, answer)
	}
}

// Callers without a token do not use up the limit of those with one.
func TestCallsWithoutATokenDoNotCountAsGuesses(t *testing.T) {
	g := newGated(t)
	token := g.token("watcher", "read", "")
	for range 100 {
		for _, none := range []string{"", "nonsense"} {
			if code, _ := g.as(none, "status", ""); code != http.StatusUnauthorized {
				t.Fatalf("%q: %d", none, code)
			}
		}
	}
	if code, body := g.as(token, "whoami", ""); code != http.StatusOK {
		t.Errorf("a token from that address: %d %s", code, body)
	}
}

// A recently valid token is accepted while others of the address guess. Clients
// behind a trusted proxy are distinguished, and only that may name one.
func TestGoodTokensPassWhereOthersGuess(t *testing.T) {
	g := newGated(t)
	used, fresh := g.token("used", "read", ""), g.token("fresh", "read", "")
	if code, body := g.as(used, "whoami", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	for i := range 12 {
		g.as(used[:len(used)-26]+strings.Repeat("a", 25)+string(rune('a'+i)), "whoami", "")
	}
	for token, want := range map[string]int{used: http.StatusOK, fresh: http.StatusTooManyRequests} {
		if code, body := g.as(token, "whoami", ""); code != want {
			t.Errorf("%d %s, want %d", code, body, want)
		}
	}
	if code, body := g.as("bootstrap", "tokens/remove", `{"name":"used"}`); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, _ := g.as(used, "whoami", ""); code != http.StatusUnauthorized {
		t.Errorf("removed: %d", code)
	}
	if code, _ := g.as(used, "whoami", ""); code != http.StatusTooManyRequests {
		t.Errorf("removed, again: %d", code)
	}
}

func TestClientsBehindAProxyAreDistinguished(t *testing.T) {
	log, clock := &lines{}, clocktest.At(1_800_000_000_000_000)
	for _, c := range []struct {
		trusted []netip.Prefix
		want    int
	}{
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, http.StatusUnauthorized}, {nil, http.StatusTooManyRequests},
	} {
		srv := httptest.NewServer(service.Handler(newServiceWith(t, log.audit, clock), service.Access{Token: "bootstrap", TrustedProxies: c.trusted}))
		t.Cleanup(srv.Close)
		body, _ := json.Marshal(api.TokenRequest{Name: "x", Role: api.Read})
		_, answer := send(t, srv.URL, "tokens/add", string(body), "Authorization", "Bearer bootstrap")
		var k api.NewToken
		if err := json.Unmarshal([]byte(answer), &k); err != nil {
			t.Fatal(err)
		}
		bad := k.Text[:len(k.Text)-26] + strings.Repeat("b", 26)
		ask := func(from string) int {
			code, _ := send(t, srv.URL, "whoami", "", "Authorization", "Bearer "+bad, "X-Forwarded-For", from)
			return code
		}
		for i := range 12 {
			ask(fmt.Sprintf("2001:db8:0:1::%d", i+1)) // one household
		}
		if code := ask("2001:db8:0:1::99"); code != http.StatusTooManyRequests {
			t.Errorf("another address of the same household: %d", code)
		}
		if code := ask("192.0.2.1"); code != c.want {
			t.Errorf("trusted %v: another client got %d, want %d", c.trusted, code, c.want)
		}
	}
}
