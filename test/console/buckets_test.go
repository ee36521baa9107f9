package console_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/lethe-storage/lethe/admin/api"
)

func (w *world) bucketNamed(name string) *api.Bucket {
	w.t.Helper()
	list, err := api.Call[[]api.Bucket](w.ctx, w.admin, "buckets/list", api.None{})
	w.must(err)
	for _, b := range list {
		if b.Name == name {
			return &b
		}
	}
	return nil
}

// A bucket is made with its settings. What is refused is shown beside the form, which keeps
// what was typed.
func TestANewBucket(t *testing.T) {
	w := start(t, "store.new_buckets.max_objects=9", "store.undo=1d")
	v := w.as(api.Destroy)
	res := v.act("/buckets/make", "name", " photos ", "default_ttl", "30d", "undo", "none", "quota", "2GiB")
	if res.to() != "/bucket?name=photos" || !strings.Contains(v.get(res.to()).body, "The bucket was made") {
		t.Fatalf("%d to %s: %s", res.status, res.to(), res.body)
	}
	if b := w.bucketNamed("photos"); b.DefaultTTL != "30d" || b.Undo != "" || b.QuotaBytes != 2<<30 || b.QuotaObjects != 9 || b.MaxTTL != "" || b.Owner != rootKey {
		t.Errorf("%+v", b)
	}
	v.act("/buckets/make", "name", "logs")
	if b := w.bucketNamed("logs"); b == nil || b.Undo != "1d" {
		t.Errorf("%+v", b)
	}
	for name, bad := range map[string][]string{
		"a bucket of this name": {"name", "photos"}, "3 to 63": {"name", "No Bucket"}, "soon": {"name", "other", "max_ttl", "soon"},
		"such as 10GiB": {"name", "other", "quota", "<much>"}, "no number of objects": {"name", "other", "objects", "-1"},
	} {
		res := v.act("/buckets/make", append(bad, "default_ttl", "77d")...)
		if res.status != http.StatusOK || !strings.Contains(res.body, `role="alert"`) || !strings.Contains(res.body, name) || !strings.Contains(res.body, `value="77d"`) || strings.Contains(res.body, "<much>") {
			t.Errorf("%s: %d %s", name, res.status, res.body)
		}
	}
	if w.bucketNamed("other") != nil || w.bucketNamed("photos").DefaultTTL != "30d" {
		t.Error("a form that was refused had an effect")
	}
	if !regexp.MustCompile(`"admin_change".*"who":"root".*"route":"console/bucket"`).MatchString(w.log.String()) {
		t.Error("a new bucket leaves no audit line")
	}
	if page := w.as(api.Read).get("/buckets").body; strings.Contains(page, "/buckets/make") || !strings.Contains(page, "s3 mb") {
		t.Error("a reader is offered to make a bucket, or sees no command")
	}
}

var editorText = regexp.MustCompile(`(?s)<textarea id="(\w+)"[^>]*>(.*?)</textarea>`)

// typed returns the text of an editor on a page.
func typed(page, id string) string {
	for _, found := range editorText.FindAllStringSubmatch(page, -1) {
		if found[1] == id {
			return html.UnescapeString(found[2])
		}
	}
	return ""
}

