package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
)

// Access says who gets in beside the bearers of tokens in the ledger.
type Access struct {
	// Token has all roles; it is there before any other. Empty: there is none.
	Token string
	// Open names who comes without a token and has all roles, as through a socket
	// that only its owner can open. Empty: nobody does.
	Open string
}

// caller is who makes a call.
type caller struct {
	name   string
	role   Role
	remote string
}

func (c caller) attrs() []slog.Attr {
	return []slog.Attr{slog.String("who", c.name), slog.String("role", string(c.role)), slog.String("from", c.remote)}
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		return caller{name: "this process"}
	}
	return c
}

// gate lets callers through whom it knows, and to the routes that are theirs.
type gate struct {
	s      *Service
	access Access
	root   [sha256.Size]byte
}

func newGate(s *Service, a Access) *gate {
	return &gate{s: s, access: a, root: sha256.Sum256([]byte(a.Token))}
}

// known lets only callers through whom it knows.
func (g *gate) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, refused := g.caller(r)
		if refused != nil {
			g.deny(w, r, c, refused)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// denial is why a caller is turned away.
type denial struct {
	status int
	code   string
	text   string // for the caller
	why    string // for the audit line
}

// caller finds out who calls.
func (g *gate) caller(r *http.Request) (caller, *denial) {
	c := caller{name: "unknown", remote: r.RemoteAddr}
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !bearer && g.access.Open != "" && r.Header.Get("Authorization") == "":
		return caller{name: g.access.Open, role: Destroy, remote: r.RemoteAddr}, nil
	case !bearer || given == "":
		return c, unauthorized("no token")
	}
	have := sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(g.root[:], have[:]) == 1 && g.access.Token != "" {
		return caller{name: "root", role: Destroy, remote: r.RemoteAddr}, nil
	}
	return c, unauthorized("unknown token")
}

func unauthorized(why string) *denial {
	return &denial{http.StatusUnauthorized, "unauthorized", "the admin API wants a token: Authorization: Bearer ...; " +
		"make one with \"lethe token add\", or take that of the data folder, admin.token", why}
}

// deny turns a caller away.
func (g *gate) deny(w http.ResponseWriter, r *http.Request, c caller, d *denial) {
	g.s.o.Audit("admin_denied", d.why, append(c.attrs(), slog.String("route", strings.TrimPrefix(r.URL.Path, Prefix)))...)
	if d.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	reply(w, d.status, failure{&Error{d.code, d.text}})
}

// guarded lets a route's callers through whose role allows it.
func (g *gate) guarded(route Route) http.HandlerFunc {
	next := route.serve(g.s)
	return func(w http.ResponseWriter, r *http.Request) {
		c := callerOf(r.Context())
		if !c.role.allows(route.Role) {
			g.deny(w, r, c, &denial{http.StatusForbidden, "forbidden",
				"the token " + c.name + " has the role " + string(c.role) + "; " + route.Name + " needs " + string(route.Role),
				"role too low: needs " + string(route.Role)})
			return
		}
		next(w, r)
	}
}
