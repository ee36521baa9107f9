// Package forwarded finds out from whom a request came that proxies passed on.
package forwarded

import (
	"net/netip"
	"slices"
	"strings"
)

// Trusts says that the address is one of trusted, which hold no addresses of IPv4
// in those of IPv6.
func Trusts(trusted []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap()
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Client is the address that a request came from: peer, with which the connection
// is, unless that is a trusted proxy. Then it is the last address that is not one
// of them in all lines of X-Forwarded-For, the last line last: some proxies append
// to the line that came, others add one, and whatever stands further left a client
// may have made up. What cannot be read ends the search at the proxy that passed it
// on.
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
