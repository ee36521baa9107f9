package forwarded

import "net/netip"

// Group returns what counts as one client: an address of IPv4, and the first 64
// bits of one of IPv6, which a household has.
func Group(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	// Every address has that many bits.
	p, _ := a.Prefix(bits)
	return p
}
