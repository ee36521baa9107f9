package console_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
)

// visitor is a client without scripts. It does not follow redirects.
type visitor struct {
	w      *world
	http   *http.Client
	header http.Header
	host   string
}

func (w *world) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &visitor{w: w, header: http.Header{}, http: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// as returns a visitor who has logged in with a role.
func (w *world) as(role api.Role) *visitor {
	w.t.Helper()
	v := w.visitor()
	key, secret := "", ""
	if role == api.Destroy {
		key, secret = rootKey, rootSecret
	} else {
		secret = w.token("who-may-"+string(role), role)
	}
	if res := v.post("/login", url.Values{"key": {key}, "secret": {secret}}); res.status != http.StatusSeeOther {
		w.t.Fatalf("login: %d %s", res.status, res.body)
	}
	return v
}

// reply is a response that was read.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) to() string { return r.header.Get("Location") }

func (v *visitor) send(method, path, media string, body io.Reader) reply {
	v.w.t.Helper()
	r, err := http.NewRequestWithContext(v.w.ctx, method, v.w.url+path, body)
	v.w.must(err)
	for name, values := range v.header {
		r.Header[name] = values
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if v.host != "" {
		r.Host = v.host
	}
	res, err := v.http.Do(r)
	v.w.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	v.w.must(err)
	return reply{res.StatusCode, res.Header, string(text)}
}

func (v *visitor) get(path string) reply {
	v.w.t.Helper()
	return v.send(http.MethodGet, path, "", nil)
}

func (v *visitor) post(path string, form url.Values) reply {
	v.w.t.Helper()
	return v.send(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

var tokenField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// token is that of the session's forms.
func (v *visitor) token() string {
	v.w.t.Helper()
	found := tokenField.FindStringSubmatch(v.get("/buckets").body)
	if found == nil {
		v.w.t.Fatal("the page has no form of the session")
	}
	return found[1]
}

// act sends a form with the session's token.
func (v *visitor) act(path string, fields ...string) reply {
	v.w.t.Helper()
	form := url.Values{"csrf": {v.token()}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return v.post(path, form)
}

// upload sends a form with files, its token and other fields first.
func (v *visitor) upload(path, token, ttl string, files map[string]string, also ...string) reply {
	v.w.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	v.w.must(form.WriteField("csrf", token))
	v.w.must(form.WriteField("ttl", ttl))
	for i := 0; i+1 < len(also); i += 2 {
		v.w.must(form.WriteField(also[i], also[i+1]))
	}
	for name, content := range files {
		part, err := form.CreateFormFile("file", name)
		v.w.must(err)
		_, err = io.WriteString(part, content)
		v.w.must(err)
	}
	v.w.must(form.Close())
	return v.send(http.MethodPost, path, form.FormDataContentType(), &body)
}

// at is an address of an object in the console.
func at(path, bucket, key string) string {
	return path + "?" + url.Values{"bucket": {bucket}, "key": {key}}.Encode()
}

func (w *world) explain(bucket, key string) api.Explanation {
	w.t.Helper()
	e, err := w.admin.Explain(w.ctx, api.ObjectName{Bucket: bucket, Key: key})
	w.must(err)
	return e
}
