package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lethe-storage/lethe/admin/api"
)

// The calendar has what goes on which day and by what, and usage which prefix is large.
func TestCalendarAndUsage(t *testing.T) {
	w := start(t)
	w.bucket("logs")
	w.put("logs", "<big>/a", strings.Repeat("x", 5000), "")
	w.put("logs", "small/b", "bytes", "3d")
	v := w.as(api.Read)
	page := v.get("/calendar?bucket=logs").body
	day := w.clock.Now().Time().AddDate(0, 0, 3).Format("2006-01-02")
	if !strings.Contains(page, `href="/calendar?bucket=logs&amp;day=`+day+`"`) || !strings.Contains(page, "time to live") || !strings.Contains(page, "1 object of 4.9 KiB") {
		t.Errorf("the calendar is %s", page)
	}
	page = v.get("/usage?bucket=logs").body
	if !strings.Contains(page, "&lt;big&gt;/") || !strings.Contains(page, "4.9 KiB") || strings.Contains(page, "<big>") {
		t.Errorf("the usage is %s", page)
	}
	if page := v.get("/usage").body; !strings.Contains(page, "logs</a>") || !strings.Contains(page, ">Saved by sharing<") || !strings.Contains(page, ">Due soon<") {
		t.Errorf("the usages are %s", page)
	}
	if page := v.get("/buckets").body; !strings.Contains(page, `<a class="button" href="/usage">`) {
		t.Error("the buckets do not lead to their usage")
	}
	w.put("logs", "small/deep/c", "more bytes", "")
	for path, want := range map[string]string{
		"prefix=small/": "2 objects of 15 B, of 3 objects of 4.9 KiB in the bucket.", "prefix=small/b": "1 object of 5 B, of 3 objects", "prefix=none": "0 objects of 0 B, of 3",
		"prefix=small/&after=small/b": "The bucket has 3 objects", "": "3 objects of 4.9 KiB.",
	} {
		if page := v.get("/bucket?name=logs&" + path).body; !strings.Contains(page, want) {
			t.Errorf("%q does not say %q: %s", path, want, page)
		}
	}
	operator := w.as(api.Operate)
	res := operator.act("/usage/count?bucket=logs")
	if page := operator.get(res.to()).body; res.to() != "/usage?bucket=logs" || !strings.Contains(page, "All buckets were counted.") || strings.Contains(page, "not counted yet") {
		t.Errorf("it was not counted: %s %s", res.to(), page)
	}
}

// Prefixes and buckets are sorted by links, by what the command sorts them by.
func TestUsageIsSorted(t *testing.T) {
	w := start(t)
	w.bucket("logs")
	w.put("logs", "large/1", strings.Repeat("x", 5000), "1d")
	w.clock.Advance(time.Minute) // ages are compared by the second
	w.put("logs", "never/1", strings.Repeat("x", 50), "")
	w.clock.Advance(time.Minute)
	w.put("logs", "grows/1", "x", "")
	w.reclaim("usage")
	w.clock.Advance(time.Hour)
	w.put("logs", "grows/2", strings.Repeat("x", 20), "")
	w.bucket("a-new-one")
	w.put("a-new-one", "x", "x", "")
	v := w.as(api.Read)
	order := func(path, row string) string {
		page := v.get(path).body
		var found []string
		for _, m := range regexp.MustCompile(`<a(?: class="key")? href="/usage\?bucket=`+row+`">([^<]+)</a></td>`).FindAllStringSubmatch(page, -1) {
			found = append(found, m[1])
		}
		return strings.Join(found, " ")
	}
	for sort, want := range map[string]string{
		"": "large/ never/ grows/", "growth": "grows/ large/ never/", "without-end": "never/ grows/ large/", "objects": "grows/ large/ never/", "name": "grows/ large/ never/", "age": "large/ never/ grows/",
	} {
		if got := order("/usage?bucket=logs&sort="+sort, "logs&amp;prefix=[^\"]+"); got != want {
			t.Errorf("sorted by %q: %s", sort, got)
		}
	}
	page := v.get("/usage?bucket=logs&sort=growth").body
	for _, want := range []string{`<th class="num" aria-sort="descending"><a class="sort" href="/usage?bucket=logs&amp;sort=growth">Growth</a>`, `href="/usage?bucket=logs">Bytes</a>`, "lethe usage s3://logs/ --sort growth"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q: %s", want, page)
		}
	}
	if page := v.get("/usage?bucket=logs&sort=name").body; !strings.Contains(page, "lethe du s3://logs/") {
		t.Error("the order of names does not have its command")
	}
	for sort, want := range map[string]string{"": "logs a-new-one", "name": "a-new-one logs", "growth": "logs a-new-one", "age": "logs a-new-one"} {
		if got := order("/usage?sort="+sort, "[^\"&]+"); got != want {
			t.Errorf("buckets sorted by %q: %s", sort, got)
		}
	}
	if res := v.get("/usage?sort=chance"); res.status != http.StatusBadRequest {
		t.Errorf("sorted by chance: %d", res.status)
	}
}

