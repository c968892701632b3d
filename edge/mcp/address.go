package mcp

import "net/netip"

// CountedAddress is what stands for an address where a bound counts addresses: an IPv4 address itself, and of an IPv6
// address the network of 64 bits, all of which one host may use. Of the zero Addr it is the zero Addr.
func CountedAddress(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	network, _ := a.Prefix(64)
	return network.Addr()
}
