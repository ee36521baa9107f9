package console

import (
	"context"
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
)

// maxForm bounds the body of a form, in bytes; an upload's is streamed.
const maxForm = 4 << 20

// Handler serves the console.
type Handler struct {
	opt      Options
	admin    *api.Client
	sessions sessions
	plans    plans
	mux      http.ServeMux
	assets   assets
}

// page is a page of the console: the operator's role has to allow it.
type page struct {
	path  string
	title string
	role  api.Role
	make  func(*visit) (templ.Component, error)
}

// action is what a form does. Back is the page that follows.
type action struct {
	path string
	role api.Role
	back func(*visit) string
	do   func(*visit) (note, error)
}

// edit is an action whose form is shown again as it was typed, with the reason, if it is
// refused.
type edit struct {
	action
	again func(v *visit, problem string) (templ.Component, error)
}

// New returns a handler.
func New(o Options) (*Handler, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Handler{opt: o, admin: o.Operators.Client(), assets: loadAssets()}
	h.sessions = sessions{opt: o, by: map[[32]byte]*session{}}
	h.mux.HandleFunc("GET /assets/{name}", h.assets.serve)
	h.mux.HandleFunc("GET /robots.txt", robots)
	h.mux.HandleFunc("GET /login", h.loginForm)
	h.mux.HandleFunc("POST /login", h.login)
	h.mux.HandleFunc("POST /theme", h.theme)
	h.mux.HandleFunc("POST /logout", h.logout)
	for _, p := range h.pages() {
		h.mux.HandleFunc("GET "+p.path, h.show(p))
	}
	for _, p := range h.asked() {
		h.mux.HandleFunc("POST "+p.path, h.ask(p))
	}
	for _, a := range h.actions() {
		h.mux.HandleFunc("POST "+a.path, h.act(a))
	}
	for _, e := range h.bucketEdits() {
		h.mux.HandleFunc("POST "+e.path, h.edit(e))
	}
	h.mux.HandleFunc("GET /content", h.content)
	h.mux.HandleFunc("GET /receipts/export", h.exportReceipts)
	h.mux.HandleFunc("GET /plans/file", h.planFile)
	h.mux.HandleFunc("POST /bucket/upload", h.upload)
	h.mux.HandleFunc("GET /", h.nothing)
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, secure := h.remote(r)
	setHeaders(w.Header(), secure)
	if !h.opt.knows(r.Host) {
		http.Error(w, "The console is not served for this host. If the name is yours, add it to console.hosts.", http.StatusMisdirectedRequest)
		return
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		http.Error(w, "The request came from a page of another site.", http.StatusForbidden)
		return
	}
	h.mux.ServeHTTP(w, r)
}

func robots(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// A client that has disconnected needs no response.
	_, _ = w.Write([]byte("User-agent: *\nDisallow: /\n"))
}

// show serves a page to whoever has logged in.
func (h *Handler) show(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, ok := h.visit(w, r)
		if !ok {
			return
		}
		v.title, v.nav = p.title, strings.TrimSuffix(p.path, "{$}")
		if err := v.needs(p.role); err != nil {
			v.fail(err)
			return
		}
		body, err := p.make(v)
		if err != nil {
			v.fail(err)
			return
		}
		if body != nil { // else it led elsewhere
			v.write(http.StatusOK, body)
		}
	}
}

// ask serves a page that a form asks for. It changes nothing.
func (h *Handler) ask(p page) http.HandlerFunc {
	show := h.show(p)
	return func(w http.ResponseWriter, r *http.Request) {
		if v, ok := h.visit(w, r); ok && v.submitted(p.role) {
			show(w, r)
		}
	}
}

// act does what a form asks, and leads to the page that shows the result.
func (h *Handler) act(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if v, ok := h.visit(w, r); ok && v.submitted(a.role) {
			said, err := a.do(v)
			v.went(a.back(v), said, err)
		}
	}
}

// edit does what a form asks, and leads to the page that shows the result, or shows the form
// again.
func (h *Handler) edit(e edit) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, ok := h.visit(w, r)
		if !ok || !v.submitted(e.role) {
			return
		}
		said, err := e.do(v)
		if err == nil {
			v.went(e.back(v), said, nil)
			return
		}
		body, failed := e.again(v, sentence(v.told(err)))
		if failed != nil {
			v.fail(failed)
			return
		}
		v.write(http.StatusOK, body)
	}
}

// submitted reads a form. One that is not of the session, or not for the operator's
// role, is refused.
func (v *visit) submitted(role api.Role) bool {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	switch err := v.r.ParseForm(); {
	case err != nil:
		v.fail(&api.Error{Code: "bad_request", Message: "the form cannot be read: " + err.Error()})
	case !v.session.owns(v.r.PostForm.Get("csrf")):
		v.fail(staleForm)
	default:
		err := v.needs(role)
		if err != nil {
			v.fail(err)
		}
		return err == nil
	}
	return false
}

// needs returns an error if the operator's role does not allow what needs another, which leaves an
// audit line.
func (v *visit) needs(role api.Role) error {
	return v.h.opt.Operators.Do(v.as(), "console"+v.r.URL.Path, role, nil, func() error { return nil })
}

// went leads to the next page, which says how it went.
func (v *visit) went(to string, said note, err error) {
	if err != nil {
		said = note{Bad: true, Text: sentence(v.told(err))}
	}
	if said.Text != "" {
		v.h.sessions.say(v.id, said)
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
}

func (h *Handler) nothing(w http.ResponseWriter, r *http.Request) {
	if v, ok := h.visit(w, r); ok {
		v.title = "Not found"
		v.failWith(http.StatusNotFound, "there is no such page")
	}
}

// Wait waits for calls that outlive their requests.
func (h *Handler) Wait() { h.opt.Operators.Wait() }

// as returns the context in which the operator of a visit acts.
func (v *visit) as() context.Context {
	return v.h.opt.Operators.As(v.r.Context(), v.session.operator, v.from)
}
