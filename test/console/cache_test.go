package console_test

import (
	"html"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lethe-storage/lethe/admin/api"
)

// An object and its bucket get idle times beside their times to live; what is not named stays.
func TestIdleTimes(t *testing.T) {
	w := start(t)
	v := w.as(api.Destroy)
	v.act("/buckets/make", "name", "builds", "default_idle", "7d", "max_idle", "30d")
	if b := w.bucketNamed("builds"); b.DefaultIdle != "7d" || b.MaxIdle != "30d" || b.WhenFull != "refuse" {
		t.Fatalf("%+v", b)
	}
	if page := v.get("/buckets").body; !strings.Contains(page, "<td>7d unread</td>") {
		t.Error("the list does not tell of the idle time")
	}
	w.put("builds", "a", "bytes", "90d")
	page := v.get(at("/object", "builds", "a")).body
	for _, want := range []string{"<dt>Idle time</dt>", "now 7d; none for no idle time", "Nobody has read it for 7d then", "--idle 7d"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	v.act(at("/object/ttl", "builds", "a"), "ttl", "", "idle", " 2d ")
	if o := w.explain("builds", "a").Object; o.Idle != "2d" || o.TTLAt.IsZero() || o.EndedBy != "idle" {
		t.Errorf("%+v", o)
	}
	for _, bad := range [][]string{{"ttl", "", "idle", ""}, {"idle", "30s"}, {"idle", "31d"}, {"idle", "soon", "ttl", "1d"}} {
		if res := v.act(at("/object/ttl", "builds", "a"), bad...); !strings.Contains(v.get(res.to()).body, `role="alert"`) || w.explain("builds", "a").Object.Idle != "2d" {
			t.Errorf("%v is not refused", bad)
		}
	}
	v.act(at("/object/ttl", "builds", "a"), "clear", "1", "idle", "5d")
	if o := w.explain("builds", "a").Object; o.Idle != "2d" || !o.TTLAt.IsZero() {
		t.Errorf("without a time to live: %+v", o)
	}
	v.act(at("/object/ttl", "builds", "a"), "idle", "none", "ttl", "1d")
	if o := w.explain("builds", "a").Object; o.Idle != "30d" || o.EndedBy != "ttl" {
		t.Errorf("with the longest idle time of the bucket: %+v", o)
	}
	if res := v.upload("/bucket/upload?name=builds", v.token(), "", map[string]string{"b": "x"}, "idle", "3d"); res.status != http.StatusSeeOther || w.explain("builds", "b").Object.Idle != "3d" {
		t.Errorf("an upload: %d, %+v", res.status, w.explain("builds", "b").Object)
	}
	v.upload("/bucket/upload?name=builds", v.token(), "", map[string]string{"c": "x"}, "idle", "5s")
	if w.explain("builds", "c").Object != nil {
		t.Error("an upload with an idle time of 5 s is stored")
	}
}

// Whoever looks at an object in the console does not keep it any longer; whoever takes it does.
func TestLooksAreNoReads(t *testing.T) {
	w := start(t)
	v := w.as(api.Destroy)
	v.act("/buckets/make", "name", "builds", "default_idle", "7d")
	for key, body := range map[string]string{"text": "bytes", "image.gif": "GIF89a"} {
		w.put("builds", key, body, "")
	}
	w.clock.Advance(3 * 24 * time.Hour)
	used := func(key string) time.Time {
		w.must(w.app.Objects.NoteReads(w.ctx))
		return w.explain("builds", key).Object.UsedAt
	}
	text, image := used("text"), used("image.gif")
	if page := v.get(at("/object", "builds", "text")).body; !strings.Contains(page, "bytes") || !strings.Contains(page, "7d after it was last used, <time") {
		t.Errorf("shown as\n%s", page)
	}
	v.get(at("/object", "builds", "image.gif"))
	v.get(at("/content", "builds", "image.gif"))
	if !used("text").Equal(text) || !used("image.gif").Equal(image) {
		t.Error("what was looked at counts as read")
	}
	v.get(at("/content", "builds", "text") + "&download=1")
	if !used("text").After(text) {
		t.Error("a download does not count")
	}
}

// What settings would evict is said first, and goes once the form says so. Marks that cannot be
// are refused.
func TestEvictingSettings(t *testing.T) {
	w := start(t)
	w.bucket("builds")
	for _, key := range []string{"a", "b", "c"} {
		w.put("builds", key, strings.Repeat(key, 1024), "")
	}
	v := w.as(api.Destroy)
	set := func(fields ...string) reply { return v.act("/bucket/settings?name=builds", fields...) }
	full := []string{"quota", "2KiB", "when_full", "evict", "evict_order", "written", "evict_high", "100", "evict_low", "50 %", "evict_min_age", "1h"}
	res := set(full...)
	for _, want := range []string{`role="alert"`, "About 2.0 KiB beyond the quota would go for good", "Nothing was changed", `name="evict" value="1" required`, `value="50 %"`} {
		if !strings.Contains(res.body, want) {
			t.Errorf("the form has no %q", want)
		}
	}
	if b := w.bucketNamed("builds"); b.WhenFull != "refuse" || b.QuotaBytes != 0 {
		t.Errorf("before it was asked: %+v", b)
	}
	if res := set(append(full, "evict", "1")...); res.status != http.StatusSeeOther {
		t.Errorf("%d %s", res.status, res.body)
	}
	want := api.Eviction{WhenFull: "evict", EvictOrder: "written", EvictHigh: 100, EvictLow: 50, EvictMinAge: "1h"}
	if b := w.bucketNamed("builds"); b.Eviction != want || b.QuotaBytes != 2<<10 {
		t.Errorf("%+v, want %+v", b, want)
	}
	page := v.get("/bucket?name=builds").body
	for _, text := range []string{`<option value="evict" selected>`, `<option value="written" selected>`, `name="evict_low" value="50"`, `name="evict_min_age" value="1h"`} {
		if !strings.Contains(page, text) {
			t.Errorf("the form has no %q", text)
		}
	}
	w.clock.Advance(2 * time.Hour)
	_, err := w.admin.Reclaim(w.ctx, api.ReclaimRequest{Only: []string{"lifecycle", "evict"}}, func(api.Event) {})
	w.must(err)
	if page := v.get("/receipts?bucket=builds").body; strings.Count(page, "evicted from its full bucket") != 2 {
		t.Errorf("the receipts of what went: %s", page[strings.Index(page, "<main"):])
	}
	for says, bad := range map[string][]string{
		"not above the high one (80)": {"quota", "1MiB", "when_full", "evict", "evict_high", "80", "evict_low", "90"},
		"at most 100":                 {"quota", "1MiB", "when_full", "evict", "evict_high", "101"},
		`"much" is no percentage`:     {"quota", "1MiB", "when_full", "evict", "evict_low", "much"},
		"without a quota":             {"when_full", "evict"},
		"refuse or evict":             {"quota", "1MiB", "when_full", "maybe"},
		"evict_min_age":               {"quota", "1MiB", "when_full", "evict", "evict_min_age", "-1h"},
	} {
		if res := set(bad...); res.status != http.StatusOK || !strings.Contains(html.UnescapeString(res.body), says) || w.bucketNamed("builds").Eviction != want {
			t.Errorf("%s: %d %s", says, res.status, res.body)
		}
	}
	set("quota", "1MiB", "when_full", "evict", "evict_high", "80")
	if b := w.bucketNamed("builds"); b.Eviction != (api.Eviction{WhenFull: "evict", EvictOrder: "read", EvictHigh: 80, EvictLow: 80}) {
		t.Errorf("empty fields: %+v", b)
	}
	set("quota", "1KiB", "when_full", "refuse", "evict_high", "80", "evict_order", "read")
	if b := w.bucketNamed("builds"); b.Eviction != (api.Eviction{WhenFull: "refuse"}) || b.QuotaBytes != 1<<10 {
		t.Errorf("a bucket that refuses: %+v", b)
	}
}

// The rate of gets that found is that of clients: the console's own are none.
func TestHitRate(t *testing.T) {
	w := start(t)
	w.bucket("builds")
	w.put("builds", "there", "bytes", "")
	v := w.as(api.Destroy)
	v.get(at("/content", "builds", "there"))
	v.get(at("/object", "builds", "there"))
	if page := v.get("/usage?bucket=builds").body; !strings.Contains(page, "<h2>Gets that found</h2><strong>–</strong>") {
		t.Error("before the first get it is not said that there was none")
	}
	if page := v.get("/usage?bucket=builds&prefix=t").body; strings.Contains(page, "Gets that found") {
		t.Error("a prefix has the gets of its bucket")
	}
	for _, key := range []string{"there", "there", "there", "missing"} {
		res := v.act(at("/object/share", "builds", key), "valid", "1h")
		found := link.FindStringSubmatch(v.get(res.to()).body)
		if found == nil {
			t.Fatalf("%s: no link", key)
		}
		got, err := http.Get(html.UnescapeString(found[1]))
		w.must(err)
		_, err = io.Copy(io.Discard, got.Body)
		w.must(err)
		w.must(got.Body.Close())
	}
	if page := v.get("/usage?bucket=builds").body; !strings.Contains(page, "<strong>75 %</strong> <span class=\"soft\">of 4 by this instance since ") {
		t.Errorf("3 of 4 gets found: %s", page)
	}
}

// The forms of a cache are filled in a browser.
func TestACacheInABrowser(t *testing.T) {
	w := start(t)
	w.bucket("builds")
	for _, key := range []string{"a", "b", "c"} {
		w.put("builds", key, strings.Repeat(key, 1024), "")
	}
	b := open(w)
	b.login(rootKey, rootSecret)
	for _, view := range views {
		b.look(view.width, view.scheme)
		b.visit("/bucket?name=builds")
		b.do(chromedp.Click(".acts details:last-of-type > summary"), chromedp.SetValue("#when-full", "evict"), chromedp.Click("details.more > summary"))
		b.shoot("settings-" + view.name)
		b.fits("settings")
		b.do(chromedp.SendKeys("#default-idle", "7d"), chromedp.SendKeys("#quota", "1KiB"))
		b.submit(`form[action^="/bucket/settings"] button`)
		if text := b.text(".pop .note"); !strings.Contains(text, "would go for good") {
			t.Errorf("the form says %q", text)
		}
		b.shoot("evicts-" + view.name)
		b.fits("settings that evict")
		b.visit(at("/object", "builds", "a"))
		b.do(chromedp.Click(`details:has(#idle) > summary`))
		b.shoot("end-" + view.name)
		b.fits("the end of an object")
		b.visit("/buckets")
		b.shoot("buckets-" + view.name)
		b.fits("buckets")
		b.visit("/usage?bucket=builds")
		b.shoot("usage-" + view.name)
		b.fits("usage")
	}
	b.visit("/bucket?name=builds")
	b.do(chromedp.Click(".acts details:last-of-type > summary"), chromedp.SetValue("#when-full", "evict"), chromedp.SendKeys("#quota", "1KiB"), chromedp.SendKeys("#default-idle", "7d"))
	b.submit(`form[action^="/bucket/settings"] button`)
	b.do(chromedp.Click(`input[name=evict]`))
	b.submit(`form[action^="/bucket/settings"] button`)
	if set := w.bucketNamed("builds"); set.DefaultIdle != "7d" || set.WhenFull != "evict" || set.QuotaBytes != 1<<10 {
		t.Errorf("%+v", set)
	}
	b.look(390, "light")
	b.visit("/buckets")
	b.shoot("evicting-narrow")
	if height := eval[float64](b, "document.querySelector('tbody tr').getBoundingClientRect().height"); height > 80 {
		t.Errorf("the row of a bucket is %v pixels high: its columns are squeezed, although one may scroll", height)
	}
}
