package web

import (
	"net/http"
	"net/netip"
)

// Address is the network address of a request's client, as [Proxies.Address] says of Options.Proxies; the zero Addr
// where the server does not know it.
func (g *Guard) Address(r *http.Request) netip.Addr { return g.o.Proxies.Address(r) }
