package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
)

// maxOpenForm bounds a form that anyone may send, in bytes.
const maxOpenForm = 64 << 10

// themes are how pages look; the empty one is the browser's.
var themes = []string{"light", "dark", ""}

const themeCookie = "lethe-theme"

// theme returns the chosen theme, empty for the browser's.
func theme(r *http.Request) string {
	c, err := r.Cookie(themeCookie)
	if err != nil || c.Value != "light" && c.Value != "dark" {
		return ""
	}
	return c.Value
}

// theme sets how pages look. It changes nothing else, so that it needs no session.
func (h *Handler) theme(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxOpenForm)
	want := r.PostFormValue("theme")
	for _, known := range themes {
		if want == known {
			_, secure := h.remote(r)
			c := &http.Cookie{Name: themeCookie, Value: want, Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure}
			if want == "" {
				c.MaxAge = -1
			}
			http.SetCookie(w, c)
		}
	}
	http.Redirect(w, r, within(r.PostFormValue("back")), http.StatusSeeOther)
}

// within returns the address of a page of the console, the first one for any other
// address.
func within(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}

func (h *Handler) loginForm(w http.ResponseWriter, r *http.Request) {
	h.askLogin(w, r, http.StatusOK, "")
}

// askLogin shows the form, and why the last attempt was refused.
func (h *Handler) askLogin(w http.ResponseWriter, r *http.Request, status int, why string) {
	from, _ := h.remote(r)
	v := &visit{h: h, w: w, r: r, from: from, title: "Log in"}
	v.write(status, loginPage(v.frame(), within(r.FormValue("next")), why))
}

// login begins a session.
func (h *Handler) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxOpenForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read.", http.StatusBadRequest)
		return
	}
	from, secure := h.remote(r)
	op, err := h.opt.Operators.Login(r.Context(), from, strings.TrimSpace(r.PostForm.Get("key")), r.PostForm.Get("secret"))
	if err != nil {
		status, why := refusal(err)
		h.askLogin(w, r, status, why)
		return
	}
	if old, err := r.Cookie(cookieName(r, secure)); err == nil {
		h.sessions.end(old.Value)
	}
	id, err := h.sessions.begin(op)
	if err != nil {
		http.Error(w, "No session could be made.", http.StatusInternalServerError)
		return
	}
	http.SetCookie(w, sessionCookie(r, id, secure))
	http.Redirect(w, r, within(r.PostForm.Get("next")), http.StatusSeeOther)
}

func sessionCookie(r *http.Request, id string, secure bool) *http.Cookie {
	return &http.Cookie{Name: cookieName(r, secure), Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure}
}

// refusal is what a refused login is told.
func refusal(err error) (status int, why string) {
	var e *api.Error
	if errors.As(err, &e) {
		switch e.Code {
		case "too_many_attempts":
			return http.StatusTooManyRequests, "Too many attempts from this address. Wait ten seconds and try again."
		case "token_expired":
			return http.StatusUnauthorized, "This token has expired."
		case "unauthorized":
			return http.StatusUnauthorized, "That is neither the root key with its secret, nor a token."
		}
	}
	return http.StatusServiceUnavailable, "The login cannot be checked now. Try again in a moment."
}

// logout ends a session. Without the form's token it does nothing.
func (h *Handler) logout(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visit(w, r)
	if !ok {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !v.session.owns(r.PostFormValue("csrf")) {
		v.fail(staleForm)
		return
	}
	h.sessions.end(v.id)
	_, secure := h.remote(r)
	gone := sessionCookie(r, "", secure)
	gone.MaxAge = -1
	http.SetCookie(w, gone)
	w.Header().Set("Clear-Site-Data", `"cache"`)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}
