package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// backendAction is what can be done about a backend.
type backendAction struct {
	Path, Route string
	Role        api.Role
	Name, Said  string
	Warning     string
}

// backendActs are listed in the order in which pages offer them.
var backendActs = []backendAction{
	{"/backends/hold", "backends/hold", api.Operate, "Stop deletes", "Deletes on the backend are stopped.", "Nothing is deleted there until deletes are resumed."},
	{"/backends/accept", "backends/accept", api.Destroy, "Resume deletes", "Deletes on the backend go on.", "Find out first why they were stopped: what is deleted is gone."},
	{"/backends/drain", "backends/drain", api.Operate, "Drain", "The backend is being emptied.", "Its contents are copied to the other backends. It takes no writes."},
	{"/backends/undrain", "backends/undrain", api.Operate, "Cancel the drain", "The drain was cancelled.", "What was copied stays where it is."},
	{"/backends/remove", "backends/remove", api.Destroy, "Remove", "The backend was removed from the ledger.", "It has to be drained and empty. Remove it from the configuration as well."},
}

// fits reports whether an action makes sense for a backend as it is. One that is not configured
// is neither stopped nor resumed. What cannot be read is not offered to be copied elsewhere; a
// backend without contents is drained before it is removed, wherever it is.
func (a backendAction) fits(s api.Status, b api.BackendStatus) bool {
	down := b.Unused()
	blobs, _ := b.Totals()
	switch a.Route {
	case "backends/hold":
		return b.Held == "" && down != api.NotConfigured
	case "backends/accept":
		return b.Held != "" && down != api.NotConfigured
	case "backends/drain":
		return !b.Draining && (down == "" || blobs == 0) && slices.ContainsFunc(s.Backends, func(o api.BackendStatus) bool {
			return o.ID != b.ID && !o.Draining && o.Unused() == ""
		})
	}
	return b.Draining
}

func (v *visit) backends() (templ.Component, error) {
	s, err := v.h.opt.Operators.CachedStatus(v.as())
	if err != nil {
		return nil, err
	}
	v.live = 5
	v.sameAs("backend", "list")
	return backendsPage(v.frame(), s), nil
}

func (h *Handler) backendActions() []action {
	var out []action
	for _, a := range backendActs {
		out = append(out, action{a.Path, a.Role, func(*visit) string { return "/backends" }, func(v *visit) (note, error) {
			req := api.BackendRequest{ID: v.r.PostForm.Get("id"), Reason: strings.TrimSpace(v.r.PostForm.Get("reason"))}
			_, err := api.Call[api.None](v.as(), v.h.admin, a.Route, req)
			return note{Text: a.Said}, err
		}})
	}
	return out
}

// access is what the page of keys and tokens shows.
type access struct {
	Keys   []api.Key
	Tokens []api.Token
}

func (v *visit) access() (templ.Component, error) {
	ctx := v.as()
	keys, err := api.Call[[]api.Key](ctx, v.h.admin, "keys/list", api.None{})
	if err != nil {
		return nil, err
	}
	tokens, err := api.Call[[]api.Token](ctx, v.h.admin, "tokens/list", api.None{})
	if err != nil {
		return nil, err
	}
	v.sameAs("token", "list")
	v.sameAs("keys", "list")
	return accessPage(v.frame(), access{Keys: keys, Tokens: tokens}, v.now.Time()), nil
}

func (h *Handler) accessActions() []action {
	back := func(*visit) string { return "/access" }
	return []action{
		{"/access/token", api.Destroy, back, (*visit).addToken},
		{"/access/token/remove", api.Destroy, back, (*visit).removeToken},
		{"/access/key", api.Destroy, back, (*visit).addKey},
		{"/access/key/remove", api.Destroy, back, (*visit).removeKey},
	}
}

func (v *visit) addToken() (note, error) {
	form := v.r.PostForm
	k, err := api.Call[api.NewToken](v.as(), v.h.admin, "tokens/add",
		api.TokenRequest{Name: strings.TrimSpace(form.Get("name")), Role: api.Role(form.Get("role")), TTL: strings.TrimSpace(form.Get("ttl"))})
	return note{Text: "The token " + k.Name + " is shown once:", Secret: k.Text}, err
}

func (v *visit) removeToken() (note, error) {
	name := v.r.PostForm.Get("name")
	_, err := api.Call[api.None](v.as(), v.h.admin, "tokens/remove", api.TokenName{Name: name})
	return note{Text: "The token " + name + " was removed."}, err
}

func (v *visit) addKey() (note, error) {
	form := v.r.PostForm
	req := api.KeyRequest{
		Owner: strings.TrimSpace(form.Get("owner")), Buckets: strings.FieldsFunc(form.Get("buckets"), func(r rune) bool { return r == ',' || r == ' ' }),
		ReadOnly: form.Get("read_only") != "", Settings: form.Get("settings") != "",
		DefaultTTL: strings.TrimSpace(form.Get("default_ttl")), MaxTTL: strings.TrimSpace(form.Get("max_ttl")),
	}
	k, err := api.Call[api.NewKey](v.as(), v.h.admin, "keys/add", req)
	return note{Text: "The access key is " + k.ID + ". Its secret is shown once:", Secret: k.Secret}, err
}

func (v *visit) removeKey() (note, error) {
	id := v.r.PostForm.Get("id")
	_, err := api.Call[api.None](v.as(), v.h.admin, "keys/remove", api.KeyName{ID: id})
	return note{Text: "The access key " + id + " was removed. What it stored stays."}, err
}

// audits is what the page of audit lines shows.
type audits struct {
	Contains string
	Lines    []api.AuditLine
	From     int // the first of Lines, counted from the latest
	Matching int
	Kept     int
	Since    time.Time // of the oldest line that is kept
	Now      time.Time
	Instance string // empty: no other shares the ledger
}

func (v *visit) audit() (templ.Component, error) {
	q := v.r.URL.Query()
	req := api.AuditRequest{Contains: q.Get("contains")}
	have, err := api.Call[api.AuditLines](v.as(), v.h.admin, "audit/list", req)
	if err != nil {
		return nil, err
	}
	a := audits{Contains: req.Contains, Kept: have.Kept, Since: have.Since, Now: v.now.Time(), Instance: have.Instance}
	if n, err := strconv.Atoi(q.Get("from")); err == nil {
		a.From = min(max(n, 0), len(have.Lines))
	}
	command := []string{"audit"}
	if req.Contains != "" {
		command = append(command, "--contains", req.Contains)
	}
	v.commands = append(v.commands, v.h.opt.Command(command...))
	a.Matching, a.Lines = len(have.Lines), have.Lines[a.From:min(a.From+shownRows, len(have.Lines))]
	return auditPage(v.frame(), a), nil
}

// page is the page that begins with a line.
func (a audits) page(from int) string {
	if from <= 0 {
		return link("/audit", "contains", a.Contains)
	}
	return link("/audit", "contains", a.Contains, "from", strconv.Itoa(from))
}

// keptText says what there is.
func (a audits) keptText() string {
	if a.Kept == 0 {
		return "This process has decided nothing yet."
	}
	return "The last decisions of this process: " + words.Plural(int64(a.Kept), "line", "lines") + " since " + stamp(a.Since) + "."
}

func (v *visit) configuration() (templ.Component, error) {
	begins := v.r.URL.Query().Get("begins")
	var list []Setting
	for _, s := range v.h.opt.Settings {
		if strings.HasPrefix(s.Key, begins) {
			list = append(list, s)
		}
	}
	v.sameAs("config", "print", "--sources")
	return configurationPage(v.frame(), list, begins), nil
}
