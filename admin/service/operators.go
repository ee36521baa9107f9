package service

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/forwarded"
)

// loginRoute stands for a login in audit lines, where calls have their route.
const loginRoute = "login"

// Operators lets people log in with what Handler takes from programs, and makes
// their calls within this process: with the same checks, and the same audit lines.
// It is safe for concurrent use.
type Operators struct {
	g      *gate
	key    [sha256.Size]byte
	secret [sha256.Size]byte
	calls  Local
}

// NewOperators returns the operators of a service. Open is not used: a login
// always needs a key or a token.
func NewOperators(s *Service, a Access) *Operators {
	a.Open = ""
	o := &Operators{g: newGate(s, a), key: sha256.Sum256([]byte(a.RootKey)), secret: sha256.Sum256([]byte(a.RootSecret))}
	o.calls.Handler = o.g.routes()
	return o
}

// Operator is a person who has logged in.
type Operator struct {
	Name string
	Role api.Role
	// token is what it logged in with; empty for the root key. It is compared
	// with the ledger's at each use, so that a removed token ends at once.
	token string
}

// Login returns the operator with a secret: of the root's access key, or if there
// is no key, a token. From is the client's address. Refusals are *api.Error, and
// leave an audit line; so does a login.
func (o *Operators) Login(ctx context.Context, from, key, secret string) (Operator, error) {
	c := caller{name: "unknown", remote: from}
	known, refused := o.login(ctx, c, key, secret)
	if refused != nil {
		o.g.tell(loginRoute, known, refused)
		return Operator{}, &refused.Error
	}
	o.g.s.o.Audit("admin_login", "operator", append(known.attrs(), slog.String("route", loginRoute))...)
	op := Operator{Name: known.name, Role: known.role}
	if key == "" {
		op.token = secret
	}
	return op, nil
}

func (o *Operators) login(ctx context.Context, c caller, key, secret string) (caller, *denial) {
	if key == "" {
		return o.g.token(ctx, c, secret)
	}
	pair := sha256.Sum256([]byte(key + "\n" + secret))
	if wait, spent := o.g.failures.Spent(addressOf(c)); spent && !o.g.good.has(pair) {
		return c, tooMany(wait)
	}
	k, s := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(secret))
	same := subtle.ConstantTimeCompare(o.key[:], k[:]) & subtle.ConstantTimeCompare(o.secret[:], s[:])
	if same != 1 || o.g.access.RootKey == "" || o.g.access.RootSecret == "" {
		return c, &denial{http.StatusUnauthorized, api.Error{Code: "unauthorized", Message: "the access key and its secret are not those of the root key"}, "unknown access key", 0}
	}
	o.g.good.add(pair)
	return caller{rootName, api.Destroy, c.remote}, nil
}

// Present returns the operator with its present role. It fails if its token was
// removed or has expired, or the ledger does not answer.
func (o *Operators) Present(ctx context.Context, op Operator, from string) (Operator, error) {
	if op.token == "" {
		return op, nil
	}
	c, refused := o.g.token(ctx, caller{name: op.Name, remote: from}, op.token)
	if refused != nil {
		return Operator{}, &refused.Error
	}
	return Operator{c.name, c.role, op.token}, nil
}

// As returns a context in which the operator acts: receipts of deletions name it.
func (o *Operators) As(ctx context.Context, op Operator, from string) context.Context {
	return as(ctx, caller{op.Name, op.Role, from})
}

// Client makes the calls of the operator that their contexts carry.
func (o *Operators) Client() *api.Client { return &api.Client{Base: "http://console", HTTP: &o.calls} }

// Do does what is no call of the API for the operator that the context carries: it
// checks the role first, and leaves an audit line about a change as the API does.
// Request describes it there, without secrets; nil if it changes nothing.
func (o *Operators) Do(ctx context.Context, route string, needs api.Role, request any, do func() error) error {
	c := callerOf(ctx)
	if !c.role.Allows(needs) {
		d := forbidden(c, route, needs)
		o.g.tell(route, c, d)
		return &d.Error
	}
	if request == nil {
		return do()
	}
	made := o.g.s.begin(ctx, route, request)
	err := do()
	made.end(err)
	return err
}

// Read is Do for reading the bytes of objects: the line about it is an admin_read.
func (o *Operators) Read(ctx context.Context, route string, needs api.Role, request any, do func() error) error {
	err := o.Do(ctx, route, needs, nil, do)
	if callerOf(ctx).role.Allows(needs) {
		made := o.g.s.begin(ctx, route, request)
		made.event = "admin_read"
		made.end(err)
	}
	return err
}

// CachedStatus is Service.CachedStatus for the operator that the context carries.
func (o *Operators) CachedStatus(ctx context.Context) (out api.Status, err error) {
	err = o.Do(ctx, "status", api.Read, nil, func() error {
		out, err = o.g.s.CachedStatus(ctx)
		return err
	})
	return out, err
}

// Wait waits for the calls in progress.
func (o *Operators) Wait() { o.calls.Wait() }

// Remote returns the client's address of a request, and whether the client used
// TLS, as far as trusted proxies tell.
func (o *Operators) Remote(r *http.Request) (from string, secure bool) {
	secure = r.TLS != nil
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && forwarded.Trusts(o.g.access.TrustedProxies, peer.Addr()) {
		secure = secure || r.Header.Get("X-Forwarded-Proto") == "https"
	}
	return o.g.remote(r), secure
}
