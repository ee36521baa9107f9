package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/test/servers"
)

var shown = regexp.MustCompile(`<code tabindex="0">([^<]+)</code>`)

// A new token and a new key are shown once, work, and end when they are removed.
func TestAccess(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.as(api.Destroy)
	to := v.act("/access/token", "name", "watcher", "role", "read", "ttl", "90d").to()
	token := html.UnescapeString(shown.FindStringSubmatch(v.get(to).body)[1])
	if again := v.get(to).body; strings.Contains(again, token) || !strings.Contains(again, "watcher") {
		t.Error("the token is shown again, or not listed")
	}
	reader := w.visitor()
	if res := reader.post("/login", url.Values{"secret": {token}}); res.status != http.StatusSeeOther {
		t.Errorf("the token does not log in: %d", res.status)
	}
	for _, path := range []string{"/access/token", "/access/key", "/access/token/remove", "/access/key/remove"} {
		if res := reader.act(path, "name", "more", "role", "destroy", "buckets", "*"); res.status != http.StatusForbidden {
			t.Errorf("a reader may %s: %d", path, res.status)
		}
	}
	page := v.get(v.act("/access/key", "buckets", "photos, logs", "default_ttl", "7d", "max_ttl", "30d").to()).body
	secret := shown.FindStringSubmatch(page)[1]
	keys, err := api.Call[[]api.Key](w.ctx, w.admin, "keys/list", api.None{})
	w.must(err)
	if len(keys) != 1 || strings.Join(keys[0].Buckets, " ") != "photos logs" || keys[0].DefaultTTL != "7d" || keys[0].MaxTTL != "30d" || !strings.Contains(page, keys[0].ID) {
		t.Fatalf("%+v", keys)
	}
	v.act("/access/key/remove", "id", keys[0].ID)
	v.act("/access/token/remove", "name", "watcher")
	if page := v.get("/access").body; strings.Contains(page, keys[0].ID+"</td>") || strings.Contains(page, "watcher</td>") {
		t.Error("what was removed is listed")
	}
	if reader.get("/").status == http.StatusOK {
		t.Error("the removed token is inside")
	}
	for _, s := range []string{token, secret} {
		if strings.Contains(w.log.String(), s) {
			t.Error("the log has a secret")
		}
	}
}

// Deletes on a backend are stopped and resumed.
func TestBackends(t *testing.T) {
	w := start(t)
	v := w.as(api.Destroy)
	page := v.get(v.act("/backends/hold", "id", "main", "reason", "a look at <disks>").to()).body
	if !strings.Contains(page, "deletes are stopped") || !strings.Contains(page, "a look at &lt;disks&gt;") || !strings.Contains(page, `action="/backends/accept"`) {
		t.Errorf("the page says %s", page)
	}
	if home := v.get("/").body; !strings.Contains(home, "a look at &lt;disks&gt;") {
		t.Error("home does not tell that deletes are stopped")
	}
	if res := w.as(api.Operate).act("/backends/accept", "id", "main"); res.status != http.StatusForbidden {
		t.Errorf("an operator may resume deletes: %d", res.status)
	}
	if page := v.get(v.act("/backends/accept", "id", "main").to()).body; strings.Contains(page, "a look at") {
		t.Error("deletes are still stopped")
	}
	if page := v.get("/backends").body; !strings.Contains(page, "/backends/hold") || strings.Contains(page, "/backends/drain") {
		t.Error("the only backend is offered to be drained")
	}
	if page := v.get(v.act("/backends/drain", "id", "nowhere").to()).body; !strings.Contains(page, `role="alert"`) {
		t.Error("an unknown backend is drained")
	}
}

// A backend whose disk is not mounted is in the configuration: pages say what is wrong, and
// what to do. Each finding leads to its page, and its commands are complete.
func TestAMissingFolder(t *testing.T) {
	w := start(t)
	w.must(os.Rename(w.data+"/blobs", w.data+"/elsewhere"))
	v := w.as(api.Read)
	accept := "lethe backend accept main --config our.yaml"
	page := v.get("/backends").body
	for _, want := range []string{"not in its place", "mount its disk", accept} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q: %s", want, page)
		}
	}
	if strings.Contains(page, "configured here") || strings.Contains(page, "not in the configuration") {
		t.Error("a configured backend is called unknown")
	}
	home := v.get("/").body
	for _, want := range []string{`href="/backends#backend-main"`, accept, "lethe backend list --config our.yaml"} {
		if !strings.Contains(home, want) {
			t.Errorf("home does not have %q: %s", want, home)
		}
	}
}

