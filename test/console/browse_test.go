package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/lethe-storage/lethe"
)

// An operator logs in, finds an object, holds it, releases it and deletes it, as a person
// does: with the script, and without.
func TestAnObjectsLife(t *testing.T) {
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.bucket("photos")
			w.put("photos", "2026/a b.txt", "the sea", "1h")
			b := open(w)
			call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts})
			b.visit("/")
			b.do(chromedp.SendKeys("#key", rootKey), chromedp.SendKeys("#secret", rootSecret))
			b.submit("button.main")
			if text := b.text("#verdict"); !strings.Contains(text, "Healthy") {
				t.Errorf("home says %q", text)
			}
			b.do(chromedp.SendKeys("#find", "s3://photos/2026/a b.txt"))
			b.submit(".find button")
			if text := b.text("main"); !strings.Contains(text, "when its time to live ends") || !strings.Contains(text, "the sea") {
				t.Errorf("the object's page says %q", text)
			}
			b.act("Hold", `form[action^="/object/hold"] button`)
			if e := w.explain("photos", "2026/a b.txt"); len(e.Holds) != 1 || !strings.Contains(b.text(".note"), "held") {
				t.Errorf("holds: %v", e.Holds)
			}
			b.act("Release hold", `form[action^="/object/release"] button`)
			b.act("Delete", `form[action^="/object/delete"] button`)
			if w.explain("photos", "2026/a b.txt").Object != nil || !strings.Contains(b.text("#life"), "Went") {
				t.Errorf("it was not deleted: %s", b.text("#life"))
			}
			b.do(chromedp.Click(".menu summary"))
			b.submit(".menu form button")
			if at := get(b, chromedp.Location()); at != w.url+"/login" {
				t.Errorf("the logout leads to %s", at)
			}
		})
	}
}

// act opens what asks for confirmation, and confirms.
func (b *browser) act(name, confirm string) {
	b.w.t.Helper()
	b.do(chromedp.Click(`//summary[normalize-space()="` + name + `"]`))
	b.submit(confirm)
}

// The home page is kept up to date by the script, and a part that is in use is left alone.
func TestPagesRefresh(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	b := open(w)
	b.login(rootKey, rootSecret)
	if text := b.text("#sums"); !strings.Contains(text, "0 objects") {
		t.Errorf("home says %q", text)
	}
	w.put("photos", "a", "bytes", "")
	w.stopwatch.Advance(time.Minute)
	refresh := chromedp.Evaluate[bool]("refresh().then(() => true)", chromedp.EvalAwaitPromise)
	get(b, refresh)
	if text := b.text("#sums"); !strings.Contains(text, "1 object in") {
		t.Errorf("after a refresh home says %q", text)
	}
	b.visit("/object?bucket=photos&key=a")
	b.do(chromedp.Click("details.act:last-child summary"))
	get(b, refresh)
	if !eval[bool](b, `document.querySelector("details.act[open]") !== null`) {
		t.Error("a refresh closed what was open")
	}
}

// A folder of 10,000 keys shows its first 1,000 by one listing, and the rest page by page.
func TestALargeFolder(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	for i := range 10_000 {
		w.put("photos", fmt.Sprintf("large/%05d", i), "", "")
	}
	b := open(w)
	b.login(rootKey, rootSecret)
	before := lethe.Monotonic{}.Now()
	b.visit("/bucket?name=photos&prefix=large%2F")
	took := lethe.Monotonic{}.Now().Sub(before)
	if rows := eval[int](b, `document.querySelectorAll("#keys tbody tr").length`); rows != 1000 {
		t.Errorf("%d rows", rows)
	}
	t.Logf("a page of 1,000 keys took %s", took)
	pages := 1
	for ; eval[bool](b, `document.querySelector("a[rel=next]") !== null`) && pages < 20; pages++ {
		b.submit("a[rel=next]")
	}
	if last := b.text("#keys tr:last-child a"); pages != 10 || last != "09999" {
		t.Errorf("%d pages, the last key is %s", pages, last)
	}
}

