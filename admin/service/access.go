package service

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/budget"
	"github.com/lethe-storage/lethe/internal/forwarded"
	"github.com/lethe-storage/lethe/internal/ratelimit"
	"github.com/lethe-storage/lethe/ledger"
)

// Access defines who is authenticated besides the bearers of tokens in the
// ledger.
type Access struct {
	// Token has all roles; it exists before any other. Empty for none.
	Token string
	// RootKey and RootSecret are the access key with all rights, with which
	// Operators lets people log in. Empty for none.
	RootKey, RootSecret string
	// Open names the caller without a token who has all roles, as through a
	// socket that only its owner can open. Empty for none.
	Open string
	// TrustedProxies may name the client in X-Forwarded-For.
	TrustedProxies []netip.Prefix
}

// rootName is the caller's name for Access.Token.
const rootName = "root"

// Failed authorisations that one address, or one token, may make: some at once,
// then one every ten seconds. Beyond that those of an address are refused
// without reading the ledger, and leave no audit lines of their own.
const (
	failuresAtOnce = 10
	failuresEvery  = 10 * time.Second
)

// caller is the authenticated caller of a route.
type caller struct {
	name   string
	role   api.Role
	remote string
}

func (c caller) attrs() []slog.Attr {
	return []slog.Attr{slog.String("who", c.name), slog.String("role", string(c.role)), slog.String("from", c.remote)}
}

type callerKey struct{}

// as returns a context for the calls of a caller.
func as(ctx context.Context, c caller) context.Context {
	return lethe.WithCaller(context.WithValue(ctx, callerKey{}, c), lethe.Caller{Key: c.name})
}

func callerOf(ctx context.Context) caller {
	c, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		return caller{name: "this process", role: api.Destroy}
	}
	return c
}

// gate authenticates callers, and authorises their routes.
type gate struct {
	s        *Service
	access   Access
	root     [sha256.Size]byte
	failures *ratelimit.Limiter
	good     *recent
	bodies   *budget.Budget
	unlogged atomic.Int64 // failures without an audit line since the last one
}

func newGate(s *Service, a Access) *gate {
	return &gate{
		s: s, access: a, good: &recent{by: map[[sha256.Size]byte]bool{}}, bodies: budget.New(bodiesHold, bodiesHold/2), root: sha256.Sum256([]byte(a.Token)),
		failures: ratelimit.New(ratelimit.Rate{PerSecond: 1 / failuresEvery.Seconds(), Burst: failuresAtOnce}, s.o.Failures),
	}
}

// known authenticates callers.
func (g *gate) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, refused := g.caller(r)
		if refused != nil {
			g.deny(w, r, c, refused)
			return
		}
		next.ServeHTTP(w, r.WithContext(as(r.Context(), c)))
	})
}

// denial is why a caller is refused.
type denial struct {
	status int
	api.Error
	why   string        // for the audit line
	again time.Duration // when to retry; 0 if not given
}

// caller authenticates a request.
func (g *gate) caller(r *http.Request) (caller, *denial) {
	c := caller{name: "unknown", remote: g.remote(r)}
	header := r.Header.Get("Authorization")
	if header == "" && g.access.Open != "" {
		return caller{g.access.Open, api.Destroy, c.remote}, nil
	}
	given, bearer := strings.CutPrefix(header, "Bearer ")
	if !bearer || given == "" {
		return c, unauthorized(noToken)
	}
	return g.token(r.Context(), c, given)
}

// token authenticates the bearer of a token.
func (g *gate) token(ctx context.Context, c caller, given string) (caller, *denial) {
	have := sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(g.root[:], have[:]) == 1 && g.access.Token != "" {
		return caller{rootName, api.Destroy, c.remote}, nil
	}
	// Recent tokens are checked all the same: others of the address must not
	// lock out a valid token.
	if wait, spent := g.failures.Spent(addressOf(c)); spent && !g.good.has(have) {
		return c, tooMany(wait)
	}
	known, refused := g.bearer(ctx, c, given)
	if refused == nil {
		g.good.add(have)
	} else if refused.status == http.StatusUnauthorized {
		g.good.remove(have)
	}
	return known, refused
}

// remote returns the address of a call.
func (g *gate) remote(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || len(g.access.TrustedProxies) == 0 {
		return r.RemoteAddr
	}
	client := forwarded.Client(peer.Addr(), r.Header.Values("X-Forwarded-For"), g.access.TrustedProxies)
	if client == peer.Addr().Unmap() {
		return r.RemoteAddr
	}
	return client.String()
}

// recent are the hashes of recently valid tokens.
type recent struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]bool
}