// A backend is offered what makes sense for it as it is: one that is not there is not drained
// while contents lie on it, and none is without another one.
func TestWhatBackendsAreOffered(t *testing.T) {
	w := start(t, "backends=[{name: main, kind: dir, path: blobs}, {name: other, kind: dir, path: other}]")
	w.bucket("photos")
	w.put("photos", "a", "bytes", "") // on the first one
	offered := func(when, main, other string) {
		t.Helper()
		page := w.as(api.Destroy).get("/backends").body
		for name, want := range map[string]string{"main": main, "other": other} {
			card := regexp.MustCompile(`(?s)<section id="backend-` + name + `".*?</section>`).FindString(page)
			var found []string
			for _, m := range regexp.MustCompile(`action="/backends/([a-z]+)"`).FindAllStringSubmatch(card, -1) {
				found = append(found, m[1])
			}
			if got := strings.Join(found, " "); got != want {
				t.Errorf("%s: %s is offered %q", when, name, got)
			}
		}
	}
	offered("both are there", "hold drain", "hold drain")
	w.must(os.Rename(w.data+"/other", w.data+"/elsewhere"))
	offered("the empty one is away", "hold", "hold drain")
	w.must(os.Rename(w.data+"/elsewhere", w.data+"/other"))
	w.must(os.Rename(w.data+"/blobs", w.data+"/elsewhere"))
	offered("the one with contents is away", "hold", "hold")
	_, err := api.Call[api.None](w.ctx, w.admin, "backends/hold", api.BackendRequest{ID: "main"})
	w.must(err)
	_, err = api.Call[api.None](w.ctx, w.admin, "backends/drain", api.BackendRequest{ID: "main"})
	w.must(err)
	offered("it is held and drained", "accept undrain remove", "hold")
}

// The configuration has where each value comes from, and no secret; decisions are listed.
func TestConfigurationAndAudit(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v := w.as(api.Read)
	page := v.get("/configuration").body
	row := func(key string) string {
		found := regexp.MustCompile(`(?s)>` + regexp.QuoteMeta(key) + `</td>.*?</tr>`).FindString(page)
		return found
	}
	for key, want := range map[string]string{"receipts.keep": "the variable LETHE_RECEIPTS_KEEP", "server.paste.listen": "a flag", "cache.size": "the default"} {
		if !strings.Contains(row(key), want) {
			t.Errorf("%s: %s", key, row(key))
		}
	}
	if strings.Contains(page, rootSecret) || !strings.Contains(row("root.access_key"), rootKey) {
		t.Error("the secret is shown, or the key is not")
	}
	if page := v.get("/configuration?begins=cache.").body; strings.Contains(page, "receipts.keep") || !strings.Contains(page, "cache.ttl") {
		t.Error("settings are not found by their beginning")
	}
	w.as(api.Operate).act(at("/object/hold", "photos", "<a>"), "reason", "an audit")
	if page := v.get("/audit?contains=holds%2Fadd").body; !strings.Contains(page, "admin_change") || !strings.Contains(page, "who-may-operate") || strings.Contains(page, "admin_login") {
		t.Errorf("the audit is %s", page)
	}
	v.act("/access/token", "name", "refused")
	if page := v.get("/audit?contains=admin_denied").body; !strings.Contains(page, "console/access/token") {
		t.Errorf("what was refused is not listed: %s", page)
	}
	for n := range 60 { // each of which leaves two lines
		_, err := api.Call[api.HoldInfo](w.ctx, w.admin, "holds/add", api.HoldRequest{Bucket: "photos", Key: fmt.Sprint("often-", n), Reason: "a test"})
		w.must(err)
	}
	page = v.get("/audit?contains=often").body
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(page)
	if next == nil || strings.Count(page, "<time") != 100 || !strings.Contains(page, "The last decisions of this process: ") {
		t.Fatalf("the first page of the audit is %s", page)
	}
	if strings.Contains(page, "one instance") {
		t.Error("the only process is called one of several")
	}
	if page = v.get(html.UnescapeString(next[1])).body; strings.Count(page, "<time") != 20 || !strings.Contains(page, `rel="prev"`) {
		t.Errorf("the second page of the audit is %s", page)
	}
}

// Where instances share a ledger, the page of the audit says whose decisions it has.
func TestTheAuditOfOneInstance(t *testing.T) {
	w := start(t, "database.url="+servers.Postgres(t), "backends=[{name: main, kind: dir, path: "+t.TempDir()+"}]")
	host, err := os.Hostname()
	w.must(err)
	if page := w.as(api.Read).get("/audit").body; !strings.Contains(page, "the decisions of one instance: "+host) || !strings.Contains(page, "their own consoles") {
		t.Errorf("the audit is %s", page)
	}
}