// A day of the calendar lists what goes then, one by one and page by page, by each cause.
func TestADayOfTheCalendar(t *testing.T) {
	w := start(t)
	w.bucket("logs")
	w.bucket("other")
	for i := range 203 {
		w.put("logs", fmt.Sprintf("<%03d>", i), "bytes", "3d")
	}
	w.put("other", "x", "bytes", "3d")
	v := w.as(api.Read)
	day := w.clock.Now().Time().AddDate(0, 0, 3).Format("2006-01-02")
	count := func(page, of string) int { return strings.Count(page, `href="/object?bucket=`+of) }
	page := v.get("/calendar?day=" + day).body
	if n := count(page, ""); n != 200 || !strings.Contains(page, "204 objects of") || !strings.Contains(page, "--day "+day) {
		t.Errorf("the day has %d objects on its first page: %.3000s", n, page)
	}
	next := html.UnescapeString(regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(page)[1])
	if n := count(v.get(next).body, ""); n != 4 {
		t.Errorf("the day has %d objects on its second page", n)
	}
	page = v.get("/calendar?day=" + day + "&bucket=other&by=ttl").body
	if count(page, "other") != 1 || count(page, "logs") != 0 || !strings.Contains(page, `aria-current="page">time to live`) || !strings.Contains(page, "s3://other --day "+day+" --by ttl") {
		t.Errorf("the cause has %s", page)
	}
	for _, none := range []string{"&bucket=logs&by=rule", "&bucket=logs&by=undo", "&by=abort"} {
		if page := v.get("/calendar?day=" + day + none).body; count(page, "") != 0 {
			t.Errorf("%s has objects: %s", none, page)
		}
	}
	w.clock.Advance(4 * 24 * time.Hour)
	if page := v.get("/calendar?day=due&bucket=other").body; count(page, "other") != 1 || !strings.Contains(page, "Due already") {
		t.Errorf("what is due is %s", page)
	}
	for _, bad := range []string{"day=soon", "day=due&by=chance", "day=due&after=x"} {
		if res := v.get("/calendar?" + bad); res.status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, res.status)
		}
	}
}

// The calendar says what a limit stops and leads to it, and that a day's objects are held.
func TestWhatStaysOnADay(t *testing.T) {
	w := start(t, "reclaim.limits.ttl.ask=2")
	w.bucket("logs")
	for i := range 5 {
		w.put("logs", fmt.Sprint(i), "bytes", "3d")
	}
	w.bucket("kept")
	w.put("kept", "a", "bytes", "2d")
	_, err := api.Call[api.HoldInfo](w.ctx, w.admin, "holds/add", api.HoldRequest{Bucket: "kept", Reason: "a test"})
	w.must(err)
	v := w.as(api.Read)
	stops := regexp.MustCompile(`The limit ttl of logs stops \d of 5, if all are due within an hour: [^<]+</span> <a href="/limits">`)
	day := func(days int) string {
		return "/calendar?day=" + w.clock.Now().Time().AddDate(0, 0, days).Format("2006-01-02")
	}
	for _, path := range []string{"/calendar", day(3)} {
		if page := v.get(path).body; !stops.MatchString(page) || !strings.Contains(page, "backends get them back") {
			t.Errorf("%s does not say what the limit stops: %s", path, page)
		}
	}
	if page := v.get(day(2)).body; !strings.Contains(page, "Nothing goes: 1 object is held, ") || strings.Contains(page, "0 objects of") {
		t.Errorf("the day of a held object is %s", page)
	}
	stop := regexp.MustCompile(`<a href="/calendar\?bucket=logs&amp;day=[^"]+">[^<]+</a></td><td>ttl</td><td>logs</td><td class="num" data-label="Due">5</td><td class="num" data-label="Stopped">\d</td><td class="wide">at least`)
	if page := v.get("/limits").body; !stop.MatchString(page) || !strings.Contains(page, `<a href="/calendar">calendar</a>`) {
		t.Errorf("limits do not list what they will stop: %s", page)
	}
	if page := start(t).as(api.Read).get("/limits").body; !strings.Contains(page, "what goes is within the limits") {
		t.Errorf("limits that stop nothing say %s", page)
	}
}

// A click on a day of the calendar's chart leads to its objects, and from there to each of them.
func TestADayIsClicked(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	w.put("photos", "<a>", "the sea", "2d")
	b := open(w)
	b.login(rootKey, rootSecret)
	b.visit("/calendar")
	b.do(chromedp.Focus(".chart a"))
	if name := eval[string](b, `document.querySelector(".chart a").getAttribute("aria-label")`); !strings.Contains(name, "1 object, 7 B") {
		t.Errorf("the day is called %q", name)
	}
	b.submit(".chart a")
	if text := b.text("#goes"); !strings.Contains(text, "s3://photos/<a>") {
		t.Errorf("the day lists %q", text)
	}
	b.submit("#goes a")
	if text := b.text("main"); !strings.Contains(text, "the sea") {
		t.Errorf("its object is %q", text)
	}
}

// Home says what came due and what went in the last 24 hours.
func TestTheLastDay(t *testing.T) {
	w := start(t, "reclaim.grace.read_grace=1us")
	w.bucket("logs")
	_, err := api.Call[api.Bucket](w.ctx, w.admin, "buckets/set", map[string]any{"name": "logs", "undo": "1m"})
	w.must(err)
	w.put("logs", "ends", strings.Repeat("x", 2048), "2m")
	w.put("logs", "replaced", "old", "")
	w.put("logs", "replaced", "new", "")
	w.put("logs", "later", "bytes", "3d")
	w.clock.Advance(3 * time.Minute)
	w.reclaim("expire", "purge")
	w.clock.Advance(2 * time.Minute)
	w.reclaim("clean")
	text := `Gone in 24 hours</h2><strong>2.0 KiB</strong> <span class="soft">deleted: 2 blobs; came due: <a href="/receipts?since=1d">1 object, 1 trash entry</a>`
	if page := w.as(api.Read).get("/").body; !strings.Contains(page, text) {
		t.Errorf("home does not say %q: %s", text, page)
	}
	w.clock.Advance(25 * time.Hour)
	s, err := w.admin.Status(w.ctx)
	w.must(err)
	if d := s.LastDay; d == nil || d.Objects+d.Trash+d.Blobs+d.Bytes != 0 {
		t.Errorf("a day later it is %+v", d)
	}
}
