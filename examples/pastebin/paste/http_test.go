package paste

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// web is a site behind HTTP.
type web struct {
	*site
	url string
}

func newWeb(t *testing.T, change ...func(*Config)) *web {
	t.Helper()
	e := newSite(t, change...)
	h, err := NewHandler(e.Store, HandlerConfig{Secret: []byte("0123456789abcdef"), MaxSize: 100, TTL: time.Minute, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return &web{e, server.URL}
}

// send makes a request; key is the owner's, "" for none.
func (w *web) send(method, path, body, key string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp, string(text)
}

// wants makes a request and demands the status and, unless it is "", the body.
func (w *web) wants(request [4]string, status int, body string) {
	w.t.Helper()
	resp, text := w.send(request[0], request[1], request[2], request[3])
	if resp.StatusCode != status || body != "" && text != body {
		w.t.Errorf("%s %s: %d %q, want %d %q", request[0], request[1], resp.StatusCode, text, status, body)
	}
}

// post makes a paste and returns what the service tells of it.
func (w *web) post(query, body string) answer {
	w.t.Helper()
	resp, text := w.send("POST", "/"+query, body, "")
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil || resp.StatusCode != http.StatusCreated {
		w.t.Fatalf("POST /%s: %d %q", query, resp.StatusCode, text)
	}
	if got := resp.Header.Get("Location"); got != "/"+a.Code {
		w.t.Errorf("Location is %q, want /%s", got, a.Code)
	}
	return a
}

// TestHTTP goes through the life of a paste.
func TestHTTP(t *testing.T) {
	w := newWeb(t)
	a := w.post("?ttl=1h", "text")
	path, key := "/"+a.Code, a.OwnerKey
	w.wants([4]string{"GET", path}, 200, "text")
	w.wants([4]string{"HEAD", path}, 200, "")
	resp, _ := w.send("GET", path, "", "")
	for header, want := range map[string]string{"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if got := resp.Header.Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
	w.wants([4]string{"PUT", path, "other", key}, 200, "")
	w.wants([4]string{"GET", path}, 200, "other")
	w.wants([4]string{"PUT", path + "/ttl?ttl=never", "", key}, 200, `{"code":"`+a.Code+`","expires_at":null}`+"\n")
	w.wants([4]string{"PUT", path + "/ttl?ttl=1ms", "", key}, 200, "")
	for ask[bool](t, w.db, `SELECT expires_at > clock_timestamp() FROM pastes`) {
	}
	w.wants([4]string{"GET", path}, 404, "")
	w.wants([4]string{"PUT", path + "/ttl?ttl=1h", "", key}, 200, "")
	w.wants([4]string{"GET", path}, 200, "other")
	w.wants([4]string{"DELETE", path, "", key}, 204, "")
	w.wants([4]string{"GET", path}, 404, "")
	w.wants([4]string{"DELETE", path, "", key}, 404, "")
	demandCounts(t, w.site)
	if d := w.post("", "by default"); d.ExpiresAt == nil {
		t.Error("a paste for which no life is asked never ends")
	}
	if n := w.post("?ttl=never", "for ever"); n.ExpiresAt != nil {
		t.Errorf("a paste that never ends ends at %v", n.ExpiresAt)
	}
}

// TestHTTPRefuses what makes no sense, and who is not the owner.
func TestHTTPRefuses(t *testing.T) {
	w := newWeb(t)
	a, b := w.post("", "a"), w.post("", "b")
	path := "/" + a.Code
	for _, c := range []struct {
		request [4]string
		status  int
	}{
		{[4]string{"POST", "/", ""}, 400},
		{[4]string{"POST", "/", strings.Repeat("x", 101)}, 413},
		{[4]string{"POST", "/", strings.Repeat("x", 100)}, 201},
		{[4]string{"POST", "/?ttl=soon", "x"}, 400},
		{[4]string{"POST", "/?ttl=-1h", "x"}, 400},
		{[4]string{"POST", "/?ttl=0", "x"}, 400},
		{[4]string{"POST", "/?ttl=", "x"}, 400},
		{[4]string{"PUT", path, "x"}, 401},
		{[4]string{"PUT", path, "x", b.OwnerKey}, 403},
		{[4]string{"PUT", path, "", a.OwnerKey}, 400},
		{[4]string{"PUT", path, strings.Repeat("x", 101), a.OwnerKey}, 413},
		{[4]string{"PUT", path + "/ttl?ttl=1h", ""}, 401},
		{[4]string{"PUT", path + "/ttl?ttl=1h", "", b.OwnerKey}, 403},
		{[4]string{"PUT", path + "/ttl", "", a.OwnerKey}, 400},
		{[4]string{"DELETE", path, ""}, 401},
		{[4]string{"DELETE", path, "", b.OwnerKey}, 403},
		{[4]string{"GET", "/%00", ""}, 404},
		{[4]string{"GET", "/a/b/c", ""}, 404},
		{[4]string{"PATCH", path, ""}, 405},
		{[4]string{"GET", "/", ""}, 200},
	} {
		w.wants(c.request, c.status, "")
	}
	w.wants([4]string{"GET", path}, 200, "a")
	if _, err := NewHandler(w.Store, HandlerConfig{Secret: []byte("short")}); err == nil {
		t.Error("a secret of five bytes was accepted")
	}
}

// TestHTTPFaults: what is not the client's fault is told apart from a paste that is
// not there, and shows nothing of the inside.
func TestHTTPFaults(t *testing.T) {
	w := newWeb(t)
	a := w.post("", "a")
	w.loseObject("a")
	w.wants([4]string{"GET", "/" + a.Code}, 500, "the bytes of this paste are damaged or missing\n")
	w.db.Close()
	const later = "the service cannot do this at the moment; try again\n"
	w.wants([4]string{"GET", "/" + a.Code}, 503, later)
	w.wants([4]string{"POST", "/", "x"}, 503, later)
	w.wants([4]string{"DELETE", "/" + a.Code, "", a.OwnerKey}, 503, later)
}
