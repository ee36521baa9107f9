package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// maxDays bounds how far a simulation looks ahead.
const maxDays = 365

// ruleBook is what the page of a bucket's rules shows.
type ruleBook struct {
	Now     api.Lifecycle
	Text    string // in the editor
	Days    int
	Problem string
	// Simulated is what the text would do; nil if it was not asked for.
	Simulated *api.Simulation
	Changed   bool // the text differs from the rules in use
}

func (v *visit) rules() (templ.Component, error) {
	bucket := v.r.URL.Query().Get("bucket")
	if bucket == "" {
		return v.ruledBuckets()
	}
	b, err := v.ruleBook(bucket)
	if err != nil {
		return nil, err
	}
	b.Text = b.Now.JSON
	return rulesPage(v.frame(), b), nil
}

// ruledBuckets lists all buckets with their rules.
func (v *visit) ruledBuckets() (templ.Component, error) {
	ctx := v.as()
	list, err := api.Call[[]api.Lifecycle](ctx, v.h.admin, "lifecycle/list", api.None{})
	if err != nil {
		return nil, err
	}
	buckets, err := api.Call[[]api.Bucket](ctx, v.h.admin, "buckets/list", api.None{})
	if err != nil {
		return nil, err
	}
	v.sameAs("lifecycle", "get")
	return ruledPage(v.frame(), list, buckets), nil
}

func (v *visit) ruleBook(bucket string) (ruleBook, error) {
	now, err := api.Call[api.Lifecycle](v.as(), v.h.admin, "lifecycle/get", api.LifecycleRequest{Bucket: bucket})
	v.nav, v.title = "/rules", "Rules of "+bucket
	v.sameAs("lifecycle", "simulate", bucket, "FILE")
	v.sameAs("lifecycle", "set", bucket, "FILE")
	return ruleBook{Now: now, Days: 30}, err
}

// simulate shows what the rules of the form would do.
func (v *visit) simulate() (templ.Component, error) {
	form := v.r.PostForm
	b, err := v.ruleBook(v.r.URL.Query().Get("bucket"))
	if err != nil {
		return nil, err
	}
	b.Text = form.Get("rules")
	if n, err := strconv.Atoi(form.Get("days")); err == nil {
		b.Days = min(max(n, 1), maxDays)
	}
	if form.Get("add") != "" {
		if b.Text, err = withRule(b.Text, form.Get("prefix"), form.Get("expire"), form.Get("abort")); err != nil {
			b.Problem = sentence(v.told(err))
			return rulesPage(v.frame(), b), nil
		}
	}
	b.Changed = !sameJSON(b.Text, b.Now.JSON)
	if strings.TrimSpace(b.Text) == "" {
		return rulesPage(v.frame(), b), nil
	}
	sim, err := api.Stream[api.Simulation](v.as(), v.h.admin, "lifecycle/simulate",
		api.LifecycleRequest{Bucket: b.Now.Bucket, Rules: b.Text, Days: b.Days}, func(api.Event) {})
	if err != nil {
		b.Problem = sentence(v.told(err))
	} else {
		b.Simulated = &sim
	}
	return rulesPage(v.frame(), b), nil
}

// withRule adds a rule to a document.
func withRule(text, prefix, expire, abort string) (string, error) {
	doc := map[string]any{}
	if strings.TrimSpace(text) != "" {
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			return text, &api.Error{Code: "bad_request", Message: "the rules are not JSON, so that none can be added: " + err.Error()}
		}
	}
	list, _ := doc["Rules"].([]any)
	rule := map[string]any{"ID": freeID(list), "Status": "Enabled", "Filter": map[string]any{"Prefix": prefix}}
	for _, part := range []struct{ days, name, field string }{{expire, "Expiration", "Days"}, {abort, "AbortIncompleteMultipartUpload", "DaysAfterInitiation"}} {
		if part.days == "" {
			continue
		}
		n, err := strconv.Atoi(part.days)
		if err != nil || n < 1 {
			return text, &api.Error{Code: "bad_request", Message: strconv.Quote(part.days) + " is no number of days"}
		}
		rule[part.name] = map[string]any{part.field: n}
	}
	if len(rule) == 3 {
		return text, &api.Error{Code: "bad_request", Message: "a rule ends objects, or aborts uploads, after a number of days"}
	}
	doc["Rules"] = append(list, rule)
	out, err := json.MarshalIndent(doc, "", "  ")
	return string(out), err
}

// freeID returns an id that no rule of a document has.
func freeID(list []any) string {
	taken := map[any]bool{}
	for _, r := range list {
		if m, ok := r.(map[string]any); ok {
			taken[m["ID"]] = true
		}
	}
	for n := len(list) + 1; ; n++ {
		if id := fmt.Sprintf("rule-%d", n); !taken[id] {
			return id
		}
	}
}

// prefixOf returns the prefix of a rule of a document in JSON, and whether it is known.
func prefixOf(text, id string) (prefix string, known bool) {
	type filter struct {
		Prefix string
		And    struct{ Prefix string }
	}
	var doc struct {
		Rules []struct {
			ID, Prefix string
			Filter     filter
		}
	}
	if json.Unmarshal([]byte(text), &doc) != nil {
		return "", false
	}
	for _, r := range doc.Rules {
		if r.ID == id {
			return cmp.Or(r.Prefix, r.Filter.Prefix, r.Filter.And.Prefix), true
		}
	}
	return "", false
}

// sameJSON reports whether two documents are the same but for spaces.
func sameJSON(a, b string) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, []byte(cmp.Or(a, "null"))) != nil || json.Compact(&y, []byte(cmp.Or(b, "null"))) != nil {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

func (h *Handler) ruleActions() []action {
	back := func(v *visit) string { return link("/rules", "bucket", v.r.URL.Query().Get("bucket")) }
	return []action{{"/rules/set", api.Destroy, back, (*visit).setRules}, {"/rules/change", api.Destroy, back, (*visit).changeRule}}
}

// changeRule enables, disables or removes one rule. The others stay as they are.
func (v *visit) changeRule() (note, error) {
	id, do := v.r.PostForm.Get("id"), v.r.PostForm.Get("do")
	_, err := api.Call[api.Lifecycle](v.as(), v.h.admin, "lifecycle/set",
		api.LifecycleRequest{Bucket: v.r.URL.Query().Get("bucket"), Rule: id, Change: do})
	return note{Text: "The rule " + id + " was " + map[string]string{"enable": "enabled", "disable": "disabled", "remove": "removed"}[do] + "."}, err
}

func (v *visit) setRules() (note, error) {
	l, err := api.Call[api.Lifecycle](v.as(), v.h.admin, "lifecycle/set",
		api.LifecycleRequest{Bucket: v.r.URL.Query().Get("bucket"), Rules: strings.TrimSpace(v.r.PostForm.Get("rules"))})
	if err == nil && len(l.Rules) == 0 {
		return note{Text: "The bucket has no rules any more."}, nil
	}
	return note{Text: words.Plural(int64(len(l.Rules)), "rule is", "rules are") + " in use."}, err
}
