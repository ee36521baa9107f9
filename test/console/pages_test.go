package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"github.com/lethe-storage/lethe/admin/api"
)

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
	w.put("logs", "gone.log", strings.Repeat("another line of a log\n", 10_000), "")
	_, err = api.Call[api.HoldInfo](w.ctx, w.admin, "holds/add", api.HoldRequest{Bucket: "photos", Key: "readme.txt", Reason: "the lawyers asked"})
	w.must(err)
}

// TestPictures looks at every page in every view.
func TestPictures(t *testing.T) {
	w := start(t)
	furnish(w)
	b := open(w)
	for _, view := range views {
		b.look(view.width, view.scheme)
		call(b, network.ClearBrowserCookies, cdp.Empty{})
		b.visit("/login")
		b.shoot("login-" + view.name)
		b.login(rootKey, rootSecret)
		for _, p := range pictured() {
			b.visit(p.path)
			b.shoot(p.name + "-" + view.name)
			if over := eval[float64](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
				t.Errorf("%s, %s: the page is %v wider than the window", p.name, view.name, over)
			}
		}
	}
}

// pictured are the pages that are looked at.
func pictured() []struct{ name, path string } {
	return []struct{ name, path string }{
		{"home", "/"}, {"object", "/object?bucket=photos&key=2026%2Fold.txt"}, {"held", "/object?bucket=photos&key=readme.txt"},
		{"buckets", "/buckets"}, {"bucket", "/bucket?name=photos"}, {"folder", "/bucket?name=photos&prefix=2026%2Fholiday%2F"},
	}
}
