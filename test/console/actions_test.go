package console_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/object"
)

// hostile are keys that affect a page, an address or a form.
var hostile = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "../../etc/passwd", "./a/../b", "/leading", "a//b", "100%", "%2e%2e%2f", "a b+c", "q?x=1&y#z",
	"two\nlines", "back\rover", "a\ttab", "turned\u202egpj.exe", "zero\u200bwidth", "clear\x1b[2Jed", "日本語/鍵", "emoji 🌊", "'; DROP TABLE objects; --", "javascript:alert(1)",
	"{{.}}", "a\\b", strings.Repeat("long/", 100),
}

// Any key has a page, which shows it without effect, and can be deleted there.
func TestHostileKeys(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.as(api.Destroy)
	for _, key := range hostile {
		w.put("photos", key, "<b>bytes</b>", "")
	}
	list := v.get("/bucket?name=photos&flat=1").body
	for _, key := range hostile {
		link := html.EscapeString(at("/object", "photos", key))
		if !strings.Contains(list, `href="`+link+`"`) {
			t.Errorf("%q: the list has no link %s", key, link)
		}
		res := v.get(at("/object", "photos", key))
		if res.status != http.StatusOK || !strings.Contains(res.body, "Here until a client deletes") {
			t.Errorf("%q: %d", key, res.status)
		}
		harmless(t, key, res.body)
		version := w.explain("photos", key).Object.ID
		if res = v.act(at("/object/delete", "photos", key), "version", version); res.status != http.StatusSeeOther {
			t.Errorf("%q: %d", key, res.status)
		}
		if w.explain("photos", key).Object != nil {
			t.Errorf("%q is still there: %s", key, v.get(res.to()).body)
		}
	}
	harmless(t, "the list", list)
	for _, bad := range []string{"a\x00b", "", "\xff"} {
		if res := v.get(at("/object", "photos", bad)); res.status >= 500 {
			t.Errorf("%q: %d", bad, res.status)
		}
	}
}

var tags = regexp.MustCompile(`<script>|onerror=a|<b>bytes|[\x00-\x08\x0b-\x1f\x7f]|\x{202e}|\x{200b}`)

// harmless reports what an untrusted text could do in a page.
func harmless(t *testing.T, what, page string) {
	t.Helper()
	// Within attributes and texts a quoted tag is escaped; the forms' addresses are encoded.
	for _, found := range tags.FindAllString(strings.ReplaceAll(page, "onerror=alert", "onerror=A"), -1) {
		t.Errorf("%q: the page has %q", what, found)
	}
}

// A role sees only what it can do, and can do no more by sending forms itself.
func TestRoles(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	w.put("photos", "a", "bytes", "1h")
	page, content := at("/object", "photos", "a"), at("/content", "photos", "a")
	_, err := api.Call[api.HoldInfo](w.ctx, w.admin, "holds/add", api.HoldRequest{Bucket: "photos", Prefix: "a", Reason: "kept"})
	w.must(err)
	version := w.explain("photos", "a").Object.ID
	allowed := map[api.Role][]string{
		api.Read: {}, api.Operate: {"/object/hold"},
		api.Destroy: {"/object/hold", "/object/ttl", "/object/delete", "/object/share", "/bucket/settings", "/bucket/upload"},
	}
	for role, can := range allowed {
		v := w.as(role)
		shown := v.get(page).body + v.get("/bucket?name=photos").body
		for _, path := range allowed[api.Destroy] {
			want := false
			for _, c := range can {
				want = want || c == path
			}
			if strings.Contains(shown, `action="`+path) != want {
				t.Errorf("%s: the form %s is shown: %v", role, path, !want)
			}
			if want {
				continue
			}
			if path == "/bucket/upload" {
				v.upload(path+"?name=photos", v.token(), "", map[string]string{"new": "x"})
			} else if res := v.act(at(path, "photos", "a")+"&name=photos", "version", version, "ttl", "1d", "valid", "1h"); res.status != http.StatusForbidden {
				t.Errorf("%s may %s: %d", role, path, res.status)
			}
		}
		if res := v.get(content); (res.status == http.StatusOK) != (role == api.Destroy) || role != api.Destroy && strings.Contains(shown, "bytes</pre>") {
			t.Errorf("%s reads bytes: %d", role, res.status)
		}
	}
	if e := w.explain("photos", "a"); e.Object == nil || e.Object.TTLAt.Sub(e.Now).Hours() > 1 || w.explain("photos", "new").Object != nil {
		t.Error("a role did what it may not")
	}
}

// What is done from the console leaves the audit lines of the API, and receipts name the
// operator.
func TestAuditLines(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	w.put("photos", "a", "bytes", "")
	v := w.as(api.Destroy)
	v.act(at("/object/hold", "photos", "a"), "reason", "a lawyer")
	if res := v.act(at("/object/delete", "photos", "a"), "version", w.explain("photos", "a").Object.ID); !strings.Contains(v.get(res.to()).body, `role="alert"`) {
		t.Error("a held object was deleted, or nobody is told why not")
	}
	v.act(at("/object/release", "photos", "a"))
	v.act(at("/object/ttl", "photos", "a"), "ttl", "2d")
	v.act(at("/object/delete", "photos", "a"), "version", "another")
	if w.explain("photos", "a").Object == nil {
		t.Fatal("another version was deleted")
	}
	v.act(at("/object/delete", "photos", "a"), "version", w.explain("photos", "a").Object.ID)
	e := w.explain("photos", "a")
	if e.Object != nil || len(e.Gone) != 1 || e.Gone[0].Receipt.By.Key != "root" {
		t.Fatalf("%+v", e)
	}
	log := w.log.String()
	for _, route := range []string{"holds/add", "holds/remove", "ttl/set", "console/delete"} {
		if !regexp.MustCompile(`"admin_change".*"who":"root".*"route":"` + route + `"`).MatchString(log) {
			t.Errorf("%s has no audit line", route)
		}
	}
	page := v.get(at("/object", "photos", "a")).body
	if !strings.Contains(page, "Went") || !strings.Contains(page, "by root") {
		t.Error("the page does not tell who deleted it")
	}
}

