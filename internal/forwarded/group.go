package forwarded

import "net/netip"

// Group is what is counted as one client: an address of IPv4, and the 64 bits of one of
// IPv6 that a household has.
func Group(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 64
	if a.Is4() {
		bits = 32
	}
	// So many bits are within every address that is one.
	p, _ := a.Prefix(bits)
	return p
}
