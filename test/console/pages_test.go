package console_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// logRules are lifecycle rules.
const logRules = `{"Rules": [{"ID": "old-logs", "Status": "Enabled", "Filter": {"Prefix": "app"}, "Expiration": {"Days": 30}}]}`

// furnish fills a store with something of everything.
func furnish(w *world) {
	w.t.Helper()
	w.bucket("photos")
	w.bucket("logs")
	_, err := api.Call[api.Bucket](w.ctx, w.admin, "buckets/set", map[string]any{"name": "photos", "undo": "7d"})
	w.must(err)
	for i := range 12 {
		w.put("photos", fmt.Sprintf("2026/holiday/%03d.jpg", i), strings.Repeat("sea", 40_000+i%4), "30d")
	}
	w.put("photos", "readme.txt", "Pictures of the sea.\nMost of them are blue.\n", "")
	w.put("photos", "2026/old.txt", "an old one", "1h")
	w.put("photos", "2026/old.txt", "a newer one", "12h")
	w.put("logs", "app.log", strings.Repeat("a line of a log\n", 20_000), "1d")
	w.token("dashboard", api.Read)
	_, err = api.Call[api.NewKey](w.ctx, w.admin, "keys/add", api.KeyRequest{Buckets: []string{"logs", "photos"}, ReadOnly: true})
	w.must(err)
	w.put("logs", "brief.log", "soon gone", "")
	_, err = w.app.Objects.Delete(w.ctx, object.DeleteRequest{Bucket: "logs", Items: []ledger.DeleteItem{{Key: "brief.log"}}})
	w.must(err)
	_, err = api.Call[api.Lifecycle](w.ctx, w.admin, "lifecycle/set", api.LifecycleRequest{Bucket: "logs", Rules: logRules})
	w.must(err)
	w.put("logs", "gone.log", strings.Repeat("another line of a log\n", 10_000), "")
	for i := range 60 {
		w.put("photos", fmt.Sprintf("exports/%02d", i), strings.Repeat("x", 1000*i), fmt.Sprintf("%dd", 1+i*i%29))
	}
	_, err = api.Call[api.HoldInfo](w.ctx, w.admin, "holds/add", api.HoldRequest{Bucket: "photos", Key: "readme.txt", Reason: "the lawyers asked"})
	w.must(err)
	w.reclaim("usage")
}

// troubled is a store with deletes that were given up, and a limit that has stopped more.
func troubled(t *testing.T) *world {
	w := start(t, "reclaim.grace.attempts=1", "reclaim.limits.ttl.ask=2", "reclaim.grace.read_grace=1us")
	furnish(w)
	w.bucket("sessions")
	for i := range 5 {
		w.put("sessions", fmt.Sprintf("user-%d", i), fmt.Sprint("a session ", i), "1m")
	}
	w.clock.Advance(2 * time.Minute)
	w.reclaim("expire")
	w.stuck("logs", "gone.log")
	w.reclaim("clean")
	return w
}

// reclaim runs routines once.
func (w *world) reclaim(names ...string) {
	w.t.Helper()
	_, err := w.admin.Reclaim(w.ctx, api.ReclaimRequest{Only: names}, func(api.Event) {})
	w.must(err)
}

// stuck deletes an object whose bytes cannot be deleted: their folder is a link elsewhere.
func (w *world) stuck(bucket, key string) {
	w.t.Helper()
	for _, c := range w.explain(bucket, key).Contents {
		for _, b := range c.Blobs {
			path := ""
			w.must(filepath.WalkDir(w.app.Config.InDataDir("blobs"), func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && strings.HasSuffix(name, b.ID) {
					path = name
				}
				return err
			}))
			w.must(os.RemoveAll(filepath.Dir(path)))
			w.must(os.Symlink("/", filepath.Dir(path)))
		}
	}
	_, err := w.app.Objects.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: key}}})
	w.must(err)
	w.clock.Advance(time.Minute)
}

