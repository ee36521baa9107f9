package console_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
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
	w.put("photos", "a", "bytes", "")
	v.get(at("/content", "photos", "a"))
	v.get(at("/object", "photos", "a"))
	w.as(api.Read).get(at("/content", "photos", "a"))
	log := w.log.String()
	for route, want := range map[string]int{"console/download": 1, "console/preview": 2} {
		if n := len(regexp.MustCompile(`"admin_read".*"who":"root".*"route":"`+route+`".*"request":"{\\"bucket\\":\\"photos\\"`).FindAllString(log, -1)); n != want {
			t.Errorf("%s has %d audit lines: %s", route, n, log)
		}
	}
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
	res := v.act("/bucket/settings?name=photos", "undo", "some <days>", "quota", "11MiB", "objects", "7", "default_ttl", "2d")
	if res.status != http.StatusOK || !strings.Contains(res.body, `role="alert"`) || !strings.Contains(res.body, `value="11MiB"`) || !strings.Contains(res.body, `value="some &lt;days&gt;"`) {
		t.Errorf("refused settings: %d %s", res.status, res.body)
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
	v.act(at("/object/delete", "photos", "a"), "version", w.explain("photos", "a").Object.ID)
	page = v.get("/trash?bucket=photos").body
	entry = regexp.MustCompile(`name="entry" value="([^"]+)"`).FindStringSubmatch(page)
	if entry == nil || !strings.Contains(page, "s3://photos/a") {
		t.Fatalf("the trash is %s", page)
	}
	if res := v.act("/trash/restore?bucket=photos", "entry", entry[1]); res.to() != "/trash?bucket=photos" || w.explain("photos", "a").Object == nil {
		t.Error("it was not restored from the trash")
	}
}

