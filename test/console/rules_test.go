package console_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
)

// Rules are simulated, with the limits' verdict, before they are used.
func TestRules(t *testing.T) {
	w := start(t, "reclaim.limits.rules.floor=1")
	w.bucket("logs")
	for i := range 10 {
		w.put("logs", fmt.Sprint("old/", i), "bytes", "")
	}
	v := w.as(api.Destroy)
	page := v.act("/rules?bucket=logs", "add", "1", "prefix", "old/", "expire", "5", "days", "30").body
	if !strings.Contains(page, "What they would do") || !strings.Contains(page, "10, 50 B") || !strings.Contains(page, "Use these rules") || !strings.Contains(page, "the limit stops it") {
		t.Errorf("the simulation says %s", page)
	}
	rules := func() int {
		l, err := api.Call[api.Lifecycle](w.ctx, w.admin, "lifecycle/get", api.LifecycleRequest{Bucket: "logs"})
		w.must(err)
		return len(l.Rules)
	}
	if rules() != 0 {
		t.Error("a simulation set rules")
	}
	text := html.UnescapeString(regexp.MustCompile(`(?s)<textarea id="rules"[^>]*>(.*?)</textarea>`).FindStringSubmatch(page)[1])
	v.act("/rules/set?bucket=logs", "rules", text)
	if rules() != 1 {
		t.Errorf("%s is not in use", text)
	}
	for _, bad := range []string{"nonsense", "{", `{"Rules": [{}]}`} {
		if res := v.act("/rules?bucket=logs", "rules", bad); res.status != http.StatusOK || !strings.Contains(res.body, `role="alert"`) || strings.Contains(res.body, "Use these rules") {
			t.Errorf("%q: %d", bad, res.status)
		}
	}
	reader := w.as(api.Read)
	if page := reader.act("/rules?bucket=logs", "rules", text, "days", "9").body; !strings.Contains(page, "What they would do") || strings.Contains(page, "Use ") {
		t.Error("a reader cannot simulate, or is offered to set")
	}
	v.act("/rules/set?bucket=logs", "rules", "")
	if rules() != 0 {
		t.Error("the rules were not removed")
	}
}

// One rule is shown by its name, and disabled, enabled and removed; the others stay.
func TestOneRule(t *testing.T) {
	w := start(t)
	w.bucket("photos")
	const rules = `{"Rules": [
		{"ID": "old-photos", "Status": "Enabled", "Filter": {"Prefix": "old/"}, "Expiration": {"Days": 1}},
		{"ID": "drafts", "Status": "Enabled", "Filter": {"And": {"Prefix": "drafts/", "Tags": [{"Key": "a", "Value": "b"}]}}, "Expiration": {"Days": 2}}]}`
	_, err := api.Call[api.Lifecycle](w.ctx, w.admin, "lifecycle/set", api.LifecycleRequest{Bucket: "photos", Rules: rules})
	w.must(err)
	v := w.as(api.Destroy)
	if page := v.get("/rules").body; !strings.Contains(page, "<strong>old-photos</strong>: ends objects") {
		t.Errorf("the list says %s", page)
	}
	page := v.get("/rules?bucket=photos").body
	for _, want := range []string{"<strong>old-photos</strong>: ", `href="/calendar?bucket=photos"`, `href="/limits?hold=photos&amp;prefix=old%2F#hold-form"`, `href="/limits?hold=photos&amp;prefix=drafts%2F#hold-form"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q: %s", want, page)
		}
	}
	if form := v.get("/limits?hold=photos&prefix=old%2F").body; !strings.Contains(form, `name="prefix" value="old/"`) || !strings.Contains(form, `name="bucket" value="photos"`) {
		t.Errorf("the form of the hold is not filled in: %s", form)
	}
	for _, step := range []struct{ id, do, want string }{
		{"old-photos", "disable", "[old-photos off, drafts]"}, {"old-photos", "enable", "[old-photos, drafts]"},
		{"gone", "remove", "[old-photos, drafts]"}, {"drafts", "", "[old-photos, drafts]"},
		{"old-photos", "remove", "[drafts]"}, {"drafts", "remove", "[]"},
	} {
		v.act("/rules/change?bucket=photos", "id", step.id, "do", step.do)
		l, err := api.Call[api.Lifecycle](w.ctx, w.admin, "lifecycle/get", api.LifecycleRequest{Bucket: "photos"})
		w.must(err)
		var have []string
		for _, r := range l.Rules {
			have = append(have, r.ID+map[bool]string{true: " off"}[r.Disabled])
		}
		if got := "[" + strings.Join(have, ", ") + "]"; got != step.want {
			t.Errorf("%s %s leaves %s, not %s", step.do, step.id, got, step.want)
		}
	}
}