// Files are uploaded by the form, with the script that shows their progress.
func TestUploadInABrowser(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	b := open(w)
	b.login(rootKey, rootSecret)
	file := filepath.Join(t.TempDir(), "sea & <sky>.txt")
	w.must(os.WriteFile(file, []byte("blue"), 0o600))
	b.visit("/bucket?name=photos")
	b.do(chromedp.SendKeys("#upload-ttl", "2d"), chromedp.SetUploadFiles("#upload-file", []string{file}))
	b.submit("#upload button")
	if text := b.text("main"); !strings.Contains(text, "1 file was stored") || !strings.Contains(text, "sea & <sky>.txt") {
		t.Errorf("the page says %q", text)
	}
	if o := w.explain("photos", "sea & <sky>.txt").Object; o == nil || o.TTLAt.IsZero() {
		t.Errorf("stored is %v", o)
	}
}

// checks are what every page has to have: a name for each control, contrast of text, one
// heading of the first rank, and a language.
const checks = `(() => {
  const out = [];
  const luminance = (c) => { const v = c.map((x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const numbers = (text) => text.match(/[\d.]+/g).map(Number);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; const n = numbers(c); if (c.startsWith("rgb") && (n.length < 4 || n[3] > 0.95)) return n.slice(0, 3); } return [255, 255, 255]; };
  if (document.documentElement.lang !== "en") out.push("no language");
  if (document.querySelectorAll("h1").length !== 1) out.push(document.querySelectorAll("h1").length + " headings of the first rank");
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) if (!e.labels?.length && !e.ariaLabel) out.push("no label: " + e.outerHTML);
  for (const e of document.querySelectorAll("button, a, summary")) if (!(e.textContent.trim() || e.ariaLabel || e.querySelector("img[alt]"))) out.push("no name: " + e.outerHTML);
  for (const e of document.querySelectorAll("img:not([alt])")) out.push("no text: " + e.outerHTML);
  const ids = new Set();
  for (const e of document.querySelectorAll("[id]")) { if (ids.has(e.id)) out.push("id twice: " + e.id); ids.add(e.id); }
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility() || e.closest(".unseen, .skip")) continue;
    const s = getComputedStyle(e), fore = luminance(numbers(s.color).slice(0, 3)), back = luminance(behind(e));
    const ratio = (Math.max(fore, back) + 0.05) / (Math.min(fore, back) + 0.05);
    if (ratio < 4.5) out.push("contrast " + ratio.toFixed(1) + ": " + e.outerHTML.slice(0, 120));
  }
  return out;
})()`

// Every page can be read and used by everyone: labels, contrast, and focus that is seen.
func TestAccessibility(t *testing.T) {
	w := troubled(t)
	b := open(w)
	b.login(rootKey, rootSecret)
	for _, scheme := range []string{"light", "dark"} {
		b.look(1280, scheme)
		for _, p := range pictured() {
			b.visit(p.path)
			for _, problem := range eval[[]string](b, checks) {
				t.Errorf("%s, %s: %s", p.name, scheme, problem)
			}
		}
	}
	b.visit("/")
	b.do(chromedp.KeyEvent(kb.Tab))
	if skip := eval[string](b, "document.activeElement.className"); skip != "skip" {
		t.Errorf("the first focus is on %q", skip)
	}
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	if !eval[bool](b, `document.getElementById("main").contains(document.activeElement)`) {
		t.Error("the skip link does not lead to the content")
	}
	if style := eval[string](b, "getComputedStyle(document.activeElement).outlineStyle"); style == "none" {
		t.Error("the focus is not seen")
	}
}

// Forms work on a network without TLS, where browsers tell less of where a request comes from.
func TestANetworkWithoutTLS(t *testing.T) {
	w := start(t, "console.hosts="+farHost)
	w.bucket("photos")
	w.put("photos", "a", "the sea", "")
	w.url = strings.Replace(w.url, "127.0.0.1", farHost, 1)
	b := open(w)
	b.login(rootKey, rootSecret)
	b.visit("/object?bucket=photos&key=a")
	b.act("Hold", `form[action^="/object/hold"] button`)
	if len(w.explain("photos", "a").Holds) != 1 {
		t.Errorf("the form did nothing: %s", b.text("body"))
	}
}