// Restoring in place of another object ends that, here for good: it takes more than restoring.
func TestRestoringOverAnObjectNeedsDestroy(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	v, operator := w.as(api.Destroy), w.as(api.Operate)
	v.act("/bucket/settings?name=photos", "undo", "1d")
	w.put("photos", "a", "old", "")
	w.put("photos", "a", "new", "")
	v.act("/bucket/settings?name=photos", "undo", "")
	is := w.explain("photos", "a")
	entry := is.Trash[0].ID
	if body := operator.get(at("/object", "photos", "a")).body; !strings.Contains(body, entry) || strings.Contains(body, `name="overwrite"`) {
		t.Error("the role operate is offered to overwrite, or not to restore")
	}
	operator.act(at("/object/restore", "photos", "a"), "entry", entry, "overwrite", "1")
	if now := w.explain("photos", "a"); now.Object == nil || now.Object.ID != is.Object.ID || len(now.Trash) != 1 {
		t.Errorf("the role operate replaced the object: %+v", now.Object)
	}
	v.act(at("/object/restore", "photos", "a"), "entry", entry, "overwrite", "1")
	if now := w.explain("photos", "a"); now.Object == nil || now.Object.ID == is.Object.ID {
		t.Error("the role destroy did not replace it")
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
	if res := v.act(at("/object/share", "photos", ""), "valid", "1h"); !strings.Contains(v.get(res.to()).body, "has a bucket and a key") {
		t.Error("a link to a whole bucket is made")
	}
	if res := v.act(at("/object/share", "photos", "plain.txt"), "valid", "8d"); !strings.Contains(v.get(res.to()).body, "up to 7d") {
		t.Error("a link is valid for longer than S3 allows")
	}
}

// An object whose reads are counted is neither shown nor shared: that would take a read.
func TestCountedReads(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	_, err := w.app.Objects.Put(w.ctx, object.PutRequest{Bucket: "photos", Key: "once", Body: strings.NewReader("secret"), Size: 6, Reads: 1})
	w.must(err)
	v := w.as(api.Destroy)
	for range 2 {
		page := v.get(at("/object", "photos", "once")).body
		if !strings.Contains(page, "Reads left") || strings.Contains(page, "secret") || strings.Contains(page, "Download") || strings.Contains(page, "Make a link") {
			t.Errorf("the page shows or offers what takes a read: %s", page)
		}
		if res := v.get(at("/content", "photos", "once")); strings.Contains(res.body, "secret") || !strings.Contains(res.body, "would take one") {
			t.Errorf("a download answers %d %s", res.status, res.body)
		}
		if res := v.act(at("/object/share", "photos", "once"), "valid", "1h"); !strings.Contains(v.get(res.to()).body, "share it as a paste") {
			t.Error("a link is made")
		}
	}
	o, err := w.app.Objects.Head(w.ctx, object.GetRequest{Bucket: "photos", Key: "once"})
	if w.must(err); o.ReadsLeft != 1 {
		t.Errorf("%d reads are left", o.ReadsLeft)
	}
}

var letters = regexp.MustCompile(`name="ids" value="([^"]+)"`)

// Dead letters are tried again, and written off by who types their number.
func TestDeadLetters(t *testing.T) {
	w := troubled(t)
	v := w.as(api.Destroy)
	ids := letters.FindStringSubmatch(v.get("/queues").body)
	if ids == nil {
		t.Fatal("there is no dead letter")
	}
	count := func() int {
		list, err := api.Call[api.DeadList](w.ctx, w.admin, "dead/list", api.DeadRequest{})
		w.must(err)
		return len(list.Blobs)
	}
	v.act("/queues/write-off", "ids", ids[1], "count", "2")
	v.act("/queues/write-off", "ids", "", "count", "0")
	if count() != 1 {
		t.Error("it was written off without its number")
	}
	v.act("/queues/requeue", "ids", ids[1])
	if count() != 0 {
		t.Error("it is not due again")
	}
	w.clock.Advance(time.Hour)
	res := v.act("/queues/reclaim")
	if page := v.get(res.to()).body; !strings.Contains(page, "clean:") {
		t.Errorf("the page does not say what was done: %s", page)
	}
	if res := v.act("/queues/write-off", "ids", ids[1], "count", "1"); count() != 0 || res.status != http.StatusSeeOther {
		t.Error("it was not written off")
	}
}

// What a limit has stopped goes when it is allowed, and holds of prefixes are set and lifted.
func TestLimitsAndHolds(t *testing.T) {
	w := troubled(t)
	v := w.as(api.Destroy)
	page := v.get("/limits").body
	subject := regexp.MustCompile(`name="subject" value="([^"]+)"`).FindStringSubmatch(page)
	if subject == nil || !strings.Contains(page, "sessions") || !strings.Contains(page, "stopped") {
		t.Fatalf("no limit has tripped: %s", page)
	}
	if home := v.get("/").body; !strings.Contains(home, "sessions") {
		t.Error("home does not tell of the limit")
	}
	res := v.act("/limits/allow", "kind", "ttl", "subject", subject[1], "count", "3")
	if page := v.get(res.to()).body; !strings.Contains(page, "It is allowed") {
		t.Errorf("it was not allowed: %s", page)
	}
	page = v.get("/bucket?name=logs&prefix=app").body
	form := regexp.MustCompile(`href="(/limits\?hold=[^"#]+)#hold-form"`).FindStringSubmatch(page)
	if form == nil || !strings.Contains(v.get(html.UnescapeString(form[1])).body, `name="prefix" value="app"`) {
		t.Errorf("no filled form of a hold is offered: %s", page)
	}
	page = v.get(v.act("/limits/hold", "bucket", "logs", "prefix", "app", "reason", "an audit").to()).body
	if len(w.explain("logs", "app.log").Holds) != 1 {
		t.Error("the prefix is not held")
	}
	if !strings.Contains(page, "s3://logs/app* is held: 1 object now, and new ones.") || !strings.Contains(page, ">s3://logs/app*</a>") {
		t.Errorf("the note of the hold is not there: %s", page)
	}
	page = v.get(at("/object", "logs", "app.log")).body
	for _, want := range []string{"Held, on s3://logs/app*", `href="/limits#holds-h"`, "It is held: this will be refused", "The moment it goes, its bytes will be condemned"} {
		if !strings.Contains(page, want) {
			t.Errorf("the object's page does not say %q: %s", want, page)
		}
	}
	if strings.Contains(page, "Condemned") {
		t.Error("a live object reads as condemned")
	}
	v.act("/limits/release?bucket=logs&scope=prefix&key=app")
	if len(w.explain("logs", "app.log").Holds) != 0 {
		t.Error("the prefix is held")
	}
}

// Receipts are found by bucket, key and time, exported and verified.
func TestReceipts(t *testing.T) {
	w := start(t)
	w.bucket("logs")
	v := w.as(api.Destroy)
	for _, key := range []string{"a<b>.log", "other"} {
		w.put("logs", key, "bytes", "")
		v.act(at("/object/delete", "logs", key), "version", w.explain("logs", key).Object.ID)
	}
	page := v.get("/receipts?bucket=logs&key=%3Cb").body
	if !strings.Contains(page, "a&lt;b&gt;.log") || strings.Contains(page, "s3://logs/other") || !strings.Contains(page, "root") {
		t.Errorf("found is %s", page)
	}
	for query, want := range map[string]bool{"since=1h": true, "since=2030-01-31T12:00:00Z": false, "bucket=none": false, "since=soon": false} {
		if page := v.get("/receipts?" + query).body; strings.Contains(page, "s3://logs/other") != want {
			t.Errorf("%s finds it: %v", query, !want)
		}
	}
	res := v.get("/receipts/export?bucket=logs")
	if lines := strings.Count(res.body, "\n"); lines != 2 || !strings.HasPrefix(res.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("exported are %d lines: %s", lines, res.body)
	}
	w.clock.Advance(time.Hour)
	w.reclaim("receipts")
	page = v.get(v.act("/receipts/verify").to()).body
	head := regexp.MustCompile(`<code tabindex="0">([0-9]+:[0-9a-f]{64})</code>`).FindStringSubmatch(page)
	if !strings.Contains(page, "The chain is intact") || head == nil {
		t.Fatalf("verified is %s", page)
	}
	if page := v.get(v.act("/receipts/verify", "head", head[1]).to()).body; !strings.Contains(page, "The chain is intact") {
		t.Error("the chain does not have its own head")
	}
	if page := v.get(v.act("/receipts/verify", "head", head[1][:len(head[1])-4]+"0000").to()).body; !strings.Contains(page, `role="alert"`) {
		t.Error("a wrong head is not noticed")
	}
}

// A search reads for a second at most, and goes on with the next page.
func TestALongSearchOfReceipts(t *testing.T) {
	w := start(t)
	w.bucket("logs")
	v := w.as(api.Read)
	for _, key := range []string{"first", "second", "third"} {
		w.put("logs", key, "bytes", "")
		_, err := w.app.Objects.Delete(w.ctx, object.DeleteRequest{Bucket: "logs", Items: []ledger.DeleteItem{{Key: key}}})
		w.must(err)
		w.clock.Advance(time.Hour)
		w.reclaim("receipts")
	}
	w.stopwatch.step.Store(int64(600 * time.Millisecond))
	page, found := v.get("/receipts?key=d").body, ""
	for n := 0; ; n++ {
		found += strings.Join(regexp.MustCompile(`s3://logs/\w+`).FindAllString(page, -1), " ") + ";"
		next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(page)
		if next == nil || n > 5 {
			break
		}
		if !strings.Contains(page, "Searched up to 20") {
			t.Errorf("the page does not say how far it came: %s", page)
		}
		page = v.get(html.UnescapeString(next[1])).body
	}
	if found != "s3://logs/second;s3://logs/third;" {
		t.Errorf("the pages have %s", found)
	}
}

// A plan is made, reviewed and applied once, by its maker alone; what changed since stays.
func TestPlans(t *testing.T) {
	w := start(t)
	w.bucket("logs")
	for _, key := range []string{"a", "<b>"} {
		w.put("logs", key, "bytes "+key, "1m")
	}
	w.clock.Advance(2 * time.Minute)
	v, other := w.as(api.Destroy), w.as(api.Read)
	to := v.act("/plans/make", "command", "reclaim", "only", "expire").to()
	page := v.get(to).body
	if !strings.Contains(page, "2 items") || !strings.Contains(page, "s3://logs/&lt;b&gt;") || !strings.Contains(page, "Apply the plan") {
		t.Fatalf("the plan is %s", page)
	}
	if file := v.get(strings.Replace(to, "/plans", "/plans/file", 1)); !strings.HasPrefix(file.body, `{"lethe_plan"`) {
		t.Errorf("the file is %s", file.body)
	}
	id := mustParse(to).Query().Get("id")
	if strings.Contains(other.get(to).body, "s3://logs") || other.act("/plans/apply", "id", id).status != http.StatusForbidden {
		t.Error("another operator sees or applies the plan")
	}
	w.put("logs", "a", "a new one", "1d")
	page = v.get(v.act("/plans/apply", "id", id).to()).body
	if !strings.Contains(page, "1 done") || !strings.Contains(page, "gone already") && !strings.Contains(page, "changed since") {
		t.Errorf("the result is %s", page)
	}
	if w.explain("logs", "a").Object == nil || w.explain("logs", "<b>").Object != nil {
		t.Error("the plan took what had changed, or left what had not")
	}
	if page := v.get(v.act("/plans/apply", "id", id).to()).body; !strings.Contains(page, "was applied already") {
		t.Error("a plan is applied twice")
	}
	if page := v.get(v.act("/plans/make", "command", "nonsense").to()).body; !strings.Contains(page, `role="alert"`) {
		t.Error("there is a plan of nonsense")
	}
	theirs := other.act("/plans/make", "command", "reclaim", "only", "expire").to()
	var mine []string
	for range 5 {
		mine = append(mine, v.act("/plans/make", "command", "reclaim", "only", "expire").to())
	}
	if !strings.Contains(v.get(mine[0]).body, "not kept any more") || strings.Contains(v.get(mine[1]).body, "not kept any more") {
		t.Error("an operator's fifth plan does not take the place of the first")
	}
	if strings.Contains(other.get(theirs).body, "not kept any more") {
		t.Error("one operator's plans drop another's")
	}
}
