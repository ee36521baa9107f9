package console

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

// liveHeader marks a request that the script of a page made to refresh it.
const liveHeader = "X-Console-Refresh"

// visit is a request of an operator who has logged in.
type visit struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	id       string // of the session, as the browser has it
	session  session
	from     string // the client's address
	now      lethe.Time
	title    string
	nav      string   // the path of the page's entry in the navigation
	commands []string // do the same in a shell
	search   string   // what stands in the search field
	live     int      // seconds after which the page refreshes itself; 0: it does not
	planID   string   // of the plan that was made
	evicts   string   // what settings that were refused would evict
}

// cookieName is that of the session's cookie. A browser takes one that begins with
// __Host- only over TLS, for one host and all of its paths. It sends cookies to every port of
// a host, so that consoles on several need names of their own.
func cookieName(r *http.Request, secure bool) string {
	name := "lethe-console"
	if secure {
		name = "__Host-" + name
	}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "-" + port
	}
	return name
}

// visit finds the session of a request. Without one it leads to the login.
func (h *Handler) visit(w http.ResponseWriter, r *http.Request) (*visit, bool) {
	from, secure := h.remote(r)
	v := &visit{h: h, w: w, r: r, from: from, now: h.opt.Clock.Now()}
	found := r.CookiesNamed(cookieName(r, secure))
	if len(found) != 1 { // of two, one was planted by another port of the host
		v.toLogin()
		return nil, false
	}
	v.id = found[0].Value
	one, ok := h.sessions.find(v.id, !v.refreshes())
	if !ok {
		v.toLogin()
		return nil, false
	}
	op, err := h.opt.Operators.Present(r.Context(), one.operator, from)
	var refused *api.Error
	if errors.As(err, &refused) && (refused.Code == "unauthorized" || refused.Code == "token_expired") {
		h.sessions.end(v.id)
		v.toLogin()
		return nil, false
	}
	if err != nil {
		http.Error(w, "The session cannot be checked now: "+err.Error(), http.StatusServiceUnavailable)
		return nil, false
	}
	one.operator, v.session = op, one
	return v, true
}

// refreshes reports whether the page's script asks, and no person.
func (v *visit) refreshes() bool { return v.r.Header.Get(liveHeader) != "" }

// toLogin leads to the login, and from there to the page that was asked for.
func (v *visit) toLogin() {
	if v.refreshes() {
		http.Error(v.w, "The session has ended.", http.StatusUnauthorized)
		return
	}
	to := "/login"
	if v.r.Method == http.MethodGet && v.r.URL.Path != "/" {
		to += "?" + url.Values{"next": {v.r.URL.RequestURI()}}.Encode()
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
}

// may reports whether the operator's role allows what needs another.
func (v *visit) may(role api.Role) bool { return v.session.operator.Role.Allows(role) }

func forbidden(role api.Role) *api.Error {
	return &api.Error{Code: "forbidden", Message: "this needs the role " + string(role)}
}

var staleForm = &api.Error{Code: "forbidden", Message: "the form is of an earlier session; nothing was done: go back, reload the page and try again"}

// told returns an error for people. Errors of the store that are not the caller's
// fault are reported to the operator of the process too.
func (v *visit) told(err error) string {
	var e *api.Error
	if !errors.As(err, &e) {
		e, _ = api.ErrorOf(err)
	}
	if e.Code == "failed" {
		v.h.opt.Failed(v.r.URL.Path, err)
	}
	return e.Message
}

// fail shows an error as a page.
func (v *visit) fail(err error) {
	var e *api.Error
	status := http.StatusInternalServerError
	switch {
	case errors.As(err, &e) && e.Code == "forbidden":
		status = http.StatusForbidden
	case errors.As(err, &e):
		for _, kind := range []error{api.ErrBadRequest, lethe.ErrNoSuchBucket, lethe.ErrNoSuchKey, lethe.ErrUnavailable, ledger.ErrNoSuchHold, api.ErrNoBlob} {
			if errors.Is(e, kind) {
				_, status = api.ErrorOf(kind)
			}
		}
	default:
		_, status = api.ErrorOf(err)
	}
	v.failWith(status, v.told(err))
}

func (v *visit) failWith(status int, text string) {
	v.live = 0
	v.write(status, failure(v.frame(), sentence(text)))
}

// write sends a page.
func (v *visit) write(status int, body templ.Component) {
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	if err := body.Render(v.r.Context(), v.w); err != nil && v.r.Context().Err() == nil {
		v.h.opt.Failed(v.r.URL.Path, err)
	}
}

// frame is what is around the body of a page.
type frame struct {
	Title, Nav, Search string
	Commands           []string // do the same in a shell
	Who                string
	Role               api.Role
	CSRF, Theme, Here  string
	Notes              []note
	Live               int
	Files              assets
	CommandOf, AWS     func(...string) string // write commands of lethe, and of an S3 client
}

// sameAs adds a command of lethe that does the same as the page, or a part of it.
func (v *visit) sameAs(command ...string) {
	v.commands = append(v.commands, v.h.opt.Command(command...))
}

func (v *visit) frame() frame {
	f := frame{
		Title: v.title, Nav: v.nav, Search: v.search, Who: v.session.operator.Name, Role: v.session.operator.Role,
		CSRF: v.session.token, Theme: theme(v.r), Here: v.r.URL.RequestURI(), Live: v.live, Files: v.h.assets, CommandOf: v.h.opt.Command,
		Commands: v.commands, AWS: v.h.awsCommand,
	}
	if !v.refreshes() {
		f.Notes = v.h.sessions.notes(v.id)
	}
	return f
}

// shell completes a command that does not say which store it is about.
func (f frame) shell(command string) string {
	parts := strings.Fields(command)
	return f.CommandOf(parts[min(len(parts), 1):]...)
}

// told is a sentence for people, with complete commands.
func (f frame) told(text string) string { return sentence(words.Commands(text, f.CommandOf)) }

// May reports whether the operator's role allows what needs another.
func (f frame) May(role api.Role) bool { return f.Role.Allows(role) }

// sentence begins a text with a capital and ends it with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}