// TestPictures looks at every page in every view.
func TestPictures(t *testing.T) {
	for suffix, w := range map[string]*world{"": healthy(t), "-troubled": troubled(t)} {
		w.bucket("the-longest-name-that-anybody-gave-to-a-bucket-for-the-auditors")
		_, err := api.Call[api.HoldInfo](w.ctx, w.admin, "holds/add", api.HoldRequest{Bucket: "photos", Prefix: "2026/", Reason: "https://auditors.example.org/" + strings.Repeat("case", 80)})
		w.must(err)
		b := open(w)
		for _, view := range views {
			b.look(view.width, view.scheme)
			call(b, network.ClearBrowserCookies, cdp.Empty{})
			b.visit("/login")
			b.shoot("login-" + view.name)
			b.login(rootKey, rootSecret)
			for _, p := range pictured() {
				b.visit(p.path)
				b.shoot(p.name + suffix + "-" + view.name)
				b.fits(p.name + suffix)
			}
		}
	}
}

var stored = regexp.MustCompile(`class="f1" x="0.0" y="0" width="([0-9.]+)"`)

// A folder without a quota is drawn as full as its disk is with what is stored there.
func TestRoomOfABackend(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	w.put("photos", "a", "bytes", "")
	v := w.as(api.Read)
	for _, page := range []string{"/", "/backends"} {
		if drawn := stored.FindStringSubmatch(v.get(page).body); len(drawn) == 0 || drawn[1] == "1000.0" {
			t.Errorf("%s: five bytes are drawn %q wide of 1000", page, drawn)
		}
	}
}

func healthy(t *testing.T) *world {
	w := start(t)
	furnish(w)
	return w
}

// pictured are the pages that are looked at.
func pictured() []struct{ name, path string } {
	soon := lethe.SystemClock{}.Now().Time().AddDate(0, 0, 2).Format(time.DateOnly)
	return []struct{ name, path string }{
		{"queues", "/queues"}, {"limits", "/limits"}, {"gone", "/object?bucket=logs&key=gone.log"},
		{"rules", "/rules"}, {"rulesof", "/rules?bucket=logs"}, {"receipts", "/receipts"},
		{"trash", "/trash"}, {"calendar", "/calendar"}, {"day", "/calendar?day=" + soon}, {"usage", "/usage"}, {"usageof", "/usage?bucket=photos"}, {"plans", "/plans"}, {"backends", "/backends"}, {"access", "/access"}, {"audit", "/audit"}, {"configuration", "/configuration"},
		{"home", "/"}, {"object", "/object?bucket=photos&key=2026%2Fold.txt"}, {"held", "/object?bucket=photos&key=readme.txt"},
		{"buckets", "/buckets"}, {"documents", "/bucket/documents?name=photos"}, {"bucket", "/bucket?name=photos"}, {"folder", "/bucket?name=photos&prefix=2026%2Fholiday%2F"},
	}
}

// TestForms looks at what opens, and at the pages that forms lead to.
func TestForms(t *testing.T) {
	w := troubled(t)
	w.put("logs", "due.log", "bytes", "1m")
	w.clock.Advance(2 * time.Minute)
	b := open(w)
	b.login(rootKey, rootSecret)
	for _, view := range views {
		b.look(view.width, view.scheme)
		b.visit("/object?bucket=photos&key=2026%2Fold.txt")
		b.do(chromedp.Click(`//summary[normalize-space()="Its end"]`))
		b.shoot("form-end-" + view.name)
		b.fits("its end")
		b.visit("/bucket?name=photos")
		b.do(chromedp.Click(`//summary[normalize-space()="Settings"]`))
		b.shoot("form-settings-" + view.name)
		b.fits("settings")
		b.visit("/rules?bucket=logs")
		b.do(chromedp.SendKeys("#rule-prefix", "app"), chromedp.SendKeys("#rule-expire", "3"))
		b.submit(`button[name="add"]`)
		if text := b.text("#outcome"); !strings.Contains(text, "What they would do") {
			t.Errorf("the simulation says %q", text)
		}
		b.shoot("form-rules-" + view.name)
		b.visit("/plans")
		b.submit(`form[action="/plans/make"] button`)
		b.shoot("form-plan-" + view.name)
		b.fits("a plan")
		b.visit("/queues")
		b.do(chromedp.Click(`//summary[normalize-space()="Write off"]`))
		b.shoot("form-write-off-" + view.name)
	}
	// The simulation follows what is typed.
	b.visit("/rules?bucket=logs")
	b.do(chromedp.SendKeys("#rules", "nonsense"), chromedp.WaitVisible("#outcome [role=alert]"))
}
