package console

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// policy allows pages their own style, script and images, and nothing of others.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// policyContent is for bytes of clients: whatever they are, they do nothing.
const policyContent = "default-src 'none'; sandbox; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

func setHeaders(h http.Header, secure bool) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	// Without any referrer browsers hide the origin of forms as well, by which foreign
	// ones are told where there is no TLS.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if secure { // else browsers complain of it
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("Cache-Control", "no-store")
}

// hostOf returns the host of a request in canonical form, and the address that it is, if it
// is one.
func hostOf(host string) (name string, addr netip.Addr) {
	name = host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return name, netip.Addr{}
	}
	addr = addr.Unmap().WithZone("")
	return addr.String(), addr
}

// canonical returns hosts in the form of hostOf.
func canonical(hosts []string) []string {
	out := make([]string, len(hosts))
	for i, h := range hosts {
		out[i], _ = hostOf(h)
	}
	return out
}

// knows reports whether the Host of a request is the console's. A site of others whose
// name leads here, so that its pages are of the same origin, is not.
func (o *Options) knows(host string) bool {
	name, addr := hostOf(host)
	return name == "localhost" || slices.Contains(o.Hosts, name) || addr.IsValid() && (addr.IsLoopback() || o.AnyAddress)
}

// remote returns the address of a request's client, and whether its browser uses TLS: for this
// process, for a trusted proxy that says so, or because the name is reached in no other way.
func (h *Handler) remote(r *http.Request) (from string, secure bool) {
	from, secure = h.opt.Operators.Remote(r)
	name, _ := hostOf(r.Host)
	return from, secure || slices.Contains(h.opt.Secure, name)
}
