package mcp

import "net/netip"

// CountedAddress returns the unit of addresses in bounds: an IPv4 address itself, or the /64
// network of an IPv6 address, because one host may use all of that. It returns the zero Addr for
// the zero Addr.
func CountedAddress(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	network, _ := a.Prefix(64)
	return network.Addr()
}