// mostRecent bounds them; beyond it they are learnt anew.
const mostRecent = 1000

func (r *recent) has(h [sha256.Size]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.by[h]
}

func (r *recent) add(h [sha256.Size]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.by) >= mostRecent {
		clear(r.by)
	}
	r.by[h] = true
}

func (r *recent) remove(h [sha256.Size]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.by, h)
}

// bearer looks up a token.
func (g *gate) bearer(ctx context.Context, c caller, given string) (caller, *denial) {
	id, ok := idOfToken(given)
	if !ok {
		return c, unauthorized(notAToken)
	}
	k, err := g.s.o.Ledger.AdminToken(ctx, id)
	missing := errors.Is(err, ledger.ErrNoSuchToken)
	if err != nil && !missing {
		e, status := httpError(err)
		return c, &denial{status, api.Error{Code: e.Code, Message: "the token cannot be looked up now: " + e.Message}, "the ledger does not answer", 0}
	}
	// Compared also if there is none, so that both take the same time.
	same := subtle.ConstantTimeCompare([]byte(k.Hash), []byte(hashOfToken(given))) == 1
	switch {
	case missing || !same:
		return c, unauthorized("unknown token")
	case k.Expired:
		c.name = k.Name
		return c, &denial{http.StatusUnauthorized, api.Error{Code: "token_expired", Message: fmt.Sprintf(
			"the token %s expired at %s: make a new one with \"lethe token add\"", k.Name, k.ExpiresAt)}, "expired token", 0}
	}
	return caller{k.Name, api.Role(k.Role), c.remote}, nil
}

// Reasons for refusals without reading the ledger.
const (
	noToken   = "no token"
	notAToken = "not a token"
)

func forbidden(c caller, route string, needs api.Role) *denial {
	return &denial{http.StatusForbidden, api.Error{Code: "forbidden", Message: fmt.Sprintf(
		"the token %s has the role %s; %s needs %s", c.name, c.role, route, needs)}, "needs the role " + string(needs), 0}
}

func tooMany(wait time.Duration) *denial {
	return &denial{http.StatusTooManyRequests, api.Error{Code: "too_many_attempts",
		Message: "too many calls from this address came without a token that is known: wait " + wait.Round(time.Second).String()}, "too many attempts", wait}
}

func unauthorized(why string) *denial {
	return &denial{http.StatusUnauthorized, api.Error{Code: "unauthorized", Message: "the admin API wants a token that it knows: Authorization: Bearer ...; " +
		"make one with \"lethe token add\", or take that of the data folder, admin.token"}, why, 0}
}

// addressOf names the failure limit of an unknown caller.
func addressOf(c caller) string {
	host, _, err := net.SplitHostPort(c.remote)
	if err != nil {
		host = c.remote
	}
	// One household has 64 bits of IPv6 addresses.
	if a, err := netip.ParseAddr(host); err == nil && !a.Unmap().Is4() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			host = p.String()
		}
	}
	return "address " + host
}

// deny refuses a caller.
func (g *gate) deny(w http.ResponseWriter, r *http.Request, c caller, d *denial) {
	g.tell(strings.TrimPrefix(r.URL.Path, api.Prefix), c, d)
	if d.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if d.again > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(d.again.Seconds()))))
	}
	reply(w, d.status, api.Failure{Error: &d.Error})
}

// tell leaves an audit line about a refused caller, unless there are too many,
// or it is not the caller's failure.
func (g *gate) tell(route string, c caller, d *denial) {
	allowance := addressOf(c)
	switch d.status {
	case http.StatusUnauthorized:
		if d.why == noToken || d.why == notAToken {
			// The ledger was not read: failures must not cost the bearers of
			// tokens.
			allowance = "nobody at " + allowance
		}
	case http.StatusTooManyRequests:
	case http.StatusForbidden:
		allowance = "token " + c.name
	default:
		return
	}
	if _, ok := g.failures.Allow(allowance); !ok {
		g.unlogged.Add(1)
		return
	}
	g.s.o.Audit("admin_denied", d.why, append(c.attrs(), slog.String("route", route),
		slog.Int("status", d.status), slog.Int64("unlogged", g.unlogged.Swap(0)))...)
}

// guarded authorises the callers of a route by their role.
func (g *gate) guarded(route api.Route, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := callerOf(r.Context())
		if !c.role.Allows(route.Role) {
			g.deny(w, r, c, forbidden(c, route.Name, route.Role))
			return
		}
		if err := misplaced(route, r.URL.RawQuery); err != nil {
			e, status := httpError(err)
			reply(w, status, api.Failure{Error: e})
			return
		}
		r, done := g.withMemory(r)
		defer done()
		next(w, r)
	}
}
