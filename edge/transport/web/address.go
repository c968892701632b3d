package web

import (
	"net/http"
	"net/netip"
)

// Address is the network address of a request's client; the zero Addr where the server does not know it.
func (d *Door) Address(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap().WithZone("")
}
