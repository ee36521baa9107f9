package console_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/console"
)

var formOf = regexp.MustCompile(`action="(/[^"?]*)`)

// open are forms that need no role.
var openForms = map[string]bool{"/theme": true, "/logout": true, "/login": true, "/object": true}

// Every page and every form is for its role: a lesser one is refused, and offered no such form.
func TestRoles(t *testing.T) {
	w := troubled(t)
	needs := map[string]api.Role{}
	for _, r := range console.Routes() {
		needs[r.Method+" "+r.Path] = r.Role
	}
	const object = "?bucket=photos&key=readme.txt&name=photos"
	offered := map[string]bool{}
	for _, role := range []api.Role{api.Read, api.Operate, api.Destroy} {
		v := w.as(role)
		for _, p := range pictured() {
			body := v.get(p.path).body
			if !strings.Contains(body, "The same in a shell") {
				t.Errorf("%s has no command that does the same", p.path)
			}
			for _, form := range formOf.FindAllStringSubmatch(body, -1) {
				need, known := needs["POST "+form[1]]
				if _, page := needs["GET "+form[1]]; !known && !page && !openForms[form[1]] {
					t.Errorf("%s: the form %s leads nowhere", p.path, form[1])
				}
				if known && !role.Allows(need) && needs["GET "+form[1]] == "" {
					t.Errorf("%s: %s is offered to the role %s", p.path, form[1], role)
				}
				offered[form[1]] = true
			}
		}
		for _, r := range console.Routes() {
			if role.Allows(r.Role) {
				continue
			}
			res := v.get(r.Path + object)
			if r.Method == http.MethodPost {
				res = v.act(r.Path+object, "ttl", "1d", "valid", "1h", "id", "main", "name", "more", "role", "destroy")
			}
			if r.Path == "/bucket/upload" {
				res = v.upload(r.Path+object, v.token(), "", map[string]string{"new": "x"})
				if w.explain("photos", "new").Object != nil {
					t.Errorf("the role %s uploads", role)
				}
				continue
			}
			if res.status != http.StatusForbidden || strings.Contains(res.body, "Pictures of the sea") {
				t.Errorf("%s %s by the role %s: %d", r.Method, r.Path, role, res.status)
			}
		}
	}
	for _, r := range console.Routes() {
		if r.Method == http.MethodPost && !offered[r.Path] && !strings.HasPrefix(r.Path, "/backends/") && r.Path != "/plans/apply" && r.Path != "/rules/set" {
			t.Errorf("no page has the form %s", r.Path)
		}
	}
	if e := w.explain("photos", "readme.txt"); e.Object == nil || len(e.Holds) != 1 {
		t.Error("a role did what it may not")
	}
}

// Every page and every form needs a session, and every form the session's token.
func TestRoutesNeedASession(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	stranger, v := w.visitor(), w.as(api.Destroy)
	for _, r := range console.Routes() {
		res := stranger.send(r.Method, r.Path, "application/x-www-form-urlencoded", strings.NewReader("csrf=x"))
		if res.status != http.StatusSeeOther || !strings.HasPrefix(res.to(), "/login") {
			t.Errorf("%s %s without a session: %d to %q", r.Method, r.Path, res.status, res.to())
		}
		if r.Method != http.MethodPost {
			continue
		}
		res = v.post(r.Path, url.Values{"csrf": {"wrong"}})
		if r.Path == "/bucket/upload" {
			res = v.upload(r.Path+"?name=photos", "wrong", "", map[string]string{"new": "x"})
		}
		if res.status != http.StatusForbidden {
			t.Errorf("%s with a wrong token: %d", r.Path, res.status)
		}
	}
}

// An operator who loses the permission during an upload stores nothing with it.
func TestAnUploadEndsWithItsPermission(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.visitor()
	secret := w.token("uploader", api.Destroy)
	if res := v.post("/login", url.Values{"secret": {secret}}); res.status != http.StatusSeeOther {
		t.Fatal(res.status)
	}
	token := v.token()
	body, pipe := io.Pipe()
	go func() {
		write := func(text string) {
			_, err := io.WriteString(pipe, text)
			_ = err // the reader says what went wrong
		}
		write("--b\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n" + token + "\r\n--b\r\n" +
			"Content-Disposition: form-data; name=\"file\"; filename=\"new\"\r\n\r\n" + strings.Repeat("x", 1<<20))
		if _, err := api.Call[api.None](w.ctx, w.admin, "tokens/remove", api.TokenName{Name: "uploader"}); err != nil {
			t.Error(err)
		}
		write("the end\r\n--b--\r\n")
		_ = pipe.Close()
	}()
	v.send(http.MethodPost, "/bucket/upload?name=photos", "multipart/form-data; boundary=b", body)
	if w.explain("photos", "new").Object != nil {
		t.Error("what a removed token sent is stored")
	}
}