// A policy and CORS rules are set by the checks of S3, and have an effect there.
func TestPolicyAndCORS(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	w.put("photos", "public/a", "the sea", "")
	v := w.as(api.Destroy)
	object := w.app.Addresses().S3 + "/photos/public/a"
	reads := func() (int, string) {
		r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, object, nil)
		w.must(err)
		r.Header.Set("Origin", "https://www.example.org")
		res, err := http.DefaultClient.Do(r)
		w.must(err)
		w.must(res.Body.Close())
		return res.StatusCode, res.Header.Get("Access-Control-Allow-Origin")
	}
	page := v.get("/bucket/documents?name=photos").body
	example := regexp.MustCompile(`(?s)aria-label="An example: [^"]*">(.*?)</pre>`).FindAllStringSubmatch(page, 2)
	for i, path := range []string{"/bucket/policy", "/bucket/cors"} {
		res := v.act(path+"?name=photos", "text", html.UnescapeString(example[i][1]))
		if next := v.get(res.to()); res.status != http.StatusSeeOther || !strings.Contains(next.body, "in use") {
			t.Errorf("%s: %d %s", path, res.status, res.body)
		}
	}
	if status, origin := reads(); status != http.StatusOK || origin != "https://www.example.org" {
		t.Errorf("others read with %d, from %q", status, origin)
	}
	page = v.get("/bucket/documents?name=photos").body
	if !strings.Contains(typed(page, "policy"), `"s3:GetObject"`) || !strings.Contains(typed(page, "cors"), `"AllowedOrigins"`) {
		t.Errorf("the page shows %q and %q", typed(page, "policy"), typed(page, "cors"))
	}
	const bad = "{\n  \"<b>\": ]"
	for id, path := range map[string]string{"policy": "/bucket/policy", "cors": "/bucket/cors"} {
		res := v.act(path+"?name=photos", "text", bad)
		if res.status != http.StatusOK || !strings.Contains(res.body, `id="`+id+`-problem"`) || !strings.Contains(res.body, "line 2, column 10") || typed(res.body, id) != bad || strings.Contains(res.body, "<b>") {
			t.Errorf("%s: %d %s", path, res.status, res.body)
		}
	}
	if status, _ := reads(); status != http.StatusOK {
		t.Error("a refused policy had an effect")
	}
	reader := w.as(api.Read)
	if page := reader.get("/bucket/documents?name=photos").body; strings.Contains(page, "<textarea") || !strings.Contains(page, "s3:GetObject") || !strings.Contains(page, "put-bucket-policy") {
		t.Errorf("a reader sees %s", page)
	}
	for _, path := range []string{"/bucket/policy", "/bucket/cors"} {
		v.act(path+"?name=photos", "text", " ")
	}
	if status, origin := reads(); status != http.StatusForbidden || origin != "" {
		t.Errorf("after the removal others read with %d, from %q", status, origin)
	}
	if res := v.get("/bucket/documents?name=none"); res.status != http.StatusNotFound {
		t.Errorf("no such bucket: %d", res.status)
	}
}

// A policy is edited in a browser, where a refusal keeps the text and has the focus.
func TestPolicyInABrowser(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	b := open(w)
	b.login(rootKey, rootSecret)
	b.visit("/bucket?name=photos")
	b.submit(`a[href^="/bucket/documents"]`)
	b.do(chromedp.SendKeys("#policy", "{ nonsense"))
	b.submit(`form[action^="/bucket/policy"] button`)
	if text := b.text("#policy-problem"); !strings.Contains(text, "Nothing was changed") {
		t.Errorf("the page says %q", text)
	}
	if id := eval[string](b, "document.activeElement.id"); id != "policy" {
		t.Errorf("the focus is on %q", id)
	}
	if text := eval[string](b, `document.getElementById("policy").value`); text != "{ nonsense" {
		t.Errorf("the text is %q", text)
	}
	b.shoot("refused-policy-wide-light")
	b.look(390, "dark")
	b.shoot("refused-policy-narrow-dark")
	b.fits("a refused policy")
	b.visit("/buckets")
	b.do(chromedp.SendKeys("#new-name", "photos"))
	b.submit(`form[action="/buckets/make"] button`)
	b.shoot("refused-bucket-narrow-dark")
	b.fits("a refused bucket")
	b.look(1280, "light")
	b.visit("/buckets")
	b.do(chromedp.SendKeys("#new-name", "made-here"), chromedp.SendKeys("#new-undo", "7d"))
	b.submit(`form[action="/buckets/make"] button`)
	if text := b.text("h1"); text != "s3://made-here/" || w.bucketNamed("made-here").Undo != "7d" {
		t.Errorf("the form leads to %q", text)
	}
}
