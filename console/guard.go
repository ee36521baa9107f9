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

// knows reports whether the Host of a request is the console's. A site of others whose
// name leads here, so that its pages are of the same origin, is not.
func (o *Options) knows(host string) bool {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = strings.ToLower(h)
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	if name == "localhost" || slices.Contains(o.Hosts, name) {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && (a.IsLoopback() || o.AnyAddress)
}
