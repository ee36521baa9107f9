// Package forwarded determines the client's address of requests that trusted
// proxies forwarded.
package forwarded

import (
	"net/netip"
	"slices"
	"strings"
)

// Trusts reports whether an address is in trusted, whose prefixes are not
// IPv4-mapped.
func Trusts(trusted []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap()
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Client returns the address that a request came from: peer, the connection's,
// unless that is a trusted proxy. Then it is the last address in all lines of
// X-Forwarded-For that is not trusted: some proxies append to a line, others
// add one, and a client may have made up what is further left. An invalid entry
// ends the search at the proxy that forwarded it.
func Client(peer netip.Addr, lines []string, trusted []netip.Prefix) netip.Addr {
	client := peer.Unmap()
	if !Trusts(trusted, client) {
		return client
	}
	for _, hop := range slices.Backward(strings.Split(strings.Join(lines, ","), ",")) {
		addr, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return client
		}
		if client = addr.Unmap(); !Trusts(trusted, client) {
			return client
		}
	}
	return client
}