// What was deleted can be restored where the bucket keeps it.
func TestUndo(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.as(api.Destroy)
	if res := v.act("/bucket/settings?name=photos", "undo", "1d", "quota", "10MiB", "objects", "7", "default_ttl", "2d"); res.status != http.StatusSeeOther {
		t.Fatal(res.status)
	}
	list, err := api.Call[[]api.Bucket](w.ctx, w.admin, "buckets/list", api.None{})
	w.must(err)
	if b := list[0]; b.Undo != "1d" || b.QuotaBytes != 10<<20 || b.QuotaObjects != 7 || b.DefaultTTL != "2d" || b.MaxTTL != "" {
		t.Errorf("%+v", b)
	}
	w.put("photos", "a", "bytes", "")
	v.act(at("/object/delete", "photos", "a"), "version", w.explain("photos", "a").Object.ID)
	page := v.get(at("/object", "photos", "a")).body
	entry := regexp.MustCompile(`name="entry" value="([^"]+)"`).FindStringSubmatch(page)
	if entry == nil {
		t.Fatal("nothing can be undone")
	}
	v.act(at("/object/restore", "photos", "a"), "entry", entry[1])
	if w.explain("photos", "a").Object == nil {
		t.Error("it was not restored")
	}
}

// Uploads are stored as they come, with their end.
func TestUpload(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.as(api.Destroy)
	res := v.upload("/bucket/upload?name=photos&prefix=new%2F", v.token(), "2d", map[string]string{"a.txt": "one", "../b.txt": "two"})
	if res.status != http.StatusSeeOther || !strings.Contains(v.get(res.to()).body, "2 files were stored") {
		t.Errorf("%d to %s", res.status, res.to())
	}
	for key, want := range map[string]string{"new/a.txt": "one", "new/b.txt": "two"} {
		r, err := w.app.Objects.Get(w.ctx, object.GetRequest{Bucket: "photos", Key: key})
		w.must(err)
		body, err := io.ReadAll(r.Body)
		w.must(err)
		w.must(r.Body.Close())
		if string(body) != want || r.Object.TTLAt == 0 {
			t.Errorf("%s: %q, ends %s", key, body, r.Object.TTLAt)
		}
	}
	if res := v.upload("/bucket/upload?name=photos", v.token(), "soon", map[string]string{"c": "x"}); !strings.Contains(v.get(res.to()).body, `role="alert"`) {
		t.Error("a wrong time to live is not refused")
	}
}

// Bytes of clients do nothing in a browser: only images that are images are shown.
func TestContentIsInert(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100)
	for key, body := range map[string]string{
		"page.html": "<html><script>alert(1)</script>", "image.svg": `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`,
		"image.png": png, "lie.png": "<html>", "notes.txt": "text", "x.pdf": "%PDF-1.4",
	} {
		w.put("photos", key, body, "")
		v := w.as(api.Destroy)
		res := v.get(at("/content", "photos", key))
		inline := res.header.Get("Content-Disposition") == ""
		if inline != (key == "image.png") || res.body != body || !strings.Contains(res.header.Get("Content-Security-Policy"), "sandbox") ||
			res.header.Get("X-Content-Type-Options") != "nosniff" || res.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", key, res.header)
		}
		if want := map[bool]string{true: "image/png", false: "application/octet-stream"}[inline]; res.header.Get("Content-Type") != want {
			t.Errorf("%s: %s", key, res.header.Get("Content-Type"))
		}
		if res := v.get(at("/content", "photos", key) + "&download=1"); !strings.HasPrefix(res.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %v", key, res.header)
		}
	}
}

var link = regexp.MustCompile(`<code tabindex="0">(http[^<]+)</code>`)

// A link that is shared reads the object by S3 without a key.
func TestShare(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.as(api.Destroy)
	for i, key := range []string{"plain.txt", "a b+c/ü?&%25.txt"} {
		w.put("photos", key, fmt.Sprint("bytes ", i), "")
		res := v.act(at("/object/share", "photos", key), "valid", "1h")
		found := link.FindStringSubmatch(v.get(res.to()).body)
		if found == nil {
			t.Fatalf("%s: no link", key)
		}
		got, err := http.Get(html.UnescapeString(found[1]))
		w.must(err)
		body, err := io.ReadAll(got.Body)
		w.must(err)
		w.must(got.Body.Close())
		if string(body) != fmt.Sprint("bytes ", i) {
			t.Errorf("%s: %d %s", found[1], got.StatusCode, body)
		}
		if strings.Contains(v.get(at("/object", "photos", key)).body, "X-Amz-Signature") {
			t.Error("the link is shown again")
		}
	}
	if res := v.act(at("/object/share", "photos", "plain.txt"), "valid", "8d"); !strings.Contains(v.get(res.to()).body, "up to 7d") {
		t.Error("a link is valid for longer than S3 allows")
	}
}
